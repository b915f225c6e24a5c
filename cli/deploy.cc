// SPDX-License-Identifier: Apache-2.0
#include "cli/deploy.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/deploy_keys.h"
#include "cli/io/npy.h"
#include "cli/io/preprocess_words.h"
#include "cli/io/yaml.h"

namespace stowage::cli {
namespace {

using Kind = YamlNode::Kind;

std::string lower(std::string word) {
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return word;
}

/// "; did you mean runtime? docs/deployment.md lists the keys"
std::string key_hint(const std::string& key, std::span<const Key> keys) {
  std::vector<std::string_view> names;
  for (const Key& known : keys) names.push_back(known.name);
  const std::string meant = did_you_mean(key, names);
  return text(meant.empty() ? ";" : meant, " docs/deployment.md lists the keys");
}

template <class T>
bool parse_number(std::string_view word, T& into) {
  if (word.starts_with('+')) word.remove_prefix(1);
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), into);
  return problem == std::errc() && end == word.data() + word.size() && !word.empty();
}

/// A value written as several words, "1,224,224,3", and where.
struct Words {
  std::vector<std::string> words;
  int line = 0;
};

/// Reads one model of a file.
class Reader {
 public:
  Reader(const std::string& file, const YamlNode& model, const std::vector<std::string>& ignored)
      : file_(file), model_(model) {
    out_.file = file;
    out_.name = model.key;
    out_.ignored = ignored;
  }

  Deployment read() {
    if (model_.kind != Kind::map) refuse(model_.line, "the model '", model_.key, "' has no keys");
    take_keys(model_, "model");
    if (const YamlNode* subgraphs = find("subgraphs")) {
      const std::vector<const YamlNode*> list = values(*subgraphs, true);
      if (list.size() != 1 || list[0]->kind != Kind::map) {
        refuse(subgraphs->line, "a model has one subgraph, a map of its inputs and outputs");
      }
      take_keys(*list[0], "subgraph");
    }
    read_model();
    read_runtime();
    out_.inputs = tensors("input");
    out_.outputs = tensors("output");
    for (DeployedTensor& input : out_.inputs) {
      if (!(input.least <= input.most))
        refuse(input.line, "the range of '", input.name, "' is empty");
    }
    read_threshold();
    return std::move(out_);
  }

  template <class... Parts>
  [[noreturn]] static void refuse_at(const std::string& file, int line, const Parts&... parts) {
    fail(ErrorCode::bad_input, file, ":", line, ": ", parts...);
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(int line, const Parts&... parts) const {
    refuse_at(file_, line, parts...);
  }

  /// The first reason counts.
  template <class... Parts>
  void cannot(ErrorCode code, int line, const Parts&... parts) {
    if (!out_.refusal.has_value()) {
      out_.refusal.emplace(code, text(file_, ":", line, ": ", parts...));
    }
  }

  void take_keys(const YamlNode& map, const char* what) {
    for (const YamlNode& node : map.items) {
      const Key* key = std::find_if(std::begin(kModelKeys), std::end(kModelKeys),
                                    [&](const Key& k) { return k.name == node.key; });
      if (key == std::end(kModelKeys)) {
        refuse(node.line, "'", node.key, "' is no key of a ", what, key_hint(node.key, kModelKeys));
      }
      if (key->use == Use::ignored) {
        if (std::find(out_.ignored.begin(), out_.ignored.end(), node.key) == out_.ignored.end()) {
          out_.ignored.push_back(node.key);
        }
        continue;
      }
      if (node.kind == Kind::null || (node.kind == Kind::scalar && node.text.empty())) continue;
      if (find(node.key) != nullptr) {
        refuse(node.line, "'", node.key, "' is said by the model and by its subgraph");
      }
      nodes_.push_back(&node);
    }
  }

  /// Null unless the key is there with a value.
  const YamlNode* find(std::string_view key) const {
    for (const YamlNode* node : nodes_) {
      if (node->key == key) return node;
    }
    return nullptr;
  }

  const std::string& scalar(const YamlNode& node) const {
    if (node.kind != Kind::scalar) refuse(node.line, "'", node.key, "' must be one value");
    return node.text;
  }

  const YamlNode& needed(std::string_view key) const {
    const YamlNode* node = find(key);
    if (node == nullptr) refuse(model_.line, "the model '", model_.key, "' has no ", key);
    return *node;
  }

  /// A list, or what stands there alone as a list of one.
  std::vector<const YamlNode*> values(const YamlNode& node, bool maps = false) const {
    std::vector<const YamlNode*> list;
    if (node.kind == Kind::list) {
      for (const YamlNode& item : node.items) list.push_back(&item);
    } else if (node.kind == Kind::scalar || maps) {
      list.push_back(&node);
    } else {
      refuse(node.line, "'", node.key, "' must be a value or a list");
    }
    return list;
  }

  std::vector<Words> scalars(const YamlNode& node) const {
    std::vector<Words> list;
    for (const YamlNode* item : values(node)) {
      if (item->kind != Kind::scalar || item->text.empty()) {
        refuse(item->line, "'", node.key, "' must be a list of words");
      }
      list.push_back({{item->text}, item->line});
    }
    return list;
  }

  Words split(const YamlNode& item, std::string_view separators) const {
    Words out{{}, item.line};
    if (item.kind == Kind::list) {
      for (const YamlNode& word : item.items) {
        if (word.kind != Kind::scalar) refuse(word.line, "a number is missing");
        out.words.push_back(word.text);
      }
      return out;
    }
    if (item.kind != Kind::scalar) refuse(item.line, "numbers are missing");
    std::string word;
    const auto end_word = [&] {
      out.words.push_back(word);
      word.clear();
    };
    for (const char c : item.text) {
      if (separators.find(c) != std::string_view::npos) {
        end_word();
      } else if (c != ' ' && c != '[' && c != ']') {
        word += c;
      }
    }
    if (!word.empty() || !out.words.empty()) end_word();
    return out;
  }

  /// One group of numbers a tensor. Plain numbers are the group of a single tensor:
  /// [1, 224, 224, 3].
  std::vector<Words> groups(const YamlNode& node, std::size_t tensors,
                            std::string_view separators) const {
    const std::vector<const YamlNode*> list = values(node);
    std::vector<Words> out;
    for (const YamlNode* item : list) out.push_back(split(*item, separators));
    const bool plain = std::all_of(list.begin(), list.end(),
                                   [](const YamlNode* item) { return item->kind == Kind::scalar; });
    const bool single = std::all_of(out.begin(), out.end(),
                                    [](const Words& group) { return group.words.size() == 1; });
    if (tensors != 1 || !plain || !single || out.empty()) return out;
    Words joined{{}, out[0].line};
    for (const Words& group : out) joined.words.push_back(group.words[0]);
    return {joined};
  }

  std::string path(const std::string& name, int line) const {
    if (name.find("://") != std::string::npos) {
      refuse(line, "'", name, "' is an address; download the file and write its path");
    }
    return (std::filesystem::path(file_).parent_path() / name).string();
  }

  void read_model() {
    const YamlNode& model = needed("model_file_path");
    out_.model = path(scalar(model), model.line);
    out_.model_line = model.line;
    if (const YamlNode* sum = find("model_sha256_checksum")) {
      out_.sha256 = lower(scalar(*sum));
      out_.sha256_line = sum->line;
      const bool hex = out_.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
      if (out_.sha256.size() != 64 || !hex)
        refuse(sum->line, "a SHA-256 has 64 hexadecimal digits");
    }
    if (const YamlNode* platform = find("platform")) {
      const std::string word = lower(scalar(*platform));
      out_.platform_line = platform->line;
      out_.platform = word == "onnx" || word == "ncnn" ? DataFormat::nchw
                      : word == "tflite"               ? DataFormat::nhwc
                                                       : DataFormat::none;
      if (out_.platform == DataFormat::none) {
        cannot(ErrorCode::unsupported, platform->line, "models of ", platform->text,
               " cannot be read; convert it to ONNX, TFLite or ncnn");
      }
    }
    if (const YamlNode* weights = find("weight_file_path")) {
      out_.weights = path(scalar(*weights), weights->line);
      const std::string_view why = "a file of weights is for ncnn; an ONNX model names its own";
      if (!is_param_file(out_.model)) cannot(ErrorCode::unsupported, weights->line, why);
    }
    if (const YamlNode* preprocess = find("preprocess")) {
      out_.preprocess = scalar(*preprocess);
      if (preprocess_named(out_.preprocess) == nullptr) {
        refuse(preprocess->line, "preprocess '", out_.preprocess, "' is unknown; choose one of ",
               preprocess_names());
      }
    }
    const YamlNode* quantize = find("quantize");
    if (quantize != nullptr && scalar(*quantize) != "0") {
      cannot(ErrorCode::unsupported, quantize->line, "models cannot be quantised");
    }
  }

  void read_runtime() {
    if (const YamlNode* runtime = find("runtime")) {
      const std::string word = lower(scalar(*runtime));
      if (word == "gpu" || word == "cpu+gpu") {
        out_.device = "opencl";
        out_.or_cpu = word != "gpu";
      } else if (word == "cpu") {
        out_.device = "cpu";
      } else {
        cannot(ErrorCode::unsupported, runtime->line, "there is no runtime '", runtime->text,
               "'; write cpu, gpu or cpu+gpu");
      }
    }
    if (const YamlNode* type = find("data_type")) {
      const std::string word = lower(scalar(*type));
      if (word == "fp16_fp32" || word == "fp32_fp32") {
        out_.data_type = word == "fp16_fp32" ? word : "fp32";
        out_.data_type_line = type->line;
      } else {
        cannot(ErrorCode::unsupported, type->line, "the data type '", type->text,
               "' is not supported; write fp32_fp32 or fp16_fp32");
      }
    }
    if (const YamlNode* memory = find("cl_mem_type")) {
      out_.memory = lower(scalar(*memory));
      if (!is_memory(*out_.memory)) {
        refuse(memory->line, "cl_mem_type '", memory->text, "' is none of image, buffer, any");
      }
    }
    read_queue();
    if (const YamlNode* threads = find("num_threads")) {
      int number = 0;
      if (!parse_number(scalar(*threads), number) || number < 1 || number > 256) {
        refuse(threads->line, "num_threads '", threads->text, "' is not possible; write 1 to 256");
      }
      out_.threads = number;
    }
  }

  /// What only tells how commands are queued or computed, not what: 0 is what Stowage does.
  void read_queue() {
    const struct {
      std::string_view key;
      std::vector<int> values;  ///< empty: any from 0 on
      std::string_view listed, why;
    } keys[] = {
        {"winograd", {0, 2, 4}, "0, 2 or 4", "tiles have 2x2 results, as with 2"},
        {"limit_opencl_kernel_time",
         {0, 1},
         "0 or 1",
         "a kernel is not cut into shorter ones, so a long one can delay what else the GPU draws"},
        {"opencl_queue_window_size",
         {},
         "0 or more",
         "all commands of a run are queued at once, and the run waits for the last"},
    };

    for (const auto& [key, values, listed, why] : keys) {
      const YamlNode* node = find(key);
      if (node == nullptr) continue;
      int value = 0;
      if (!parse_number(scalar(*node), value) || value < 0 ||
          (!values.empty() && std::find(values.begin(), values.end(), value) == values.end())) {
        refuse(node->line, key, " '", node->text, "' is not possible; write ", listed);
      }
      const bool winograd = key == "winograd";
      if (winograd) out_.winograd = value != 0;
      if (value != 0 && !(winograd && value == 2)) {
        out_.notes.push_back(
            text(file_, ":", node->line, ": ", key, " ", value, " has no effect: ", why));
      }
    }
  }

  void read_threshold() {
    const YamlNode* node = find("validation_threshold");
    if (node == nullptr) return;
    const bool map = node->kind == Kind::map;
    const auto one = [&](const YamlNode& value) {
      double number = 0;
      if (!parse_number(scalar(value), number) || !(number > 0 && number <= 1)) {
        refuse(value.line, "the threshold '", value.text,
               "' is no similarity; write a number above 0 and up to 1");
      }
      return number;
    };
    if (!map) {
      out_.threshold = out_.device_threshold = one(*node);
      return;
    }
    for (const YamlNode& value : node->items) {
      constexpr std::string_view kDevices[] = {"cpu", "gpu", "dsp", "hexagon", "cpu_quantize"};
      const std::string device = lower(value.key);
      if (std::find(std::begin(kDevices), std::end(kDevices), device) == std::end(kDevices)) {
        refuse(value.line, "'", value.key, "' is no runtime that has a threshold");
      }
      const double number = one(value);
      if (device == "cpu") out_.threshold = number;
      if (device == "gpu") out_.device_threshold = number;
    }
  }

  void must_match(const YamlNode& node, std::size_t have, std::size_t want) const {
    if (have == want) return;
    refuse(node.line, "'", node.key, "' has ", have, have == 1 ? " value" : " values", " for ",
           want, want == 1 ? " tensor" : " tensors");
  }

  /// Calls `take(tensor, value)` for each tensor; one value may stand for all.
  template <class List, class F>
  void spread(const YamlNode& node, std::vector<DeployedTensor>& tensors, const List& list,
              bool one_for_all, F&& take) const {
    if (!one_for_all || list.size() != 1) must_match(node, list.size(), tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      take(tensors[i], list[list.size() == 1 ? 0 : i]);
    }
  }

  /// Everything about the inputs, or about the outputs.
  std::vector<DeployedTensor> tensors(const std::string& side) {
    std::vector<DeployedTensor> out;
    const YamlNode& names = needed(side + "_tensors");
    for (const Words& name : scalars(names)) {
      for (const DeployedTensor& other : out) {
        if (other.name == name.words[0]) {
          refuse(name.line, side, " '", other.name, "' is named twice");
        }
      }
      DeployedTensor tensor;
      tensor.name = name.words[0];
      tensor.line = name.line;
      out.push_back(std::move(tensor));
    }
    if (out.empty()) refuse(names.line, "'", names.key, "' is empty");
    if (const YamlNode* node = find(side + "_shapes")) {
      spread(*node, out, groups(*node, out.size(), ",x"), false,
             [&](DeployedTensor& tensor, const Words& words) {
               tensor.shape = shape(words);
               tensor.shape_line = words.line;
             });
    }
    read_formats(side, out);
    if (const YamlNode* node = find(side + "_data_types")) {
      spread(*node, out, scalars(*node), true,
             [&](DeployedTensor& tensor, const Words& words) { tensor.dtype = data_type(words); });
    }
    if (const YamlNode* node = side == "input" ? find("input_ranges") : nullptr) {
      spread(*node, out, groups(*node, out.size(), ","), true,
             [&](DeployedTensor& tensor, const Words& words) { range(words, tensor); });
    }
    if (const YamlNode* node = find("validation_" + side + "s_data")) {
      spread(*node, out, scalars(*node), false, [&](DeployedTensor& tensor, const Words& words) {
        tensor.data = path(words.words[0], words.line);
        tensor.data_line = words.line;
      });
    }
    return out;
  }

  void read_formats(const std::string& side, std::vector<DeployedTensor>& tensors) const {
    const YamlNode* node = find(side + "_data_formats");
    const YamlNode* other = find(side + "_data_format");
    if (node != nullptr && other != nullptr) {
      refuse(other->line, "'", other->key, "' and '", node->key, "' say the same");
    }
    if (node == nullptr) node = other;
    if (node == nullptr) return;
    const std::vector<Words> list = scalars(*node);
    const bool for_all = list.size() < tensors.size();
    spread(*node, tensors, list, true, [&](DeployedTensor& tensor, const Words& words) {
      const std::optional<DataFormat> format = parse_data_format(words.words[0]);
      if (!format.has_value()) {
        refuse(words.line, "the format '", words.words[0],
               "' is unknown; choose NCHW, NHWC or NONE");
      }
      tensor.format = SaidFormat{*format, for_all, text(file_, ":", words.line, ": ")};
    });
  }

  std::vector<std::int64_t> shape(const Words& words) const {
    std::vector<std::int64_t> extents;
    for (const std::string& word : words.words) {
      std::int64_t extent = 0;
      if (!parse_number(word, extent) || extent < 0) {
        refuse(words.line, "'", word, "' is no extent; write a shape as 1,224,224,3");
      }
      extents.push_back(extent);
    }
    try {
      Shape::unnamed(extents);
    } catch (const Error& error) {
      refuse(words.line, error.sentence());
    }
    return extents;
  }

  void range(const Words& words, DeployedTensor& tensor) const {
    const bool fits = words.words.size() == 2 && parse_number(words.words[0], tensor.least) &&
                      parse_number(words.words[1], tensor.most);
    if (!fits || !std::isfinite(tensor.least) || !std::isfinite(tensor.most)) {
      refuse(words.line, "a range is two numbers, such as -1,1");
    }
  }

  DType data_type(const Words& words) const {
    static constexpr std::pair<std::string_view, DType> kTypes[] = {
        {"float32", DType::f32}, {"float16", DType::f16}, {"int64", DType::i64},
        {"int32", DType::i32},   {"int16", DType::i16},   {"int8", DType::i8},
        {"uint8", DType::u8},    {"bool", DType::boolean}};
    for (const auto& [name, dtype] : kTypes) {
      if (name == words.words[0]) return dtype;
    }
    refuse(words.line, "the data type '", words.words[0],
           "' is unknown; choose float32, float16, int64, int32, int16, int8, uint8 or bool");
  }

  const std::string& file_;
  const YamlNode& model_;
  std::vector<const YamlNode*> nodes_;
  Deployment out_;
};

}  // namespace

std::vector<Deployment> read_deployments(const std::string& file) {
  const YamlNode root = read_yaml(file);
  if (root.kind != Kind::map) {
    Reader::refuse_at(file, root.line, "this is no deployment file; it must have the key models");
  }
  const YamlNode* models = nullptr;
  std::vector<std::string> ignored;
  for (const YamlNode& node : root.items) {
    const Key* key = std::find_if(std::begin(kTopKeys), std::end(kTopKeys),
                                  [&](const Key& k) { return k.name == node.key; });
    if (key == std::end(kTopKeys)) {
      const bool model = node.kind == Kind::map;
      Reader::refuse_at(file, node.line, "'", node.key, "' is no key of a deployment file",
                        key_hint(node.key, kTopKeys),
                        model ? "; the name of a model is indented below models:" : "");
    }
    if (key->use == Use::ignored) ignored.push_back(node.key);
    if (node.key == "models") models = &node;
  }
  if (models == nullptr || models->kind != Kind::map || models->items.empty()) {
    Reader::refuse_at(file, models == nullptr ? root.line : models->line,
                      "there is no model; write models: and below it the name of one");
  }
  std::vector<Deployment> out;
  for (const YamlNode& model : models->items) out.push_back(Reader(file, model, ignored).read());
  return out;
}

}  // namespace stowage::cli
