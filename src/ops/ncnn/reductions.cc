// SPDX-License-Identifier: Apache-2.0
// ncnn's Reduction, ArgMax and CumulativeSum.
#include <algorithm>

#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/refusals.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

/// A reduction of each element by itself.
ValueId of_one(ImportNode& node, std::string_view op) {
  const ValueId x = node.in(0);
  if (op == "reduce_l1" || op == "reduce_l2") return node.emit("abs", {x});
  if (op == "reduce_sum_square") return node.emit("mul", {x, x});
  if (op == "reduce_log_sum") return node.emit("log", {x});
  return x;
}

}  // namespace

void reduction(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  constexpr std::string_view kOps[] = {"reduce_sum",     "reduce_l1",         "reduce_sum_square",
                                       "reduce_mean",    "reduce_max",        "reduce_min",
                                       "reduce_prod",    "reduce_l1",         "reduce_l2",
                                       "reduce_log_sum", "reduce_log_sum_exp"};
  const std::int64_t kind = p.integer(0, 0);
  static_assert(std::ssize(kOps) == kReductions);
  const Shape blob = node.shape(node.in(0));
  const bool all = p.flag(1, true), keep = p.flag(4);
  const Ints said = all ? Ints() : p.integers(3);
  Ints axes;
  for (const std::int64_t axis : said) axes.push_back(blob_axis(blob, axis));
  // A vector has but one axis, whatever is said.
  if (all || blob.rank() == 1) {
    axes.clear();
    for (int i = blob.rank() > 2 ? 1 : 0; i < blob.rank(); ++i) axes.push_back(i);
  }
  axes = normal_axes(axes, blob.rank());
  ValueId y = axes.empty() ? of_one(node, kOps[kind])
                           : node.emit(kOps[kind], {node.in(0)},
                                       {{"axes", axes}, {"keepdims", std::int64_t{1}}});
  const float coefficient = p.real(2, 1);
  if (coefficient != 1) y = node.emit("mul", {y, node.constant(coefficient)});
  Ints dims;
  for (int i = blob.rank() > 2 ? 1 : 0; i < blob.rank(); ++i) {
    const bool gone = std::ranges::binary_search(axes, i);
    if (!gone || keep) dims.push_back(gone ? 1 : blob[i]);
  }
  node.out(as_blob(node, y, dims));
}

/// Where in the whole blob the largest element is, the last of equal ones, as a number.
void arg_max(ImportNode& node) {
  node.expect(1, 1);
  const ValueId flat = node.reshape(node.in(0), {node.shape(node.in(0)).elements()});
  const ValueId place = node.emit("arg_max", {flat},
                                  {{"axis", std::int64_t{0}},
                                   {"keepdims", std::int64_t{1}},
                                   {"select_last_index", std::int64_t{1}}});
  node.out(as_blob(node, node.emit("cast", {place}, {{"to", std::string("f32")}}), {1, 1}));
}

void cumulative_sum(ImportNode& node) {
  node.expect(1, 1);
  const int axis = blob_axis(node.shape(node.in(0)), NcnnParams(node.attrs).integer(0, 0));
  Tensor t(DType::i64, Shape());
  t.as<std::int64_t>()[0] = axis;
  node.out(node.emit("cum_sum", {node.in(0), node.constant(std::move(t))}));
}

}  // namespace stowage::ncnn
