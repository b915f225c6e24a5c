// SPDX-License-Identifier: Apache-2.0
// ncnn's layers of detectors. PriorBox depends on nothing but shapes: it is a constant.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

struct Prior {
  float width, height;  ///< half of it, in the units of the result
};

/// Where the boxes lie: around the pixels of a feature map.
struct PriorGrid {
  std::int64_t w, h;
  float offset, step_w, step_h;  ///< in the units of the result
  bool clip;
};

/// Left, top, right, bottom of each prior around each pixel.
std::vector<float> boxes(const PriorGrid& grid, const std::vector<Prior>& priors) {
  const std::int64_t count =
      checked_mul(checked_mul(grid.w, grid.h), 4 * static_cast<std::int64_t>(priors.size()));
  if (count > (std::int64_t{1} << 22)) fail(ErrorCode::limit, "it makes ", count / 4, " boxes");
  std::vector<float> out;
  out.reserve(at(count));
  for (std::int64_t i = 0; i < grid.h; ++i) {
    const float y = (grid.offset + static_cast<float>(i)) * grid.step_h;
    for (std::int64_t j = 0; j < grid.w; ++j) {
      const float x = (grid.offset + static_cast<float>(j)) * grid.step_w;
      for (const Prior& p : priors) {
        for (const float v : {x - p.width, y - p.height, x + p.width, y + p.height}) {
          out.push_back(grid.clip ? std::clamp(v, 0.0f, 1.0f) : v);
        }
      }
    }
  }
  return out;
}

/// Caffe's priors: for each least size a square, a larger one, and one for each aspect ratio.
std::vector<Prior> caffe_priors(const NcnnParams& p, float image_w, float image_h) {
  const Floats least = p.reals(0), most = p.reals(1), ratios = p.reals(2);
  if (!most.empty() && most.size() != least.size()) {
    fail(ErrorCode::bad_input, least.size(), " least sizes and ", most.size(), " largest ones");
  }
  constexpr std::int64_t kMostPriors = 1 << 20;
  if (checked_mul(std::ssize(least), 2 + 2 * std::ssize(ratios)) > kMostPriors) {
    fail(ErrorCode::limit, "it names ", least.size(), " sizes and ", ratios.size(), " ratios");
  }
  std::vector<Prior> out;
  const auto add = [&](float w, float h) { out.push_back({w / 2 / image_w, h / 2 / image_h}); };
  for (std::size_t k = 0; k < least.size(); ++k) {
    add(least[k], least[k]);
    if (!most.empty()) add(std::sqrt(least[k] * most[k]), std::sqrt(least[k] * most[k]));
    for (const float ratio : ratios) {
      const float root = std::sqrt(ratio);
      add(least[k] * root, least[k] / root);
      if (p.flag(7, true)) add(least[k] / root, least[k] * root);
    }
  }
  return out;
}

/// MXNet's: every size as a square, then the first size in every further aspect ratio.
std::vector<Prior> mxnet_priors(const NcnnParams& p, float aspect) {
  const Floats sizes = p.reals(0), ratios = p.reals(2);
  std::vector<Prior> out;
  for (const float size : sizes) out.push_back({size * aspect / 2, size / 2});
  for (std::size_t i = 1; i < ratios.size() && !sizes.empty(); ++i) {
    const float root = std::sqrt(ratios[i]);
    out.push_back({sizes[0] * aspect * root / 2, sizes[0] / root / 2});
  }
  return out;
}

}  // namespace

void prior_box(ImportNode& node) {
  node.expect(1, 2);
  const NcnnParams p(node.attrs);
  constexpr auto kUnsaid = static_cast<float>(NcnnParams::kNone);
  const Sizes map = sizes_of(node.shape(node.in(0)));
  const auto w = static_cast<float>(map.w), h = static_cast<float>(map.h);
  const std::int64_t said_w = p.integer(9, NcnnParams::kNone);
  const std::int64_t said_h = p.integer(10, NcnnParams::kNone);
  const bool relative = node.input_count() == 1 && said_w == NcnnParams::kNone &&
                        said_h == NcnnParams::kNone && p.reals(1).empty();
  float image_w = 1, image_h = 1;
  if (!relative) {
    const Sizes image = node.has(1) ? sizes_of(node.shape(node.in(1))) : Sizes();
    image_w = static_cast<float>(said_w == NcnnParams::kNone ? image.w : said_w);
    image_h = static_cast<float>(said_h == NcnnParams::kNone ? image.h : said_h);
    if (!(image_w > 0 && image_h > 0)) {
      fail(ErrorCode::bad_input, "its picture is ", image_w, " by ", image_h);
    }
  }
  const auto step = [&](int id, float size, float pixels) {
    const float said = p.real(id, kUnsaid);
    return said == kUnsaid ? 1 / pixels : said / size;
  };
  const PriorGrid grid = {
      map.w, map.h, p.real(13, 0), step(11, image_w, w), step(12, image_h, h), p.flag(8)};
  const std::vector<Prior> priors =
      relative ? mxnet_priors(p, h / w) : caffe_priors(p, image_w, image_h);
  if (priors.empty()) fail(ErrorCode::bad_input, "it names no sizes");
  std::vector<float> data = boxes(grid, priors);
  const std::int64_t count = std::ssize(data);
  if (!relative) {  // a row of variances below
    const float variances[] = {p.real(3, 0.1f), p.real(4, 0.1f), p.real(5, 0.2f), p.real(6, 0.2f)};
    for (std::int64_t i = 0; i < count; ++i) data.push_back(variances[i % 4]);
  }
  Tensor t(DType::f32, relative ? Shape("a", {count}) : Shape("ab", {2, count}));
  std::ranges::copy(data, t.as<float>().begin());
  node.out(node.constant(std::move(t)));
}

/// Offsets, scores, priors. MXNet's style: the number of classes is that of the scores' rows, which
/// lie class by class, and the variances are parameters.
void detection_output(ImportNode& node) {
  node.expect(3, 3);
  const NcnnParams p(node.attrs);
  const std::int64_t said = p.integer(0, 0);
  const bool mxnet = said == NcnnParams::kNone;
  Attributes attrs;
  attrs.set("classes", mxnet ? sizes_of(node.shape(node.in(1))).h : said);
  attrs.set("overlap", p.real(1, 0.05f));
  attrs.set("candidates", p.count(2, 300));
  attrs.set("keep", p.count(3, 100));
  attrs.set("confidence", p.real(4, 0.5f));
  if (mxnet) {
    attrs.set("class_major", std::int64_t{1});
    attrs.set("variances",
              Floats{p.real(5, 0.1f), p.real(6, 0.1f), p.real(7, 0.2f), p.real(8, 0.2f)});
  }
  node.out(node.emit("ssd_detections", node.all_inputs(), attrs));
}

namespace {

Attributes yolo_attributes(const NcnnParams& p) {
  Attributes attrs;
  attrs.set("classes", p.count(0, 20));
  attrs.set("boxes", p.count(1, 5));
  attrs.set("confidence", p.real(2, 0.01f));
  attrs.set("overlap", p.real(3, 0.45f));
  attrs.set("anchors", p.reals(4));
  return attrs;
}

}  // namespace

void yolo_detection_output(ImportNode& node) {
  node.expect(1, kAnyNumber);
  node.out(
      node.emit("yolo_detections", node.all_inputs(), yolo_attributes(NcnnParams(node.attrs))));
}

void yolov3_detection_output(ImportNode& node) {
  node.expect(1, kAnyNumber);
  const NcnnParams p(node.attrs);
  Attributes attrs = yolo_attributes(p);
  Ints mask;
  for (const float v : p.reals(5)) {
    if (!(v >= 0 && v < 0x1p20f)) fail(ErrorCode::bad_input, "its mask names the anchor ", v);
    mask.push_back(static_cast<std::int64_t>(v));
  }
  const Floats scales = p.reals(6);
  if (mask.empty() || scales.empty()) fail(ErrorCode::bad_input, "it has no mask or no scales");
  attrs.set("mask", mask);
  attrs.set("scales", scales);
  node.out(node.emit("yolo_detections", node.all_inputs(), attrs));
}

}  // namespace stowage::ncnn
