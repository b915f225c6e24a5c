// SPDX-License-Identifier: Apache-2.0
// Average pooling over windows, or over everything (attribute global).
#include <algorithm>

#include "graph/import_rule.h"
#include "graph/op_def.h"
#include "kernels/window/pool_device.h"
#include "ops/conv/pool.h"

namespace stowage {

namespace {

void infer(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.expect_dtype(0, {DType::f32, DType::f64});
  const Ints extents = infer_pool(node);
  node.set_output(0, node.dtype(0), extents);
}

template <class T>
double sum_of(const Window& w, const T* plane, std::int64_t oz, std::int64_t oy, std::int64_t ox) {
  double sum = 0;
  const TapRange zs = taps_inside(w, 0, oz), ys = taps_inside(w, 1, oy), xs = taps_inside(w, 2, ox);
  for (std::int64_t kz = zs.begin; kz < zs.end; ++kz) {
    for (std::int64_t ky = ys.begin; ky < ys.end; ++ky) {
      for (std::int64_t kx = xs.begin; kx < xs.end; ++kx) {
        const std::int64_t z = oz * w.stride[0] - w.pad_begin[0] + kz * w.dilation[0];
        const std::int64_t y = oy * w.stride[1] - w.pad_begin[1] + ky * w.dilation[1];
        const std::int64_t x = ox * w.stride[2] - w.pad_begin[2] + kx * w.dilation[2];
        sum += static_cast<double>(plane[(z * w.in[1] + y) * w.in[2] + x]);
      }
    }
  }
  return sum;
}

template <class T>
void reference_as(const ReferenceArgs& args) {
  const Shape& s = args.out[0].mapping.shape();
  const Window w = pool_window(args.node);
  const bool count_padding = args.node.attrs().integer("count_include_pad", 0) != 0;
  const auto cz = count_taps(w, 0, count_padding), cy = count_taps(w, 1, count_padding),
             cx = count_taps(w, 2, count_padding);
  const T* x = args.input<T>(0);
  T* out = args.output<T>(0);
  for (std::int64_t plane = 0; plane < s[0] * s[1]; ++plane) {
    for (std::int64_t oz = 0; oz < w.out[0]; ++oz) {
      for (std::int64_t oy = 0; oy < w.out[1]; ++oy) {
        for (std::int64_t ox = 0; ox < w.out[2]; ++ox) {
          const double count = static_cast<double>(cz[static_cast<std::size_t>(oz)]) *
                               static_cast<double>(cy[static_cast<std::size_t>(oy)]) *
                               static_cast<double>(cx[static_cast<std::size_t>(ox)]);
          *out++ = static_cast<T>(sum_of(w, x + plane * w.in_pixels(), oz, oy, ox) /
                                  std::max(count, 1.0));
        }
      }
    }
  }
}

void reference(const ReferenceArgs& args) {
  if (args.node.dtype(0) == DType::f64) {
    reference_as<double>(args);
  } else {
    reference_as<float>(args);
  }
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  offer_pool(request, Slide::Kind::average, out);
}

void import_pool_2d(ImportNode& node) {
  node.expect(1, 1);
  node.out_image(node.emit("average_pool", {node.image(0)}, node.attrs));
}

constexpr ForeignName kNames[] = {{"onnx", "AveragePool"},
                                  {"onnx", "GlobalAveragePool", make_global},
                                  {"tflite", "AVERAGE_POOL_2D", import_pool_2d}};

constexpr const KernelDef* kKernels[] = {&kAveragePool[0], &kAveragePool[1]};

constexpr OpDef kOps[] = {{
    .name = "average_pool",
    .aliases = kNames,
    .category = Category::fixed,
    .mace = "Pooling",
    .infer = infer,
    .reference = reference,
    .offers = offers,
    .kernels = kKernels,
    .device_kernels = kPoolDeviceKernels,
    .axes = pool_axes,
}};

}  // namespace

extern const std::span<const OpDef> ops_average_pool;
const std::span<const OpDef> ops_average_pool = kOps;

}  // namespace stowage
