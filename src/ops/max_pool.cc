// SPDX-License-Identifier: Apache-2.0
// Max pooling over windows, or over everything (attribute global). The optional output 1 holds
// where in the input each maximum was.
#include <limits>

#include "base/text.h"
#include "graph/import_rule.h"
#include "graph/op_def.h"
#include "kernels/window/pool_device.h"
#include "ops/conv/pool.h"
#include "ops/ncnn/rules.h"

namespace stowage {

namespace {

void infer(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::i8, DType::u8});
  if (node.attrs().integer("storage_order", 0) >> 1 != 0) {
    fail(ErrorCode::bad_input, "storage_order is ", node.attrs().integer("storage_order", 0),
         "; 0 and 1 are known");
  }
  const Ints extents = infer_pool(node);
  node.set_output(0, node.dtype(0), extents);
  if (node.has_output(1)) node.set_output(1, DType::i64, extents);
}

template <class T>
struct Best {
  T value = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                 : std::numeric_limits<T>::lowest();
  std::int64_t z = 0, y = 0, x = 0;
  bool found = false;
};

template <class T>
Best<T> best_of(const Window& w, const T* plane, std::int64_t oz, std::int64_t oy,
                std::int64_t ox) {
  Best<T> best;
  const TapRange zs = taps_inside(w, 0, oz), ys = taps_inside(w, 1, oy), xs = taps_inside(w, 2, ox);
  for (std::int64_t kz = zs.begin; kz < zs.end; ++kz) {
    for (std::int64_t ky = ys.begin; ky < ys.end; ++ky) {
      for (std::int64_t kx = xs.begin; kx < xs.end; ++kx) {
        const std::int64_t z = oz * w.stride[0] - w.pad_begin[0] + kz * w.dilation[0];
        const std::int64_t y = oy * w.stride[1] - w.pad_begin[1] + ky * w.dilation[1];
        const std::int64_t x = ox * w.stride[2] - w.pad_begin[2] + kx * w.dilation[2];
        const T v = plane[(z * w.in[1] + y) * w.in[2] + x];
        // As numpy: the first NaN is the maximum.
        const bool nan = best.value != best.value;
        if (!best.found || (!nan && (v > best.value || v != v))) best = {v, z, y, x, true};
      }
    }
  }
  return best;
}

template <class T>
void reference_as(const ReferenceArgs& args) {
  const Shape& s = args.out[0].mapping.shape();
  const Window w = pool_window(args.node);
  const bool columns = args.node.attrs().integer("storage_order", 0) == 1;
  const T* x = args.input<T>(0);
  T* out = args.output<T>(0);
  auto* indices = args.out.size() > 1 ? args.output<std::int64_t>(1) : nullptr;
  for (std::int64_t plane = 0; plane < s[0] * s[1]; ++plane) {
    for (std::int64_t oz = 0; oz < w.out[0]; ++oz) {
      for (std::int64_t oy = 0; oy < w.out[1]; ++oy) {
        for (std::int64_t ox = 0; ox < w.out[2]; ++ox) {
          const Best<T> b = best_of(w, x + plane * w.in_pixels(), oz, oy, ox);
          *out++ = b.value;
          if (indices == nullptr) continue;
          const std::int64_t at = columns ? (b.x * w.in[1] + b.y) * w.in[0] + b.z
                                          : (b.z * w.in[1] + b.y) * w.in[2] + b.x;
          *indices++ = plane * w.in_pixels() + at;
        }
      }
    }
  }
}

void reference(const ReferenceArgs& args) {
  switch (args.node.dtype(0)) {
    case DType::f64:
      reference_as<double>(args);
      break;
    case DType::i8:
      reference_as<std::int8_t>(args);
      break;
    case DType::u8:
      reference_as<std::uint8_t>(args);
      break;
    default:
      reference_as<float>(args);
      break;
  }
}

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  if (!request.node.has_output(1)) offer_pool(request, Slide::Kind::max, out);
}

void import_pool_2d(ImportNode& node) {
  node.expect(1, 1);
  node.out_image(node.emit("max_pool", {node.image(0)}, node.attrs));
}

constexpr ForeignName kNames[] = {{"onnx", "MaxPool"},
                                  {"onnx", "GlobalMaxPool", make_global},
                                  {"tflite", "MAX_POOL_2D", import_pool_2d},
                                  {"ncnn", "Pooling", ncnn::pooling},
                                  {"ncnn", "Pooling1D", ncnn::pooling_1d}};

constexpr const KernelDef* kKernels[] = {&kMaxPool[0], &kMaxPool[1]};

constexpr OpDef kOps[] = {{
    .name = "max_pool",
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

extern const std::span<const OpDef> ops_max_pool;
const std::span<const OpDef> ops_max_pool = kOps;

}  // namespace stowage
