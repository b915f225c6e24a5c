// SPDX-License-Identifier: Apache-2.0
// From what a detector computes to the boxes that it means. A result is [rows, 6]: label, score,
// left, top, right, bottom, the best first. How many there are only the data tells, so the rows are
// as many as there can be, and those that are left are zero: label 0 is the background.
//
// ssd_detections: offsets from prior boxes, one score a class and prior, and the priors. Liu et
// al., "SSD: Single Shot MultiBox Detector", 2016. yolo_detections: feature maps with boxes around
// anchors. Redmon and Farhadi, "YOLO9000", 2017, and "YOLOv3", 2018.
#include <cmath>
#include <limits>

#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

constexpr std::int64_t kColumns = 6;

struct Box {
  float score = 0, left = 0, top = 0, right = 0, bottom = 0;
  std::int64_t label = 0;

  float area() const { return (right - left) * (bottom - top); }
};

float intersection(const Box& a, const Box& b) {
  const float w = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float h = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  return w > 0 && h > 0 ? w * h : 0;
}

/// Scores that are no number come last.
void sort_best_first(std::vector<Box>& boxes) {
  std::ranges::stable_sort(boxes, [](const Box& a, const Box& b) {
    if (std::isnan(a.score) || std::isnan(b.score)) return !std::isnan(a.score);
    return a.score > b.score;
  });
}

/// Boxes that do not overlap a better one by more than `most` of their union.
std::vector<Box> without_overlaps(const std::vector<Box>& boxes, float most) {
  std::vector<Box> kept;
  for (const Box& box : boxes) {
    const bool hidden = std::ranges::any_of(kept, [&](const Box& better) {
      const float common = intersection(box, better);
      return common > most * (box.area() + better.area() - common);
    });
    if (!hidden) kept.push_back(box);
  }
  return kept;
}

void write(const ReferenceArgs& args, const std::vector<Box>& boxes) {
  const Shape& shape = args.out[0].mapping.shape();
  float* y = args.output<float>(0);
  std::fill_n(y, shape.elements(), 0.0f);
  for (const Box& box : boxes) {
    for (const float v :
         {static_cast<float>(box.label), box.score, box.left, box.top, box.right, box.bottom}) {
      *y++ = v;
    }
  }
}

float threshold(const NodeRef& node, std::string_view name) {
  const float v = node.attrs().real(name, 0);
  if (std::isnan(v)) fail(ErrorCode::bad_input, name, " is not a number");
  return v;
}

std::int64_t count(const NodeRef& node, std::string_view name, std::int64_t least) {
  const std::int64_t v = node.attrs().integer(name, 0);
  if (v < least) fail(ErrorCode::bad_input, name, " is ", v, "; at least ", least, " is needed");
  return v;
}

void infer_ssd(const InferRef& node) {
  node.expect_inputs(3, 3);
  for (const int i : {0, 1, 2}) node.expect_dtype(i, {DType::f32});
  threshold(node, "overlap");
  threshold(node, "confidence");
  const std::int64_t classes = count(node, "classes", 1), rows = count(node, "keep", 1);
  count(node, "candidates", 0);
  const bool own_variances = !node.attrs().has("variances");
  const std::int64_t elements = node.shape(2).elements();
  const std::int64_t priors = elements / (own_variances ? 8 : 4);
  const bool fits = elements == priors * (own_variances ? 8 : 4) &&
                    node.shape(0).elements() == checked_mul(priors, 4) &&
                    node.shape(1).elements() == checked_mul(priors, classes);
  if (!fits) {
    fail(ErrorCode::bad_input, "offsets ", node.shape(0).extents(), ", scores ",
         node.shape(1).extents(), " and priors ", node.shape(2).extents(), " do not fit for ",
         classes, " classes");
  }
  if (!own_variances && node.attrs().reals("variances").size() != 4) {
    fail(ErrorCode::bad_input, "there are ", node.attrs().reals("variances").size(),
         " variances, not 4");
  }
  // More than one box a class and prior there cannot be.
  const std::int64_t most = std::max<std::int64_t>(checked_mul(priors, classes), 1);
  node.set_output(0, DType::f32, {std::min(rows, most), kColumns});
}

/// Prior `i` moved and stretched as the offsets say.
Box placed(const float* offset, const float* prior, const float* variance) {
  const float w = prior[2] - prior[0], h = prior[3] - prior[1];
  const float x = variance[0] * offset[0] * w + (prior[0] + prior[2]) * 0.5f;
  const float y = variance[1] * offset[1] * h + (prior[1] + prior[3]) * 0.5f;
  const float half_w = std::exp(variance[2] * offset[2]) * w * 0.5f;
  const float half_h = std::exp(variance[3] * offset[3]) * h * 0.5f;
  return {0, x - half_w, y - half_h, x + half_w, y + half_h, 0};
}

void ssd_reference(const ReferenceArgs& args) {
  const NodeRef& node = args.node;
  const std::int64_t classes = count(node, "classes", 1);
  const std::int64_t priors = node.shape(0).elements() / 4;
  const Floats same = node.attrs().reals("variances");
  const bool class_major = node.attrs().integer("class_major", 0) != 0;
  const float least = threshold(node, "confidence"), overlap = threshold(node, "overlap");
  const float *offsets = args.input<float>(0), *scores = args.input<float>(1),
              *prior = args.input<float>(2);
  std::vector<Box> all;
  for (std::int64_t c = 1; c < classes; ++c) {  // class 0 is the background
    std::vector<Box> boxes;
    for (std::int64_t i = 0; i < priors; ++i) {
      const float score = scores[class_major ? c * priors + i : i * classes + c];
      if (!(score > least)) continue;
      const float* variance = same.empty() ? prior + 4 * (priors + i) : same.data();
      boxes.push_back(placed(offsets + 4 * i, prior + 4 * i, variance));
      boxes.back().score = score;
      boxes.back().label = c;
    }
    sort_best_first(boxes);
    const std::size_t most = at(count(node, "candidates", 0));
    if (boxes.size() > most) boxes.resize(most);
    const std::vector<Box> kept = without_overlaps(boxes, overlap);
    all.insert(all.end(), kept.begin(), kept.end());
  }
  sort_best_first(all);
  const auto rows = at(args.out[0].mapping.shape()[0]);
  if (all.size() > rows) all.resize(rows);
  write(args, all);
}

/// What the attributes come to.
struct Yolo {
  explicit Yolo(const NodeRef& node)
      : classes(count(node, "classes", 1)),
        boxes(count(node, "boxes", 1)),
        confidence(threshold(node, "confidence")),
        overlap(threshold(node, "overlap")),
        anchors(node.attrs().reals("anchors")),
        mask(node.attrs().integers("mask")),
        scales(node.attrs().reals("scales")) {}

  std::int64_t classes, boxes;
  float confidence, overlap;
  Floats anchors;  ///< width and height of each
  Ints mask;       ///< which of them the boxes of a map are; empty: the first ones
  /// Pixels of the picture in which anchors count, for one of a map; empty: they count in pixels
  /// of the map, and scores of classes are a softmax (YOLO9000).
  Floats scales;

  bool softmax() const { return scales.empty(); }

  std::int64_t anchor(std::int64_t map, std::int64_t box) const {
    return mask.empty() ? box : mask[at(map * boxes + box)];
  }
};

void infer_yolo(const InferRef& node) {
  node.expect_inputs(1, 1 << 10);
  const Yolo yolo(node);
  const std::int64_t maps = node.input_count();
  const std::int64_t masked = checked_mul(maps, yolo.boxes);
  if (!yolo.mask.empty() && std::ssize(yolo.mask) < masked) {
    fail(ErrorCode::bad_input, "the mask has ", yolo.mask.size(), " entries for ", masked,
         " boxes");
  }
  if (!yolo.softmax() && std::ssize(yolo.scales) < maps) {
    fail(ErrorCode::bad_input, "there are ", yolo.scales.size(), " scales for ", maps, " maps");
  }
  const std::int64_t anchors = std::ssize(yolo.anchors) / 2;
  const std::int64_t last =
      yolo.mask.empty() ? yolo.boxes - 1 : *std::ranges::max_element(yolo.mask);
  const std::int64_t first = yolo.mask.empty() ? 0 : *std::ranges::min_element(yolo.mask);
  if (first < 0 || last >= anchors) {
    fail(ErrorCode::bad_input, "a box has the anchor ", first < 0 ? first : last, " of ", anchors);
  }
  std::int64_t rows = 0;
  for (int i = 0; i < node.input_count(); ++i) {
    node.expect_dtype(i, {DType::f32});
    expect_rank(node, i, 4, 4);
    const Shape& x = node.shape(i);
    if (x[0] != 1 || x[1] != checked_mul(yolo.boxes, checked_add(yolo.classes, 5))) {
      fail(ErrorCode::bad_input, "map ", i, " of shape ", x.extents(), " is none of ", yolo.boxes,
           " boxes with ", yolo.classes, " classes");
    }
    rows = checked_add(rows, checked_mul(yolo.boxes, checked_mul(x[2], x[3])));
  }
  node.set_output(0, DType::f32, {rows, kColumns});
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

/// The best class of a box, and how sure the network is of it.
Box scored(const Yolo& yolo, const float* x, std::int64_t plane) {
  Box box;
  float best = -std::numeric_limits<float>::max();
  for (std::int64_t c = 0; c < yolo.classes; ++c) {
    const float score = x[(5 + c) * plane];
    if (score > best) {
      best = score;
      box.label = c + 1;
    }
  }
  const float object = x[4 * plane];
  if (!yolo.softmax()) {
    box.score = 1 / (1 + std::exp(-object) * (1 + std::exp(-best)));
    return box;
  }
  float sum = 0;
  for (std::int64_t c = 0; c < yolo.classes; ++c) sum += std::exp(x[(5 + c) * plane] - best);
  box.score = sigmoid(object) / sum;
  return box;
}

void yolo_reference(const ReferenceArgs& args) {
  const Yolo yolo(args.node);
  std::vector<Box> all;
  for (std::size_t map = 0; map < args.in.size(); ++map) {
    const Shape& shape = args.in[map].mapping.shape();
    const std::int64_t h = shape[2], w = shape[3], plane = h * w;
    const auto fw = static_cast<float>(w), fh = static_cast<float>(h);
    // The picture in the units of the anchors; ncnn counts whole pixels.
    const float net_w = yolo.softmax() ? fw : std::trunc(yolo.scales[map] * fw);
    const float net_h = yolo.softmax() ? fh : std::trunc(yolo.scales[map] * fh);
    for (std::int64_t b = 0; b < yolo.boxes; ++b) {
      const float* anchor = &yolo.anchors[at(2 * yolo.anchor(static_cast<std::int64_t>(map), b))];
      const float* x = args.input<float>(map) + b * (5 + yolo.classes) * plane;
      for (std::int64_t i = 0; i < plane; ++i, ++x) {
        Box box = scored(yolo, x, plane);
        if (!(box.score >= yolo.confidence)) continue;
        const float cx = (static_cast<float>(i % w) + sigmoid(x[0])) / fw;
        const float cy = (static_cast<float>(i / w) + sigmoid(x[plane])) / fh;
        const float half_w = std::exp(x[2 * plane]) * anchor[0] / net_w * 0.5f;
        const float half_h = std::exp(x[3 * plane]) * anchor[1] / net_h * 0.5f;
        box.left = cx - half_w;
        box.top = cy - half_h;
        box.right = cx + half_w;
        box.bottom = cy + half_h;
        all.push_back(box);
      }
    }
  }
  sort_best_first(all);
  write(args, without_overlaps(all, yolo.overlap));
}

constexpr OpDef kDetections[] = {
    {.name = "ssd_detections",
     .aliases = named<Ncnn<"DetectionOutput", ncnn::detection_output>>,
     .infer = infer_ssd,
     .reference = ssd_reference,
     .axes = link_nothing},
    {.name = "yolo_detections",
     .aliases = named<Ncnn<"YoloDetectionOutput", ncnn::yolo_detection_output>,
                      Ncnn<"Yolov3DetectionOutput", ncnn::yolov3_detection_output>>,
     .infer = infer_yolo,
     .reference = yolo_reference,
     .axes = link_nothing},
};

}  // namespace

extern const std::span<const OpDef> ops_detections;
const std::span<const OpDef> ops_detections = kDetections;

}  // namespace stowage
