// SPDX-License-Identifier: Apache-2.0
#include "import/ncnn_weights.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>
#include <string_view>

#include "base/checked.h"
#include "base/index.h"
#include "base/scalar.h"
#include "base/trail.h"
#include "ops/ncnn/params.h"
#include "ops/ncnn/refusals.h"

namespace stowage {

namespace {

using Like = NcnnWeight::Like;
using Weights = std::vector<NcnnWeight>;

NcnnWeight product(Ints extents) { return {std::move(extents), Like::product, true}; }

NcnnWeight vector(std::int64_t count, Like like) { return {{count}, like, false}; }

/// How often `each` goes into the number of weights that parameter `id` says.
std::int64_t quotient(const NcnnParams& p, int id, std::int64_t each) {
  const std::int64_t size = p.count(id, 0, 1);
  if (size % each != 0) {
    fail(ErrorCode::bad_input, "it says that it has ", size, " weights, which is no multiple of ",
         each);
  }
  return size / each;
}

/// [out][in / group][taps], and a bias. `axes`: how many spatial axes there are.
template <int Axes>
Weights window(const NcnnParams& p) {
  const bool given = p.flag(Axes == 3 ? -1 : 19);
  if (given) return {};
  const std::int64_t out = p.count(0, 0, 1), w = p.count(1, 0, 1);
  Ints taps = {w};
  if (Axes > 1) taps.insert(taps.begin(), p.count(11, w, 1));
  if (Axes > 2) taps.insert(taps.begin(), p.count(21, w, 1));
  std::int64_t each = out;
  for (const std::int64_t t : taps) each = checked_mul(each, t);
  Ints extents = {out, quotient(p, 6, each)};
  extents.insert(extents.end(), taps.begin(), taps.end());
  Weights all = {product(std::move(extents))};
  if (p.flag(5)) all.push_back(vector(out, Like::zero));
  return all;
}

/// Parameter 19 is padding of the output here, 28 says that the weights are an input.
template <int Axes>
Weights transposed_window(const NcnnParams& p) {
  Attributes attrs;
  for (const int id : {0, 1, 5, 6, 11}) {
    if (p.has(id)) attrs.set(std::to_string(id), p.integer(id, 0));
  }
  return p.flag(28) ? Weights() : window<Axes>(NcnnParams(attrs));
}

Weights inner_product(const NcnnParams& p) {
  const std::int64_t out = p.count(0, 0, 1);
  Weights all = {product({out, quotient(p, 2, out)})};
  if (p.flag(1)) all.push_back(vector(out, Like::zero));
  return all;
}

/// Slope, mean, variance, bias.
Weights batch_norm(const NcnnParams& p) {
  const std::int64_t n = p.count(0, 0, 1);
  return {vector(n, Like::one), vector(n, Like::zero), vector(n, Like::one), vector(n, Like::zero)};
}

/// The scale may be an input.
Weights scale(const NcnnParams& p) {
  const std::int64_t n = p.integer(0, 0);
  if (n == NcnnParams::kNone) {
    if (p.flag(1)) fail(ErrorCode::bad_input, "it has a bias but does not say how large");
    return {};
  }
  Weights all = {vector(p.count(0, 0, 1), Like::one)};
  if (p.flag(1)) all.push_back(vector(n, Like::zero));
  return all;
}

template <Like L>
Weights one_vector(const NcnnParams& p) {
  return {vector(p.count(0, 0, 1), L)};
}

/// Scale and shift, where parameter `Affine` says so.
template <int Count, int Affine>
Weights affine(const NcnnParams& p) {
  if (!p.flag(Affine, true)) return {};
  const std::int64_t n = p.count(Count, 0, 1);
  return {vector(n, Like::one), vector(n, Like::zero)};
}

Weights rms_norm(const NcnnParams& p) {
  if (!p.flag(2, true)) return {};
  return {vector(p.count(0, 0, 1), Like::one)};
}

Weights normalize(const NcnnParams& p) { return {vector(p.count(3, 0, 1), Like::one)}; }

Weights memory_data(const NcnnParams& p) {
  Ints extents;
  for (const int id : {2, 11, 1, 0}) {
    if (p.count(id, 0) > 0) extents.push_back(p.integer(id, 0));
  }
  if (extents.empty()) fail(ErrorCode::bad_input, "it says no extents");
  return {{std::move(extents), Like::product, p.integer(21, 1) == 0}};
}

Weights gemm(const NcnnParams& p) {
  const bool a = p.flag(4), b = p.flag(5), c = p.flag(6);
  Weights all;
  const auto matrix = [&](int rows, int columns, bool turned) {
    Ints extents = {p.count(rows, 0, 1), p.count(columns, 0, 1)};
    if (turned) std::swap(extents[0], extents[1]);
    all.push_back(product(std::move(extents)));
  };
  if (a) matrix(7, 9, p.flag(2));
  if (b) matrix(9, 8, p.flag(3));
  const std::int64_t kind = p.integer(10, 0);
  if (c && kind != -1) {
    Ints extents;
    switch (kind) {
      case 0:
        extents = {1};
        break;
      case 1:
        extents = {p.count(7, 0, 1)};
        break;
      case 2:
        extents = {p.count(7, 0, 1), 1};
        break;
      case 3:
        extents = {p.count(7, 0, 1), p.count(8, 0, 1)};
        break;
      case 4:
        extents = {1, p.count(8, 0, 1)};
        break;
      default:
        fail(ErrorCode::bad_input, "C stretches in way ", kind, ", which is unknown");
    }
    all.push_back({std::move(extents), Like::zero, true});
  }
  return all;
}

/// Weights and biases of q, k, v and the result.
Weights attention(const NcnnParams& p) {
  const std::int64_t embed = p.count(0, 0, 1), q = quotient(p, 2, embed);
  const std::int64_t k = p.count(3, embed, 1), v = p.count(4, embed, 1);
  Weights all;
  for (const std::int64_t in : {q, k, v}) {
    all.push_back(product({embed, in}));
    all.push_back(vector(embed, Like::zero));
  }
  all.push_back(product({q, embed}));
  all.push_back(vector(q, Like::zero));
  return all;
}

Weights embed(const NcnnParams& p) {
  const std::int64_t out = p.count(0, 0, 1), words = p.count(1, 0, 1);
  if (quotient(p, 3, out) != words) {
    fail(ErrorCode::bad_input, "it says that it has ", p.integer(3, 0), " weights for ", words,
         " words of ", out);
  }
  Weights all = {product({words, out})};
  if (p.flag(2)) all.push_back(vector(out, Like::zero));
  return all;
}

/// Input, bias, recurrence; gates I F O G.
Weights lstm(const NcnnParams& p) {
  const std::int64_t out = p.count(0, 0, 1), directions = p.integer(2, 0) == 2 ? 2 : 1;
  const std::int64_t hidden = p.count(3, out, 1), rows = checked_mul(4, hidden);
  const std::int64_t in = quotient(p, 1, checked_mul(directions, rows));
  Weights all = {product({directions, 4, hidden, in}),
                 {{directions, 4, hidden}, Like::zero, true},
                 product({directions, 4, hidden, out})};
  if (hidden != out) all.push_back(product({directions, out, hidden}));
  return all;
}

/// Input, bias, recurrence of `Gates` gates, with `Biases` biases.
template <int Gates, int Biases>
Weights recurrent(const NcnnParams& p) {
  const std::int64_t out = p.count(0, 0, 1), directions = p.integer(2, 0) == 2 ? 2 : 1;
  const std::int64_t rows = checked_mul(checked_mul(Gates, out), directions);
  return {product({directions, Gates, out, quotient(p, 1, rows)}),
          {{directions, Biases, out}, Like::zero, true},
          product({directions, Gates, out, out})};
}

/// Padding with a value of its own for each channel.
Weights channel_values(const NcnnParams& p) {
  const std::int64_t n = p.count(6, 0);
  return n == 0 ? Weights() : Weights{vector(n, Like::zero)};
}

struct Row {
  std::string_view type;
  Weights (*weights)(const NcnnParams&);
};

constexpr Row kRows[] = {
    {"Convolution", window<2>},
    {"ConvolutionDepthWise", window<2>},
    {"Convolution1D", window<1>},
    {"ConvolutionDepthWise1D", window<1>},
    {"Convolution3D", window<3>},
    {"ConvolutionDepthWise3D", window<3>},
    {"Deconvolution", transposed_window<2>},
    {"DeconvolutionDepthWise", transposed_window<2>},
    {"Deconvolution1D", transposed_window<1>},
    {"DeconvolutionDepthWise1D", transposed_window<1>},
    {"InnerProduct", inner_product},
    {"BatchNorm", batch_norm},
    {"Scale", scale},
    {"Bias", one_vector<Like::zero>},
    {"PReLU", one_vector<Like::one>},
    {"InstanceNorm", affine<0, 2>},
    {"GroupNorm", affine<1, 3>},
    {"LayerNorm", affine<0, 2>},
    {"RMSNorm", rms_norm},
    {"Normalize", normalize},
    {"MemoryData", memory_data},
    {"Gemm", gemm},
    {"MultiHeadAttention", attention},
    {"Embed", embed},
    {"LSTM", lstm},
    {"GRU", recurrent<3, 4>},
    {"RNN", recurrent<1, 1>},
    {"Padding", channel_values},
};

const Row* find_row(const NcnnLayer& layer) {
  const Row* row = std::ranges::find(kRows, layer.type, &Row::type);
  return row == std::end(kRows) ? nullptr : row;
}

std::int64_t elements_of(const NcnnWeight& weight) {
  std::int64_t n = 1;
  for (const std::int64_t e : weight.extents) n = checked_mul(n, e);
  return n;
}

void take_budget(const Weights& weights, ImportBudget& budget) {
  for (const NcnnWeight& w : weights) {
    budget.take_value("weights", checked_mul(elements_of(w), sizeof(float)));
  }
}

}  // namespace

Weights ncnn_weights(const NcnnLayer& layer) {
  const Row* row = find_row(layer);
  if (row == nullptr) return {};
  return row->weights(NcnnParams(layer.params));
}

std::string ncnn_unsupported(const NcnnLayer& layer) {
  return ncnn::refusal(layer.type, NcnnParams(layer.params), layer.inputs.size());
}

std::vector<std::byte> NcnnWeightFile::take(std::int64_t bytes) {
  // Checked before anything is allocated for it.
  if (bytes > file_.size() - at_) {
    fail(ErrorCode::bad_input, "'", file_.path(), "' is cut short: ", bytes, " bytes of weights ",
         "should begin at byte ", at_, ", ", file_.size() - at_, " are left");
  }
  std::vector<std::byte> out(idx(bytes));
  file_.read(at_, out);
  at_ += std::min(round_up(bytes, 4), file_.size() - at_);
  return out;
}

void NcnnWeightFile::read_floats(std::span<float> into) {
  const auto bytes = static_cast<std::int64_t>(into.size_bytes());
  file_.read(at_, std::as_writable_bytes(into));
  at_ += bytes;
}

/// How the tag before weights says that they are stored. ncnn takes every tag that it does not know
/// for that of a codebook, whose own is a small number.
NcnnWeightFile::Storage NcnnWeightFile::storage_of(std::uint32_t tag) {
  constexpr std::uint32_t kHalf = 0x01306B47, kBfloat = 0x01348B83, kInt8 = 0x000D4B38,
                          kFloat = 0x0002C056, kBooksEnd = 0x10000;
  if (tag == 0 || tag == kFloat) return Storage::f32;
  if (tag == kHalf) return Storage::f16;
  if (tag == kBfloat) return Storage::bf16;
  if (tag < kBooksEnd) return Storage::book;
  if (tag == kInt8) {
    fail(ErrorCode::unsupported, "its weights are int8, which is not supported yet");
  }
  char hex[9] = {};
  std::to_chars(hex, hex + 8, tag, 16);
  fail(ErrorCode::bad_input, "its weights are stored in a way that is unknown: their tag is 0x",
       hex);
}

/// In 32 bits, in 16, or as one of 256 numbers that stand before.
Tensor NcnnWeightFile::read(const NcnnWeight& weight) {
  constexpr std::int64_t kBook = 256;
  const std::int64_t elements = elements_of(weight);
  std::uint32_t tag = 0;
  if (weight.tagged) std::memcpy(&tag, take(4).data(), 4);
  const Storage storage = storage_of(tag);
  const bool book = storage == Storage::book;
  const bool half = storage == Storage::f16 || storage == Storage::bf16;
  const std::int64_t width = half ? 2 : book ? 1 : 4;
  const std::int64_t bytes = checked_add(checked_mul(elements, width), book ? kBook * 4 : 0);
  if (bytes > file_.size() - at_) {
    fail(ErrorCode::bad_input, "'", file_.path(), "' is cut short: ", bytes,
         " bytes of weights should begin at byte ", at_, ", ", file_.size() - at_, " are left");
  }
  Tensor out(DType::f32, Shape::unnamed(weight.extents));
  const auto into = out.as<float>();
  if (half) {
    const std::vector<std::byte> halves = take(bytes);
    for (std::size_t i = 0; i < into.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, halves.data() + 2 * i, 2);
      into[i] = storage == Storage::f16
                    ? f16_to_f32(bits)
                    : std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }
  } else if (book) {
    float numbers[kBook];
    read_floats(numbers);
    const std::vector<std::byte> indices = take(elements);
    for (std::size_t i = 0; i < into.size(); ++i) {
      into[i] = numbers[static_cast<std::size_t>(indices[i])];
    }
  } else {
    read_floats(into);
  }
  return out;
}

NcnnTensors NcnnWeightFile::read(const NcnnLayer& layer, ImportBudget& budget) {
  const Weights weights = ncnn_weights(layer);
  take_budget(weights, budget);
  NcnnTensors out;
  for (const NcnnWeight& w : weights) out.push_back(std::make_shared<const Tensor>(read(w)));
  return out;
}

void NcnnWeightFile::expect_end() const {
  if (at_ == file_.size()) return;
  fail(ErrorCode::bad_input, "'", file_.path(), "' does not belong to this model: the weights end ",
       "after ", at_, " of its ", file_.size(), " bytes");
}

NcnnTensors generated_weights(const NcnnLayer& layer, ImportBudget& budget) {
  const Weights weights = ncnn_weights(layer);
  take_budget(weights, budget);
  NcnnTensors out;
  std::uint32_t state = 42;
  for (const NcnnWeight& w : weights) {
    Tensor t(DType::f32, Shape::unnamed(w.extents));
    const std::int64_t terms = elements_of(w) / std::max<std::int64_t>(w.extents[0], 1);
    const float most = w.like == Like::product ? std::sqrt(3.0f / static_cast<float>(terms)) : 0.1f;
    for (float& x : t.as<float>()) {
      state = state * 1664525u + 1013904223u;
      const float noise = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1;
      x = (w.like == Like::one ? 1.0f : 0.0f) + most * noise;
    }
    out.push_back(std::make_shared<const Tensor>(std::move(t)));
  }
  return out;
}

}  // namespace stowage
