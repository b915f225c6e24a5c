// SPDX-License-Identifier: Apache-2.0
// concat and split: the same cuts of one axis, in either direction.
#include "kernels/copy/parts.h"
#include "kernels/layouts.h"
#include "ops/box_copy/box_copy.h"
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/relabel.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

void infer_concat(const InferRef& node) {
  node.expect_inputs(1, 1 << 20);
  Ints out = extents_of(node.shape(0));
  if (out.empty()) fail(ErrorCode::bad_input, "scalars cannot be concatenated");
  const int axis = normal_axis(node.attrs().integer("axis", 1), node.rank(0));
  node.set_fact("axis", std::int64_t{axis});
  for (int i = 1; i < node.input_count(); ++i) {
    const Shape& shape = node.shape(i);
    bool fits = shape.rank() == node.rank(0) && node.dtype(i) == node.dtype(0);
    for (int k = 0; fits && k < shape.rank(); ++k) fits = k == axis || shape[k] == out[at(k)];
    if (!fits) {
      fail(ErrorCode::bad_input, "input ", i, " (", dtype_name(node.dtype(i)), " ", shape.extents(),
           ") does not fit to input 0 (", dtype_name(node.dtype(0)), " ", node.shape(0).extents(),
           ") along axis ", axis);
    }
    out[at(axis)] = checked_add(out[at(axis)], shape[axis]);
  }
  node.set_output(0, node.dtype(0), out);
}

std::optional<Attributes> permute_concat(const NodeRef& node, std::span<const std::int64_t> perm) {
  Attributes attrs = node.attrs();
  attrs.set("axis", perm[at(node.facts().integer("axis", 0))]);
  return attrs;
}

/// Equal parts unless `split` or input 1 says otherwise; the last part may be smaller only when
/// `num_outputs` asks for it.
void infer_split(const InferRef& node) {
  node.expect_inputs(1, 2);
  expect_rank(node, 0, 1);
  const int axis = normal_axis(node.attrs().integer("axis", 0), node.rank(0));
  node.set_fact("axis", std::int64_t{axis});
  const std::int64_t extent = node.shape(0)[axis];
  const auto parts = static_cast<std::int64_t>(node.output_count());
  std::optional<Ints> split = node.ints_of("split", 1);
  if (!split) {
    const std::int64_t wanted = node.attrs().integer("num_outputs", parts);
    if (wanted != parts) {
      fail(ErrorCode::bad_input, "num_outputs is ", wanted, ", but it has ", parts, " outputs");
    }
    if (extent % parts != 0 && !node.attrs().has("num_outputs")) {
      fail(ErrorCode::bad_input, extent, " elements do not split into ", parts, " equal parts");
    }
    const std::int64_t part = ceil_div(extent, parts);
    split.emplace();
    for (std::int64_t i = 0; i < parts; ++i) {
      split->push_back(std::clamp<std::int64_t>(extent - i * part, 0, part));
    }
  }
  node.set_fact("split", *split);
  std::int64_t sum = 0;
  for (std::int64_t s : *split) {
    if (s < 0) fail(ErrorCode::bad_input, "a part has ", s, " elements");
    sum = checked_add(sum, s);
  }
  if (static_cast<std::int64_t>(split->size()) != parts || sum != extent) {
    fail(ErrorCode::bad_input, "parts ", std::span<const std::int64_t>(*split), " do not fill ",
         parts, " outputs with ", extent, " elements");
  }
  Ints out = extents_of(node.shape(0));
  for (std::int64_t i = 0; i < parts; ++i) {
    out[at(axis)] = (*split)[at(i)];
    node.set_output(static_cast<int>(i), node.dtype(0), out);
  }
}

/// Copies between the whole and its parts, all row-major.
template <bool Split>
void reference(const ReferenceArgs& args) {
  const auto& parts = [&]() -> const auto& {
    if constexpr (Split) {
      return args.out;
    } else {
      return args.in;
    }
  }
  ();
  const auto& whole = [&]() -> const auto& {
    if constexpr (Split) {
      return args.in[0];
    } else {
      return args.out[0];
    }
  }
  ();
  const Shape& shape = whole.mapping.shape();
  if (shape.elements() == 0) return;
  const auto axis = static_cast<int>(args.node.facts().integer("axis", 0));
  const std::int64_t outer = product(shape.extents(), 0, axis);
  const std::int64_t inner =
      product(shape.extents(), axis + 1, shape.rank()) * dtype_bytes(whole.dtype);
  std::int64_t begin = 0;
  const Ints split = args.node.facts().integers("split");
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const std::int64_t count = Split ? split[p] : parts[p].mapping.shape()[axis];
    for (std::int64_t o = 0; o < outer && parts[p].data != nullptr; ++o) {
      auto* piece = parts[p].data + o * count * inner;
      auto* place = whole.data + (o * shape[axis] + begin) * inner;
      if constexpr (Split) {
        std::copy_n(place, count * inner, piece);
      } else {
        std::copy_n(piece, count * inner, place);
      }
    }
    begin += count;
  }
}

constexpr const KernelDef* kKernels[] = {&kConcat, &kSplit};
constexpr const KernelDef* kDeviceKernels[] = {&kJoin, &kCut};

/// One layout for all: that of any part or of the whole.
template <bool Split>
std::vector<Layout> layouts_of(const OfferRequest& request) {
  const NodeRef& node = request.node;
  const Shape& whole = Split ? node.shape(0) : node.output().shape;
  const auto& inputs = node.node().inputs;
  std::vector<ValueId> all(inputs.begin(), Split ? inputs.begin() + 1 : inputs.end());
  all.insert(all.end(), node.node().outputs.begin(), node.node().outputs.end());
  std::erase(all, kNoValue);
  const auto shape = [&](ValueId v) -> const Shape& { return node.graph().value(v).shape; };
  // Parts have few layouts between them, however many parts there are: each is looked at once.
  std::vector<Layout> layouts, seen;
  const auto add = [&](ValueId v, const Layout& l) {
    const Layout own = same_position_layout(shape(v), whole, l);
    if (std::ranges::find(seen, own) != seen.end()) return;
    seen.push_back(own);
    const bool fits = std::ranges::all_of(all, [&](ValueId other) {
      return places(same_position_layout(whole, shape(other), own), shape(other));
    });
    if (fits) layouts.push_back(own);
  };
  for (ValueId v : all) {
    for (const Layout& l : request.candidates(v)) {
      add(v, l);
      // A block that one tensor just fills is channels last there; the others need not be blocked.
      if (const auto plain = relabelled(l, shape(v), shape(v))) add(v, *plain);
    }
  }
  return layouts;
}

/// Operands that a kernel of a device has at most: OpenCL promises 1024 bytes of arguments, and a
/// buffer takes 96 of them where vectors are aligned.
constexpr int kMostParts = 8;

template <bool Split>
void offer_on_device(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const auto axis = static_cast<int>(node.facts().integer("axis", 0));
  const int parts = Split ? node.output_count() : node.input_count();
  const Ints split = node.facts().integers("split");
  CutParams cut{axis, {}, {}};
  std::int64_t begin = 0;
  for (int i = 0; Split && i < parts; ++i) {
    if (node.has_output(i)) {
      cut.outputs.push_back(i);
      cut.begins.push_back(begin);
    }
    begin += split[at(i)];
  }
  // MAX_WRITE_IMAGE_ARGS is 8 at least.
  if (parts > (Split ? 8 : kMostParts)) return;
  for (const bool plain : {false, true}) {
    const auto layout = [&](const Shape& shape) {
      return plain ? Layout::row_major(shape) : texels(shape);
    };
    DeviceOffer offer(request);
    offer.takes_bytes();
    for (int i = 0; i < node.input_count(); ++i) {
      if (node.has(i) && (!Split || i == 0)) offer.in(i, layout(node.shape(i)));
    }
    for (int o = 0; o < node.output_count(); ++o) {
      if (node.has_output(o)) offer.out(layout(node.output(o).shape), o);
    }
    if constexpr (Split) {
      offer.add(kCut, cut, 0, 1, out);
    } else {
      offer.add(kJoin, JoinParams{axis, parts}, 0, 1, out);
    }
  }
}

template <bool Split>
void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape& whole = Split ? node.shape(0) : node.output().shape;
  const auto& operands = Split ? node.node().outputs : node.node().inputs;
  const Ints split = node.facts().integers("split");
  const int size = dtype_bytes(node.dtype(0));
  if (whole.elements() == 0) return;
  if (request.target.device && whole.rank() > 0) offer_on_device<Split>(request, out);
  for (const Layout& layout : layouts_of<Split>(request)) {
    PartsParams params;
    params.axis = static_cast<int>(node.facts().integer("axis", 0));
    params.whole = Mapping(layout, whole, size);
    std::vector<Operand> part_operands;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      auto& part = params.parts.emplace_back();
      Operand& operand = part_operands.emplace_back();
      part.begin = begin;
      if (operands[i] == kNoValue) {
        begin += split[i];
        continue;
      }
      const Shape& shape = node.graph().value(operands[i]).shape;
      operand.layout = same_position_layout(whole, shape, layout);
      part.mapping = Mapping(operand.layout, shape, size);
      part.there = shape.elements() > 0;
      begin += shape[params.axis];
    }
    Offer offer;
    auto& views = Split ? offer.outputs_in_input : offer.inputs_in_output;
    for (const PartCopy& piece : part_copies(params, Split)) {
      const double pieces = piece.copy.pieces();
      const PartsParams::Part& part = params.parts[piece.part];
      const auto offset = part_offset(params.whole, part.mapping, params.axis, part.begin);
      if (offset) views.push_back({static_cast<int>(piece.part), *offset, pieces});
      offer.pieces += pieces;
    }
    // All parts of one are stretches or none is.
    const auto count = std::ranges::count(params.parts, true, &PartsParams::Part::there);
    if (std::ssize(views) != count) views.clear();
    const std::vector<Operand> all = {layout};
    offer.in = Split ? all : part_operands;
    offer.out = Split ? part_operands : all;
    offer.call = {Split ? kSplit : kConcat, std::move(params)};
    out.push_back(std::move(offer));
  }
}

void import_concatenation(ImportNode& node) {
  node.expect(1, kAnyNumber);
  node.out(node.activate(node.emit("concat", node.all_inputs(), node.attrs)));
}

void import_pack(ImportNode& node) {
  node.expect(1, kAnyNumber);
  const std::int64_t axis = node.attrs.integer("axis", 0);
  std::vector<ValueId> parts;
  for (int i = 0; i < node.input_count(); ++i) {
    parts.push_back(node.emit("unsqueeze", {node.in(i)}, {{"axes", Ints{axis}}}));
  }
  node.out(node.emit("concat", parts, {{"axis", axis}}));
}

void import_unpack(ImportNode& node) {
  node.expect(1, 1, node.output_count());
  const ValueId x = node.in(0);
  const int axis = normal_axis(node.attrs.integer("axis", 0), node.shape(x).rank());
  if (node.output_count() < 1 || node.shape(x)[axis] != node.output_count()) {
    fail(ErrorCode::bad_input, node.shape(x)[axis], " slices for ", node.output_count(),
         " outputs");
  }
  const auto parts =
      node.emit_many("split", {x}, node.output_count(), {{"axis", std::int64_t{axis}}});
  for (int i = 0; i < node.output_count(); ++i) {
    node.out(i, node.emit("squeeze", {parts[at(i)]}, {{"axes", Ints{axis}}}));
  }
}

void import_split(ImportNode& node) {
  node.expect(2, 2, node.output_count());
  if (node.output_count() < 1) fail(ErrorCode::bad_input, "it has no output");
  const auto parts =
      node.emit_many("split", {node.in(1)}, node.output_count(), {{"axis", node.axis(0)}});
  for (int i = 0; i < node.output_count(); ++i) node.out(i, parts[at(i)]);
}

void import_split_v(ImportNode& node) {
  node.expect(3, 3, node.output_count());
  if (node.output_count() < 1) fail(ErrorCode::bad_input, "it has no output");
  const ValueId x = node.in(0);
  const int axis = normal_axis(node.axis(2), node.shape(x).rank());
  Ints sizes = node.ints(1);
  // One size may be -1: the rest.
  std::int64_t known = 0;
  for (std::int64_t s : sizes) known = checked_add(known, std::max<std::int64_t>(s, 0));
  const auto free = std::ranges::find(sizes, -1);
  if (free != sizes.end()) *free = node.shape(x)[axis] - known;
  const auto parts = node.emit_many("split", {x}, node.output_count(),
                                    {{"axis", std::int64_t{axis}}, {"split", sizes}});
  for (int i = 0; i < node.output_count(); ++i) node.out(i, parts[at(i)]);
}

constexpr OpDef kOps[] = {
    {.name = "concat",
     .aliases = named<Onnx<"Concat">, Tflite<"CONCATENATION", import_concatenation>,
                      Tflite<"PACK", import_pack>, Ncnn<"Concat", ncnn::concat>>,
     .category = Category::transposable,
     .mace = "Concat",
     .infer = infer_concat,
     .permute = permute_concat,
     .reference = reference<false>,
     .offers = offers<false>,
     .kernels = std::span(kKernels).first<1>(),
     .device_kernels = std::span(kDeviceKernels).first<1>(),
     .axes = link_positions},
    {.name = "split",
     .aliases =
         named<Onnx<"Split">, Tflite<"SPLIT", import_split>, Tflite<"SPLIT_V", import_split_v>,
               Tflite<"UNPACK", import_unpack>, Ncnn<"Slice", ncnn::slice>>,
     .category = Category::transposable,
     .mace = "Split",
     .infer = infer_split,
     .parameters = parameter<1, "split">,
     .reference = reference<true>,
     .offers = offers<true>,
     .kernels = std::span(kKernels).last<1>(),
     .device_kernels = std::span(kDeviceKernels).last<1>(),
     .axes = link_positions},
};

}  // namespace

extern const std::span<const OpDef> ops_concat;
const std::span<const OpDef> ops_concat = kOps;

}  // namespace stowage
