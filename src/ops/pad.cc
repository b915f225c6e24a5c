// SPDX-License-Identifier: Apache-2.0
// Padding by a constant, by reflection, by the edge, or around.
#include <cstring>

#include "ops/box_copy/box_copy.h"
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// The facts `before` and `after`, one an axis and perhaps negative, are what the rest reads.
void infer(const InferRef& node) {
  node.expect_inputs(1, 4);
  const Shape& x = node.shape(0);
  const auto pads = node.ints_of("pads", 1);
  if (!pads) fail(ErrorCode::bad_input, "it has no pads");
  auto axes = node.ints_of("axes", 3);
  if (!axes) {
    axes.emplace();
    for (int i = 0; i < x.rank(); ++i) axes->push_back(i);
  }
  if (pads->size() != 2 * axes->size()) {
    fail(ErrorCode::bad_input, pads->size(), " pads for ", axes->size(), " axes");
  }
  normal_axes(*axes, x.rank());
  const std::string mode = node.attrs().string("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    fail(ErrorCode::unsupported, "mode '", mode, "'");
  }
  if (node.has(2)) {
    if (node.dtype(2) != node.dtype(0) || node.shape(2).elements() != 1) {
      fail(ErrorCode::bad_input, "input 2 must be one ", dtype_name(node.dtype(0)));
    }
  }
  Ints before(at(x.rank()), 0), after(at(x.rank()), 0), out = extents_of(x);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const int axis = normal_axis((*axes)[i], x.rank());
    const std::int64_t lo = (*pads)[i], hi = (*pads)[i + axes->size()];
    before[at(axis)] = lo;
    after[at(axis)] = hi;
    std::int64_t& extent = out[at(axis)];
    extent = checked_add(checked_add(extent, lo), hi);
    if (extent < 0) {
      fail(ErrorCode::bad_input, "axis ", axis, " of extent ", x[axis],
           " is cut by more than that");
    }
    if (mode != "constant" && x[axis] == 0 && extent > 0) {
      fail(ErrorCode::bad_input, "axis ", axis, " is empty: there is nothing to ", mode);
    }
  }
  node.set_fact("before", before);
  node.set_fact("after", after);
  node.set_output(0, node.dtype(0), out);
}

std::optional<Attributes> permute(const NodeRef& node, std::span<const std::int64_t> perm) {
  const Ints before = node.facts().integers("before"), after = node.facts().integers("after");
  Ints pads(2 * perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) {
    pads[at(perm[i])] = before[i];
    pads[perm.size() + at(perm[i])] = after[i];
  }
  Attributes attrs = node.attrs();
  attrs.erase("axes");
  attrs.set("pads", pads);
  return attrs;
}

std::optional<ZeroPads> zero_pads(const NodeRef& node) {
  if (node.attrs().string("mode", "constant") != "constant" || node.dtype(0) != DType::f32) {
    return std::nullopt;
  }
  if (node.has(2) ? node.constant(2) == nullptr || node.constant(2)->as<float>()[0] != 0.0f
                  : node.attrs().real("value", 0) != 0.0f) {
    return std::nullopt;
  }
  ZeroPads zeros{node.facts().integers("before"), node.facts().integers("after")};
  const auto cuts = [](std::int64_t pad) { return pad < 0; };
  if (std::ranges::any_of(zeros.before, cuts) || std::ranges::any_of(zeros.after, cuts)) {
    return std::nullopt;
  }
  return zeros;
}

/// Before opset 2 the attribute was called paddings.
void import_pad(ImportNode& node) {
  if (node.attrs.has("paddings")) node.attrs.set("pads", node.attrs.integers("paddings"));
}

/// Index of the source along one axis for `i`, which counts from its first element; -1: none.
std::int64_t source_index(std::int64_t i, std::int64_t extent, std::string_view mode) {
  if (i >= 0 && i < extent) return i;
  if (mode == "edge") return i < 0 ? 0 : extent - 1;
  if (mode == "wrap") return (i % extent + extent) % extent;
  if (mode == "reflect") {
    if (extent == 1) return 0;
    const std::int64_t period = 2 * (extent - 1);
    const std::int64_t k = (i % period + period) % period;
    return k < extent ? k : period - k;
  }
  return -1;
}

void reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape &x = args.in[0].mapping.shape(), &out = args.out[0].mapping.shape();
  const Ints before = args.node.facts().integers("before");
  const std::string mode = args.node.attrs().string("mode", "constant");
  const Ints strides = row_major_strides(x.extents());
  // For each axis the source of every index, as an offset, or -1.
  std::vector<Ints> sources(at(x.rank()));
  for (int k = 0; k < x.rank(); ++k) {
    for (std::int64_t i = 0; i < out[k]; ++i) {
      const std::int64_t from = source_index(i - before[at(k)], x[k], mode);
      sources[at(k)].push_back(from < 0 ? -1 : from * strides[at(k)]);
    }
  }
  for_bytes(args.out[0].dtype, [&]<class T>() {
    T value = T(0);
    if (const T* given = args.input<T>(2)) value = *given;
    if (args.out[0].dtype == DType::f32 && args.node.attrs().has("value")) {
      const float v = args.node.attrs().real("value", 0);
      std::memcpy(&value, &v, std::min(sizeof(T), sizeof v));
    }
    Walk<1> walk(out.extents(), {row_major_strides(out.extents())});
    for (std::int64_t i = 0; i < out.elements(); ++i, walk.next()) {
      std::int64_t from = 0;
      for (std::size_t k = 0; k < sources.size(); ++k) {
        const std::int64_t part = sources[k][at(walk.index()[k])];
        from = part < 0 || from < 0 ? -1 : from + part;
      }
      args.output<T>(0)[i] = from < 0 ? value : args.input<T>(0)[from];
    }
  });
}

struct PadParams : CopyParams {
  Ints before;
  std::string mode;

  void fields(Archive& a) {
    CopyParams::fields(a);
    a("before", before)("mode", mode);
  }

  BoxCopy::IndexMap map(const BindArgs&) const {
    return [this](int axis, std::int64_t x) {
      return source_index(x - before[at(axis)], from.shape()[axis], mode);
    };
  }
};

constexpr KernelDef kKernel = copy_row<PadParams>("pad");
constexpr const KernelDef* kKernels[] = {&kKernel};

/// Bits of the element that fills the border; nothing when it is not known before run.
std::optional<std::uint64_t> border(const NodeRef& node) {
  std::uint64_t bits = 0;
  if (node.has(2)) {
    const Tensor* value = node.constant(2);
    if (value == nullptr) return std::nullopt;
    std::memcpy(&bits, value->data(), at(dtype_bytes(value->dtype())));
  } else if (node.dtype(0) == DType::f32) {
    bits = std::bit_cast<std::uint32_t>(node.attrs().real("value", 0));
  }
  return bits;
}

void offer_device_pad(const OfferRequest& request, const PadParams& params,
                      std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &y = node.output().shape;
  MoveParams move;
  if (params.mode == "constant") {
    move.outside = MoveParams::Outside::fill;
    move.fill = std::bit_cast<float>(static_cast<std::uint32_t>(*params.fill));
  } else {
    move.outside = params.mode == "edge" ? MoveParams::Outside::edge : MoveParams::Outside::reflect;
    if (params.mode != "edge" && params.mode != "reflect") return;
  }
  for (int i = 0; i < x.rank(); ++i) {
    const std::int64_t before = params.before[at(i)], after = y[i] - x[i] - before;
    if (move.outside != MoveParams::Outside::fill && std::max(before, after) >= x[i]) return;
    move.input.push_back(along(i, -before));
  }
  offer_device_move(request, move, out);
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  PadParams params;
  params.before = node.facts().integers("before");
  params.mode = node.attrs().string("mode", "constant");
  if (params.mode == "constant") {
    params.fill = border(node);
    if (!params.fill) return;
  }
  offer_copy(request, out, kKernel, params);
  if (request.target.device) offer_device_pad(request, params, out);
}

/// TFLite's pairs (before, after) of every axis become all befores, then all afters.
Ints pads_of_pairs(ImportNode& node) {
  const Ints pairs = node.ints(1);
  const int rank = node.shape(node.in(0)).rank();
  if (pairs.size() != at(2 * rank)) {
    fail(ErrorCode::bad_input, pairs.size(), " pads for rank ", rank);
  }
  Ints pads(pairs.size());
  for (std::size_t i = 0; i < at(rank); ++i) {
    pads[i] = pairs[2 * i];
    pads[i + at(rank)] = pairs[2 * i + 1];
    if (pads[i] < 0 || pads[i + at(rank)] < 0) fail(ErrorCode::bad_input, "a pad is negative");
  }
  return pads;
}

void import_pairs(ImportNode& node) {
  node.expect(2, 3);
  const Ints pads = pads_of_pairs(node);
  node.out(node.emit("pad", {node.in(0), kNoValue, node.optional(2)}, {{"pads", pads}}));
}

void import_mirror(ImportNode& node) {
  node.expect(2, 2);
  const std::string mode = node.attrs.string("mode", "");
  if (mode != "reflect") fail(ErrorCode::unsupported, mode, " padding");
  const Ints pads = pads_of_pairs(node);
  node.out(node.emit("pad", {node.in(0)}, {{"pads", pads}, {"mode", mode}}));
}

constexpr Parameter kParameters[] = {{1, "pads"}, {3, "axes"}};

constexpr OpDef kPad[] = {
    {.name = "pad",
     .aliases =
         named<Onnx<"Pad", import_pad>, Tflite<"PAD", import_pairs>, Tflite<"PADV2", import_pairs>,
               Tflite<"MIRROR_PAD", import_mirror>, Ncnn<"Padding", ncnn::padding>>,
     .category = Category::transposable,
     .mace = "Pad",
     .infer = infer,
     .parameters = kParameters,
     .permute = permute,
     .zero_pads = zero_pads,
     .reference = reference,
     .offers = offers,
     .kernels = kKernels,
     .device_kernels = kMoveKernels,
     .axes = link_positions}};

}  // namespace

extern const std::span<const OpDef> ops_pad;
const std::span<const OpDef> ops_pad = kPad;

}  // namespace stowage
