// SPDX-License-Identifier: Apache-2.0
#include "import/ncnn_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>

#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "ops/ncnn/params.h"

namespace stowage {

static_assert(std::endian::native == std::endian::little, "binary files are little-endian");

namespace {

constexpr std::int32_t kMagic = 7767517;
constexpr std::string_view kMagicText = "7767517";
/// A list of parameter i has the number kListId - i, a text in a binary file kTextId - i.
constexpr std::int64_t kListId = -23300, kTextId = -23400;
constexpr int kParameters = 32;
/// Ends the parameters of a layer in a binary file.
constexpr std::int32_t kEnd = -233;
/// Names and texts in ncnn have no more bytes.
constexpr std::size_t kTextBytes = 255;
/// Graphs are small, whatever their weights are.
constexpr std::int64_t kFileBytes = 64 << 20;

constexpr std::string_view kBlank = " \t\r\n\v\f";

std::string read_all(const InputFile& file) {
  if (file.size() > kFileBytes) {
    fail(ErrorCode::limit, "the file '", file.path(), "' has ", file.size(),
         " bytes, over the limit of ", kFileBytes);
  }
  std::string bytes(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

void check_id(std::int64_t id) {
  if (id < 0 || id >= kParameters) {
    fail(ErrorCode::bad_input, "there is no parameter ", id, "; they count from 0 to ",
         kParameters - 1);
  }
}

void check_count(std::string_view what, std::int64_t count, std::int64_t most) {
  if (count < 0) fail(ErrorCode::bad_input, "it says that it has ", count, " ", what);
  if (count > most) {
    fail(ErrorCode::bad_input, "it says that it has ", count, " ", what, ", more than fit into it");
  }
}

/// "3", "-1", "1.5", "2e-3": nothing that is only called a number.
bool is_real(std::string_view word) { return word.find_first_of(".eE") != std::string_view::npos; }

template <class T>
T number(std::string_view word, std::string_view what) {
  const bool plus = word.starts_with('+');  // which from_chars does not know
  const std::string_view digits = plus || word.starts_with('-') ? word.substr(1) : word;
  const std::string_view read = plus ? digits : word;
  T out{};
  const auto [end, problem] = std::from_chars(read.data(), read.data() + read.size(), out);
  const bool starts =
      !digits.empty() && (digits[0] == '.' || (digits[0] >= '0' && digits[0] <= '9'));
  if (!starts || problem != std::errc() || end != word.data() + word.size()) {
    fail(ErrorCode::bad_input, what, " '", word.substr(0, kTextBytes), "' is no ",
         std::is_integral_v<T> ? "integer of 32 bits" : "number");
  }
  return out;
}

std::int64_t integer(std::string_view word, std::string_view what) {
  return number<std::int32_t>(word, what);
}

/// Reals may be smaller than a float has them.
float real(std::string_view word) {
  const auto v = number<double>(word, "the value");
  constexpr double kRoundsToInfinity = 0x1.ffffffp127;
  if (!(std::fabs(v) < kRoundsToInfinity)) {
    fail(ErrorCode::bad_input, "the value '", word.substr(0, kTextBytes), "' is no float");
  }
  return static_cast<float>(v);
}

std::vector<std::string_view> split_at_commas(std::string_view list) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t comma = list.find(',');
    out.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    list.remove_prefix(comma + 1);
  }
}

/// A list is one of reals as soon as one element is.
Attribute list_of(std::span<const std::string_view> words) {
  if (std::ranges::any_of(words, is_real)) {
    Floats out;
    for (const std::string_view word : words) out.push_back(real(word));
    return out;
  }
  Ints out;
  for (const std::string_view word : words) out.push_back(integer(word, "the value"));
  return out;
}

class TextReader {
 public:
  TextReader(std::string bytes, ImportBudget& budget) : bytes_(std::move(bytes)), budget_(budget) {}

  std::vector<NcnnLayer> read() {
    if (word("the magic number") != kMagicText) fail(ErrorCode::bad_input, "it is no .param file");
    const std::int64_t layers = integer(word("the number of layers"), "the number of layers");
    const std::int64_t blobs = integer(word("the number of blobs"), "the number of blobs");
    check_count("layers", layers, std::ssize(bytes_));
    check_count("blobs", blobs, std::ssize(bytes_));
    std::vector<NcnnLayer> out;
    for (std::int64_t i = 0; i < layers; ++i) {
      budget_.take_node();
      out.push_back(layer(i, layers));
    }
    if (skip_blank()) {
      fail(ErrorCode::bad_input, "it goes on behind the ", layers, " layers that it says it has");
    }
    std::int64_t made = 0;
    for (const NcnnLayer& layer : out) made += std::ssize(layer.outputs);
    if (made > blobs) {
      fail(ErrorCode::bad_input, "it says that it has ", blobs, " blobs, but makes ", made);
    }
    return out;
  }

 private:
  bool skip_blank() {
    at_ = std::min(bytes_.find_first_not_of(kBlank, at_), bytes_.size());
    return at_ < bytes_.size();
  }

  /// Up to the next blank.
  std::string_view word(std::string_view what) {
    if (!skip_blank()) fail(ErrorCode::bad_input, "the file ends where ", what, " should be");
    const std::size_t end = std::min(bytes_.find_first_of(kBlank, at_), bytes_.size());
    const auto out = std::string_view(bytes_).substr(at_, end - at_);
    at_ = end;
    return out;
  }

  std::string name(std::string_view what) {
    budget_.take_entry();
    std::string out(word(what));
    if (out.size() > kTextBytes) {
      fail(ErrorCode::bad_input, what, " has ", out.size(), " bytes; ", kTextBytes, " at most");
    }
    check_name(out);
    return out;
  }

  NcnnLayer layer(std::int64_t i, std::int64_t count) {
    NcnnLayer layer;
    if (!skip_blank()) {
      fail(ErrorCode::bad_input, "it ends after ", i, " of the ", count,
           " layers that it says it has");
    }
    layer.type = name("a layer's type");
    layer.name = name("a layer's name");
    const Trail trail("node", layer.name, layer.type);
    const std::int64_t in = integer(word("the number of inputs"), "the number of inputs");
    const std::int64_t out = integer(word("the number of outputs"), "the number of outputs");
    const std::int64_t left = std::ssize(bytes_) - static_cast<std::int64_t>(at_);
    check_count("inputs", in, left / 2);
    check_count("outputs", out, left / 2);
    for (std::int64_t k = 0; k < in; ++k) layer.inputs.push_back(name("an input"));
    for (std::int64_t k = 0; k < out; ++k) layer.outputs.push_back(name("an output"));
    while (const auto id = parameter_id()) read_value(*id, layer.params);
    return layer;
  }

  /// The number before a '=', if one comes next: the type of a layer begins with a letter.
  std::optional<std::int64_t> parameter_id() {
    if (!skip_blank()) return std::nullopt;
    const char first = bytes_[at_];
    if (first != '-' && first != '+' && (first < '0' || first > '9')) return std::nullopt;
    const std::size_t equals = bytes_.find('=', at_);
    const std::size_t end = std::min(bytes_.find_first_of(kBlank, at_), bytes_.size());
    if (equals >= end) {
      fail(ErrorCode::bad_input, "'", bytes_.substr(at_, std::min(end - at_, kTextBytes)),
           "' is neither a parameter nor a layer");
    }
    const std::int64_t id =
        integer(std::string_view(bytes_).substr(at_, equals - at_), "the parameter");
    at_ = equals + 1;
    return id;
  }

  void read_value(std::int64_t id, Attributes& params) {
    budget_.take_entry();
    const bool list = id <= kListId;
    if (list) id = kListId - id;
    check_id(id);
    if (at_ >= bytes_.size() || kBlank.find(bytes_[at_]) != std::string_view::npos) {
      fail(ErrorCode::bad_input, "parameter ", id, " has no value");
    }
    const char first = bytes_[at_];
    const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    if (!list && (first == '"' || letter)) {
      params.set(std::to_string(id), text_value(first == '"'));
      return;
    }
    const std::string_view value = word("a value");
    constexpr std::int64_t kWordBytes = sizeof(std::string_view) + 8;
    budget_.take_bytes((std::ranges::count(value, ',') + 1) * kWordBytes);
    std::vector<std::string_view> words = split_at_commas(value);
    const bool commas = words.size() > 1;
    if (!list && commas && words.back().empty()) words.pop_back();  // a list of one ends so
    if (list) {
      const std::int64_t count = integer(words[0], "the length of a list");
      if (count < 0 || count + 1 != std::ssize(words)) {
        fail(ErrorCode::bad_input, "parameter ", id, " is a list of ", words.size() - 1,
             " elements, but says that it has ", count);
      }
      params.set(std::to_string(id), list_of(std::span(words).subspan(1)));
    } else if (commas) {
      params.set(std::to_string(id), list_of(words));
    } else if (is_real(words[0])) {
      params.set(std::to_string(id), real(words[0]));
    } else {
      params.set(std::to_string(id), integer(words[0], "the value"));
    }
  }

  std::string text_value(bool quoted) {
    if (quoted) ++at_;
    const std::size_t end =
        std::min(quoted ? bytes_.find('"', at_) : bytes_.find_first_of(kBlank, at_), bytes_.size());
    if (quoted && end == bytes_.size()) fail(ErrorCode::bad_input, "a text has no end");
    if (end - at_ > kTextBytes) {
      fail(ErrorCode::bad_input, "a text has ", end - at_, " bytes; ", kTextBytes, " at most");
    }
    std::string out = bytes_.substr(at_, end - at_);
    at_ = end + (quoted ? 1 : 0);
    return out;
  }

  std::string bytes_;
  ImportBudget& budget_;
  std::size_t at_ = 0;
};

/// By their numbers in a binary file.
constexpr std::string_view kTypes[] = {"AbsVal",
                                       "ArgMax",
                                       "BatchNorm",
                                       "Bias",
                                       "BNLL",
                                       "Concat",
                                       "Convolution",
                                       "Crop",
                                       "Deconvolution",
                                       "Dropout",
                                       "Eltwise",
                                       "ELU",
                                       "Embed",
                                       "Exp",
                                       "Flatten",
                                       "InnerProduct",
                                       "Input",
                                       "Log",
                                       "LRN",
                                       "MemoryData",
                                       "MVN",
                                       "Pooling",
                                       "Power",
                                       "PReLU",
                                       "Proposal",
                                       "Reduction",
                                       "ReLU",
                                       "Reshape",
                                       "ROIPooling",
                                       "Scale",
                                       "Sigmoid",
                                       "Slice",
                                       "Softmax",
                                       "Split",
                                       "SPP",
                                       "TanH",
                                       "Threshold",
                                       "Tile",
                                       "RNN",
                                       "LSTM",
                                       "BinaryOp",
                                       "UnaryOp",
                                       "ConvolutionDepthWise",
                                       "Padding",
                                       "Squeeze",
                                       "ExpandDims",
                                       "Normalize",
                                       "Permute",
                                       "PriorBox",
                                       "DetectionOutput",
                                       "Interp",
                                       "DeconvolutionDepthWise",
                                       "ShuffleChannel",
                                       "InstanceNorm",
                                       "Clip",
                                       "Reorg",
                                       "YoloDetectionOutput",
                                       "Quantize",
                                       "Dequantize",
                                       "Yolov3DetectionOutput",
                                       "PSROIPooling",
                                       "ROIAlign",
                                       "Packing",
                                       "Requantize",
                                       "Cast",
                                       "HardSigmoid",
                                       "SELU",
                                       "HardSwish",
                                       "Noop",
                                       "PixelShuffle",
                                       "DeepCopy",
                                       "Mish",
                                       "StatisticsPooling",
                                       "Swish",
                                       "Gemm",
                                       "GroupNorm",
                                       "LayerNorm",
                                       "Softplus",
                                       "GRU",
                                       "MultiHeadAttention",
                                       "GELU",
                                       "Convolution1D",
                                       "Pooling1D",
                                       "ConvolutionDepthWise1D",
                                       "Convolution3D",
                                       "ConvolutionDepthWise3D",
                                       "Pooling3D",
                                       "MatMul",
                                       "Deconvolution1D",
                                       "DeconvolutionDepthWise1D",
                                       "Deconvolution3D",
                                       "DeconvolutionDepthWise3D",
                                       "Einsum",
                                       "DeformableConv2D",
                                       "GLU",
                                       "Fold",
                                       "Unfold",
                                       "GridSample",
                                       "CumulativeSum",
                                       "CopyTo",
                                       "Erf",
                                       "Diag",
                                       "CELU",
                                       "Shrink",
                                       "RMSNorm",
                                       "Spectrogram",
                                       "InverseSpectrogram",
                                       "Flip",
                                       "SDPA",
                                       "RotaryEmbed"};

/// Of the number of a layer's type: it is not one of ncnn's own.
constexpr std::int32_t kCustomType = 1 << 8;

class BinaryReader {
 public:
  BinaryReader(const std::string& bytes, ImportBudget& budget)
      : words_(bytes.size() / 4), budget_(budget) {
    if (bytes.size() % 4 != 0) {
      fail(ErrorCode::bad_input, "it has ", bytes.size(), " bytes, which are no whole numbers");
    }
    if (!words_.empty()) std::memcpy(words_.data(), bytes.data(), bytes.size());
  }

  std::vector<NcnnLayer> read() {
    next();  // the magic number
    const std::int32_t layers = next();
    blobs_ = next();
    check_count("layers", layers, left());
    // Every blob is named once at least.
    check_count("blobs", blobs_, left());
    std::vector<NcnnLayer> out;
    for (std::int32_t i = 0; i < layers; ++i) {
      budget_.take_node();
      out.push_back(layer(i));
    }
    if (left() > 0) {
      fail(ErrorCode::bad_input, "it goes on behind the ", layers, " layers that it says it has");
    }
    return out;
  }

 private:
  std::int64_t left() const { return std::ssize(words_) - static_cast<std::int64_t>(at_); }

  std::int32_t next() {
    if (left() == 0) fail(ErrorCode::bad_input, "the file is cut short");
    return words_[at_++];
  }

  std::string blob() {
    budget_.take_entry();
    const std::int32_t i = next();
    if (i < 0 || i >= blobs_) {
      fail(ErrorCode::bad_input, "there is no blob ", i, " of ", blobs_);
    }
    return std::to_string(i);
  }

  NcnnLayer layer(std::int32_t i) {
    NcnnLayer layer;
    const std::int32_t type = next();
    const bool custom = type >= kCustomType;
    if (!custom && (type < 0 || type >= std::ssize(kTypes))) {
      fail(ErrorCode::unsupported, "layer ", i, " is of type ", type, ", which is unknown");
    }
    layer.type = custom ? text("custom.", type & ~kCustomType) : std::string(kTypes[type]);
    layer.name = std::to_string(i);
    const Trail trail("node", layer.name, layer.type);
    const std::int32_t in = next(), out = next();
    check_count("inputs", in, left());
    check_count("outputs", out, left());
    for (std::int32_t k = 0; k < in; ++k) layer.inputs.push_back(blob());
    for (std::int32_t k = 0; k < out; ++k) layer.outputs.push_back(blob());
    layer.params.set("bits", std::int64_t{1});
    for (std::int64_t id = next(); id != kEnd; id = next()) read_value(id, layer.params);
    return layer;
  }

  void read_value(std::int64_t id, Attributes& params) {
    budget_.take_entry();
    if (id > kListId) {
      check_id(id);
      params.set(std::to_string(id), std::int64_t{next()});
      return;
    }
    const bool is_text = id <= kTextId;
    id = (is_text ? kTextId : kListId) - id;
    check_id(id);
    const std::int64_t count = next();
    check_count(is_text ? "bytes of text" : "elements in a list", count, is_text ? 255 : left());
    if (is_text) {
      std::string value(static_cast<std::size_t>((count + 3) / 4 * 4), '\0');
      for (std::size_t k = 0; k < value.size(); k += 4) {
        const std::int32_t four = next();
        std::memcpy(value.data() + k, &four, 4);
      }
      value.resize(static_cast<std::size_t>(count));
      params.set(std::to_string(id), value);
      return;
    }
    budget_.take_bytes(count * 8);
    Ints list;
    for (std::int64_t k = 0; k < count; ++k) list.push_back(next());
    params.set(std::to_string(id), std::move(list));
  }

  std::vector<std::int32_t> words_;
  ImportBudget& budget_;
  std::size_t at_ = 0;
  std::int32_t blobs_ = 0;
};

std::int32_t first_word(const InputFile& file) {
  std::int32_t word = 0;
  if (file.size() >= 4) file.read(0, std::as_writable_bytes(std::span(&word, 1)));
  return word;
}

/// Producers come first, and every blob has one.
void check_blobs(const std::vector<NcnnLayer>& layers) {
  std::unordered_set<std::string_view> made;
  for (const NcnnLayer& layer : layers) {
    const Trail trail("node", layer.name, layer.type);
    for (const std::string& blob : layer.inputs) {
      if (!made.contains(blob)) {
        fail(ErrorCode::bad_input, "no layer before it makes its input '", blob, "'");
      }
    }
    for (const std::string& blob : layer.outputs) {
      if (!made.insert(blob).second) {
        fail(ErrorCode::bad_input, "the blob '", blob, "' is made twice");
      }
    }
  }
}

}  // namespace

std::vector<NcnnPort> ncnn_inputs(const std::vector<NcnnLayer>& layers) {
  std::vector<NcnnPort> inputs;
  for (const NcnnLayer& layer : layers) {
    const Trail trail("node", layer.name, layer.type);
    if (layer.outputs.empty()) fail(ErrorCode::bad_input, "it has no output");
    if (layer.type != "Input") continue;
    if (!layer.inputs.empty()) fail(ErrorCode::bad_input, "it has an input");
    const NcnnParams p(layer.params);
    Ints dims;
    for (const int id : {2, 11, 1, 0}) {  // c, d, h, w; 0: there is none, or it is not said
      if (p.count(id, 0) > 0) dims.push_back(p.integer(id, 0));
    }
    for (const std::string& blob : layer.outputs) inputs.push_back({blob, dims});
  }
  return inputs;
}

std::vector<std::string> ncnn_outputs(const std::vector<NcnnLayer>& layers) {
  std::unordered_set<std::string_view> read;
  for (const NcnnLayer& layer : layers) {
    if (layer.type == "Noop" && layer.inputs.size() > layer.outputs.size()) continue;
    read.insert(layer.inputs.begin(), layer.inputs.end());
  }
  std::vector<std::string> outputs;
  for (const NcnnLayer& layer : layers) {
    for (const std::string& blob : layer.outputs) {
      if (!read.contains(blob)) outputs.push_back(blob);
    }
  }
  if (outputs.empty()) fail(ErrorCode::bad_input, "the model has no output");
  return outputs;
}

bool is_ncnn(const InputFile& file) {
  if (first_word(file) == kMagic) return true;
  std::array<char, 64> start{};
  const auto size = static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 64));
  file.read(0, std::as_writable_bytes(std::span(start).first(size)));
  std::string_view text(start.data(), size);
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  // A number that only begins like it is none.
  return text.starts_with(kMagicText) &&
         (text.size() == kMagicText.size() ||
          kBlank.find(text[kMagicText.size()]) != std::string_view::npos);
}

std::vector<NcnnLayer> read_ncnn_file(const InputFile& file, ImportBudget& budget) {
  std::vector<NcnnLayer> layers = first_word(file) == kMagic
                                      ? BinaryReader(read_all(file), budget).read()
                                      : TextReader(read_all(file), budget).read();
  check_blobs(layers);
  return layers;
}

}  // namespace stowage
