// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: every mode is a table of taps for each axis.
#include "kernels/rows/resize.h"

#include <cmath>

#include "kernels/layouts.h"
#include "kernels/rows/resize_device.h"
#include "ops/box_copy/box_copy.h"
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// The f32 elements of attribute `name` or of constant input `i`; nothing when it is absent or
/// empty, as an unused optional input often is.
std::optional<Floats> floats_of(const NodeRef& node, std::string_view name, int i) {
  if (const Floats given = node.attrs().reals(name); !given.empty()) return given;
  if (!node.has(i) || node.shape(i).elements() == 0) return std::nullopt;
  return node.constant_floats(i);
}

void expect_one_of(const NodeRef& node, std::string_view attribute, std::string_view otherwise,
                   std::initializer_list<std::string_view> allowed) {
  const std::string value = node.attrs().string(attribute, otherwise);
  if (std::ranges::find(allowed, value) == allowed.end()) {
    fail(ErrorCode::unsupported, attribute, " is '", value, "'");
  }
}

/// Values given for `axes`, spread over all axes.
template <class T>
std::vector<T> spread(const std::vector<T>& values, const Ints& axes, int rank, T otherwise) {
  if (values.size() != axes.size()) {
    fail(ErrorCode::bad_input, values.size(), " scales or sizes for ", axes.size(), " axes");
  }
  std::vector<T> out(at(rank), otherwise);
  for (std::size_t i = 0; i < axes.size(); ++i) out[at(axes[i])] = values[i];
  return out;
}

/// One scale for all axes, so that the picture keeps its proportions.
void keep_proportions(const Shape& x, const Ints& axes, std::string_view policy, Ints& sizes,
                      std::vector<double>& scales) {
  double scale = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const double s = scales[at(axes[i])];
    scale = i == 0 ? s : policy == "not_larger" ? std::min(scale, s) : std::max(scale, s);
  }
  for (std::int64_t a : axes) {
    scales[at(a)] = scale;
    const double size = std::floor(scale * static_cast<double>(x[static_cast<int>(a)]) + 0.5);
    if (!(size < 0x1p47)) fail(ErrorCode::limit, "the result has too many elements");
    sizes[at(a)] = static_cast<std::int64_t>(size);
  }
}

/// The facts scales and roi, of every axis, and exact_sizes (scales are quotients of extents) are
/// what the tables of taps are made from.
void infer(const InferRef& node) {
  node.expect_inputs(1, 4);
  const Attributes& attrs = node.attrs();
  expect_one_of(node, "mode", "nearest", {"nearest", "linear", "cubic"});
  expect_one_of(node, "coordinate_transformation_mode", "half_pixel",
                {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                 "asymmetric", "asymmetric_product", "tf_crop_and_resize", "tf_half_pixel_for_nn"});
  expect_one_of(node, "nearest_mode", "round_prefer_floor",
                {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"});
  expect_one_of(node, "keep_aspect_ratio_policy", "stretch",
                {"stretch", "not_larger", "not_smaller"});
  const Shape& x = node.shape(0);
  const bool nearest = attrs.string("mode", "nearest") == "nearest";
  if (!nearest && node.dtype(0) == DType::boolean) fail(ErrorCode::unsupported, "input 0 is bool");
  const auto given_scales = floats_of(node, "scales", 2);
  std::optional<Ints> given_sizes;
  if (!given_scales) given_sizes = node.ints_of("sizes", 3);
  if (!given_scales && !given_sizes) fail(ErrorCode::bad_input, "it has neither scales nor sizes");
  Ints axes = attrs.integers("axes");
  if (!attrs.has("axes")) {
    for (int i = 0; i < x.rank(); ++i) axes.push_back(i);
  }
  normal_axes(axes, x.rank());
  for (std::int64_t& a : axes) a = normal_axis(a, x.rank());

  Ints out = extents_of(x);
  Floats scales(at(x.rank()), 1.0f);
  if (given_scales) {
    scales = spread(*given_scales, axes, x.rank(), 1.0f);
    for (int i = 0; i < x.rank(); ++i) {
      const float s = scales[at(i)];
      const float extent = std::floor(static_cast<float>(x[i]) * s);
      if (!(s > 0) || std::isinf(s)) fail(ErrorCode::bad_input, "the scale of axis ", i, " is ", s);
      if (!(extent < 0x1p47f)) fail(ErrorCode::limit, "the result has too many elements");
      out[at(i)] = s == 1.0f ? x[i] : static_cast<std::int64_t>(extent);
    }
  } else {
    out = spread(*given_sizes, axes, x.rank(), std::int64_t{-1});
    std::vector<double> exact(at(x.rank()), 1.0);
    for (int i = 0; i < x.rank(); ++i) {
      if (!std::ranges::count(axes, i)) out[at(i)] = x[i];
      if (out[at(i)] < 0) fail(ErrorCode::bad_input, "the size of axis ", i, " is ", out[at(i)]);
      if (x[i] > 0) exact[at(i)] = static_cast<double>(out[at(i)]) / static_cast<double>(x[i]);
    }
    const std::string policy = attrs.string("keep_aspect_ratio_policy", "stretch");
    if (policy != "stretch") keep_proportions(x, axes, policy, out, exact);
    for (std::size_t i = 0; i < exact.size(); ++i) scales[i] = static_cast<float>(exact[i]);
    node.set_fact("exact_sizes", std::int64_t{policy == "stretch"});
  }
  for (int i = 0; i < x.rank(); ++i) {
    if (x[i] == 0 && out[at(i)] > 0) fail(ErrorCode::bad_input, "axis ", i, " is empty");
  }
  Floats roi(at(2 * x.rank()), 0.0f);
  std::fill(roi.begin() + x.rank(), roi.end(), 1.0f);
  if (attrs.string("coordinate_transformation_mode", "") == "tf_crop_and_resize") {
    const auto given = floats_of(node, "roi", 1);
    if (!given || given->size() != 2 * axes.size()) {
      fail(ErrorCode::bad_input, "tf_crop_and_resize needs a region of ", 2 * axes.size(),
           " numbers");
    }
    for (std::size_t i = 0; i < axes.size(); ++i) {
      roi[at(axes[i])] = (*given)[i];
      roi[at(axes[i] + x.rank())] = (*given)[i + axes.size()];
    }
  }
  node.set_fact("scales", scales);
  node.set_fact("roi", roi);
  node.set_output(0, node.dtype(0), out);
}

/// Opset 10: scales are input 1, coordinates are asymmetric, nearest is floor. asymmetric_product,
/// which multiplies floats as ncnn does, is no mode of ONNX.
void import_resize(ImportNode& node) {
  if (node.attrs.string("coordinate_transformation_mode", "") == "asymmetric_product") {
    fail(ErrorCode::unsupported, "coordinate_transformation_mode is 'asymmetric_product'");
  }
  if (node.version >= 11) return;
  if (node.input_count() > 2) {
    fail(ErrorCode::bad_input, "it has ", node.input_count(), " inputs, at most 2 make sense");
  }
  if (node.has(1)) node.set_inputs({node.in(0), kNoValue, node.in(1)});
  node.attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
  node.attrs.set("nearest_mode", std::string("floor"));
  if (node.attrs.string("mode", "nearest") == "bilinear") {
    node.attrs.set("mode", std::string("linear"));
  }
}

void import_upsample(ImportNode& node) {
  node.version = 10;
  import_resize(node);
}

/// TFLite: the size is input 1.
void import_image(ImportNode& node, std::string_view mode, std::string_view coordinates,
                  std::string_view nearest_mode) {
  const Ints size = node.ints(1);
  if (size.size() != 2) fail(ErrorCode::bad_input, "its size has ", size.size(), " numbers, not 2");
  const ValueId x = node.image(0);
  const ValueId y =
      node.emit("resize", {x},
                {{"mode", std::string(mode)},
                 {"coordinate_transformation_mode", std::string(coordinates)},
                 {"nearest_mode", std::string(nearest_mode)},
                 {"sizes", Ints{node.shape(x)[0], node.shape(x)[1], size[0], size[1]}}});
  node.out_image(y);
}

void import_bilinear(ImportNode& node) {
  node.expect(2, 2);
  const bool corners = node.flag("align_corners"), half = node.flag("half_pixel_centers");
  if (corners && half) {
    fail(ErrorCode::bad_input, "align_corners and half_pixel_centers exclude each other");
  }
  import_image(node, "linear",
               corners ? "align_corners"
               : half  ? "half_pixel"
                       : "asymmetric",
               "floor");
}

void import_nearest(ImportNode& node) {
  node.expect(2, 2);
  const bool corners = node.flag("align_corners"), half = node.flag("half_pixel_centers");
  if (corners && half) {
    fail(ErrorCode::unsupported, "align_corners together with half_pixel_centers");
  }
  import_image(node, "nearest",
               corners ? "align_corners"
               : half  ? "tf_half_pixel_for_nn"
                       : "asymmetric",
               corners ? "round_prefer_ceil" : "floor");
}

/// The rule of a node after infer.
ResizeRule resize_rule(const NodeRef& node) {
  const Attributes &attrs = node.attrs(), &facts = node.facts();
  ResizeRule r;
  r.mode = attrs.string("mode", "nearest");
  r.place = attrs.string("coordinate_transformation_mode", "half_pixel");
  r.rounding = attrs.string("nearest_mode", "round_prefer_floor");
  r.in = extents_of(node.shape(0));
  r.out = extents_of(node.output().shape);
  r.scales = facts.reals("scales");
  r.roi = facts.reals("roi");
  r.exact = facts.integer("exact_sizes", 0) != 0;
  r.exclude = attrs.integer("exclude_outside", 0) != 0;
  r.antialias = attrs.integer("antialias", 0) != 0;
  r.cubic_a = attrs.real("cubic_coeff_a", -0.75f);
  return r;
}

void reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape &x = args.in[0].mapping.shape(), &out = args.out[0].mapping.shape();
  const std::vector<AxisTaps> taps = resize_taps(resize_rule(args.node));
  const Ints strides = row_major_strides(x.extents());
  const bool nearest = args.node.attrs().string("mode", "nearest") == "nearest";
  const auto outside = static_cast<double>(args.node.attrs().real("extrapolation_value", 0));
  for_dtype(args.out[0].dtype, [&]<class T>() {
    Walk<1> walk(out.extents(), {row_major_strides(out.extents())});
    for (std::int64_t i = 0; i < out.elements(); ++i, walk.next()) {
      // The product of one tap an axis, for every combination of taps.
      double sum = 0;
      T copied{};
      bool inside = true;
      std::array<int, kMaxRank> tap{};
      for (bool more = true; more && inside;) {
        std::int64_t from = 0;
        double weight = 1;
        for (int k = 0; k < x.rank(); ++k) {
          const AxisTaps& t = taps[at(k)];
          const std::int64_t first = walk.index()[at(k)] * t.count;
          inside = inside && !t.outside[at(walk.index()[at(k)])];
          from += t.index[at(first + tap[at(k)])] * strides[at(k)];
          weight *= static_cast<double>(t.weight[at(first + tap[at(k)])]);
        }
        copied = args.input<T>(0)[from];
        if (!nearest) sum += weight * static_cast<double>(static_cast<Compute<T>>(copied));
        more = false;
        for (int k = x.rank(); k-- > 0 && !more;) {
          more = ++tap[at(k)] < taps[at(k)].count;
          if (!more) tap[at(k)] = 0;
        }
      }
      args.output<T>(0)[i] = !inside   ? element_cast<T>(outside)
                             : nearest ? copied
                                       : element_cast<T>(sum);
    }
  });
}

struct NearestParams : CopyParams {
  ResizeRule rule;

  void fields(Archive& a) {
    CopyParams::fields(a);
    a("rule", rule);
  }

  BoxCopy::IndexMap map(const BindArgs&) const {
    std::vector<Ints> index;
    for (std::size_t k = 0; k < rule.in.size(); ++k) index.push_back(axis_taps(rule, k).index);
    return [index = std::move(index)](int axis, std::int64_t x) { return index[at(axis)][at(x)]; };
  }
};

constexpr KernelDef kNearest = copy_row<NearestParams>("resize_nearest");

constexpr const KernelDef* kKernels[] = {&kNearest, &kResizeBlend};

/// With texels along an axis that is kept.
void offer_device_resize(const OfferRequest& request, const ResizeRule& rule,
                         std::vector<Offer>& out) {
  const Shape &x = request.node.shape(0), &y = request.node.output().shape;
  int axis = y.rank() - 1;
  if (y.rank() == 4 && keeps_axis(rule, 1)) axis = 1;  // as devices keep images
  while (axis >= 0 && !keeps_axis(rule, at(axis))) --axis;
  if (axis < 0) return;
  double taps = 1;
  for (std::size_t k = 0; k < rule.in.size(); ++k) taps *= count_taps(rule, k);
  DeviceOffer offer(request);
  offer.in(0, texels_along(x, axis));
  offer.out(texels_along(y, axis));
  offer.add(kResizeDevice, ResizeDeviceParams{rule}, 2 * static_cast<double>(y.elements()) * taps,
            0.2, out);
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &y = node.output().shape;
  if (y.elements() == 0 || x.elements() == 0) return;
  const ResizeRule rule = resize_rule(node);
  if (extrapolates(rule)) return;
  if (request.target.device) offer_device_resize(request, rule, out);
  if (rule.mode == "nearest") {
    NearestParams params;
    params.rule = rule;
    return offer_copy(request, out, kNearest, params);
  }
  if (node.dtype(0) != DType::f32 || x.rank() < 2) return;
  const std::size_t h = at(x.rank()) - 2, w = h + 1;
  for (std::size_t k = 0; k < h; ++k) {
    if (!keeps_axis(rule, k)) return;
  }
  const int y_taps = count_taps(rule, h), x_taps = count_taps(rule, w);
  if (y_taps > kMostBlendTaps) return;
  for (const Layout& layout : position_layouts(request)) {
    BlendParams params;
    params.rule = rule;
    params.to = Mapping(layout, y, sizeof(float));
    params.from = Mapping(same_position_layout(y, x, layout), x, sizeof(float));
    params.workers = request.target.threads == 1 ? 1 : 4 * request.target.threads;
    const auto rows = blend_rows_of(params);
    if (!rows) continue;
    Offer offer;
    offer.in = {params.from.layout()};
    offer.out = {layout};
    offer.flops = 2 * static_cast<double>(y.elements()) * (x_taps + y_taps);
    offer.efficiency = rows->pixel >= 4 ? 0.2 : 0.02;
    offer.scratch_bytes = at(params.workers * rows->scratch_floats) * sizeof(float);
    offer.call = {kResizeBlend, std::move(params)};
    out.push_back(std::move(offer));
  }
}

constexpr ForeignName kAliases[] = {{"onnx", "Resize", import_resize},
                                    {"onnx", "Upsample", import_upsample},
                                    {"tflite", "RESIZE_BILINEAR", import_bilinear},
                                    {"tflite", "RESIZE_NEAREST_NEIGHBOR", import_nearest},
                                    {"ncnn", "Interp", ncnn::interp}};

constexpr Parameter kParameters[] = {{1, "roi"}, {2, "scales"}, {3, "sizes"}};

constexpr OpDef kResize[] = {{.name = "resize",
                              .aliases = kAliases,
                              .category = Category::fixed,
                              .mace = "ResizeBilinear",
                              .infer = infer,
                              .parameters = kParameters,
                              .reference = reference,
                              .offers = offers,
                              .kernels = kKernels,
                              .device_kernels = kResizeDeviceKernels,
                              .axes = link_images}};

}  // namespace

extern const std::span<const OpDef> ops_resize;
const std::span<const OpDef> ops_resize = kResize;

}  // namespace stowage
