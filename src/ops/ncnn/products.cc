// SPDX-License-Identifier: Apache-2.0
// ncnn's InnerProduct, Gemm, MatMul and Embed.
#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

std::int64_t elements_of(const Ints& dims) {
  return product(dims, 0, static_cast<int>(dims.size()));
}

/// A dynamic operand of Gemm as a matrix: of three dims the middle one is 1.
ValueId matrix(ImportNode& node, ValueId v) {
  Ints dims = dims_of(node.shape(v));
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  if (dims.size() == 3 && dims[1] == 1) dims.erase(dims.begin() + 1);
  if (dims.size() != 2) fail(ErrorCode::bad_input, "an operand of ", dims.size(), " dims");
  return node.reshape(v, dims);
}

/// C as it stretches to m x n: a vector of m elements goes along the rows.
ValueId addend(ImportNode& node, ValueId c, std::int64_t m) {
  const Ints dims = dims_of(node.shape(c));
  const std::int64_t elements = elements_of(dims);
  if (dims.size() == 1)
    return node.reshape(c, elements == m && m != 1 ? Ints{m, 1} : Ints{1, elements});
  return matrix(node, c);
}

}  // namespace

void inner_product(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const ValueId w = node.weight(0);
  const Ints dims = dims_of(node.shape(node.in(0)));
  const std::int64_t out = node.shape(w)[0], in = node.shape(w)[1];
  const bool rows = dims.size() == 2 && dims[1] == in;
  const std::int64_t count = rows ? dims[0] : 1;
  std::vector<ValueId> operands = {node.reshape(node.in(0), {count, rows ? in : elements_of(dims)}),
                                   w};
  if (node.weight_count() > 1) operands.push_back(node.weight(1));
  const ValueId y = activate(node, p, node.emit("gemm", operands, {{"transB", std::int64_t{1}}}));
  node.out(as_blob(node, y, rows ? Ints{count, out} : Ints{out}));
}

/// y = alpha * (A * B + beta * C)
void gemm(ImportNode& node) {
  const NcnnParams p(node.attrs);
  int next = 0, weight = 0;
  const auto operand = [&](bool constant) {
    return constant ? node.weight(weight++) : node.in(next++);
  };
  const bool no_c =
      p.flag(6) ? p.integer(10, 0) == -1 : node.input_count() < 3 - p.flag(4) - p.flag(5);
  node.expect(2 - p.flag(4) - p.flag(5), 3 - p.flag(4) - p.flag(5) - p.flag(6));
  const ValueId a = matrix(node, operand(p.flag(4))), b = matrix(node, operand(p.flag(5)));
  const std::int64_t m = node.shape(a)[p.flag(2) ? 1 : 0];
  const float alpha = p.real(0, 1), beta = p.real(1, 1);
  std::vector<ValueId> operands = {a, b};
  if (!no_c) {
    ValueId c = operand(p.flag(6));
    // A constant vector goes along the rows; one that is computed along the columns if it can.
    const std::int64_t n = node.shape(b)[p.flag(3) ? 0 : 1];
    const Ints dims = dims_of(node.shape(c));
    const bool columns = !p.flag(6) && dims.size() == 1 && dims[0] == n;
    c = columns ? node.reshape(c, {1, n}) : addend(node, c, m);
    operands.push_back(c);
  }
  ValueId y = node.emit("gemm", operands,
                        {{"transA", std::int64_t{p.flag(2)}},
                         {"transB", std::int64_t{p.flag(3)}},
                         {"alpha", alpha},
                         {"beta", alpha * beta}});
  if (p.flag(14)) y = node.emit("transpose", {y}, {{"perm", Ints{1, 0}}});
  const Ints dims = extents_of(node.shape(y));
  node.out(as_blob(node, y, p.flag(11) ? Ints{dims[0], 1, dims[1]} : dims));
}

/// numpy's rules, over dims without the batch.
void matmul(ImportNode& node) {
  node.expect(2, 2);
  const NcnnParams p(node.attrs);
  const ValueId a = as_array(node, node.in(0));
  ValueId b = as_array(node, node.in(1));
  const int rank = node.shape(b).rank();
  if (p.flag(0) && rank > 1) {
    Ints perm;
    for (int i = 0; i < rank; ++i) perm.push_back(i);
    std::swap(perm[at(rank - 1)], perm[at(rank - 2)]);
    b = node.emit("transpose", {b}, {{"perm", perm}});
  }
  const ValueId y = node.emit("matmul", {a, b});
  node.out(as_blob(node, y, extents_of(node.shape(y))));
}

/// Words are numbers of rows, the first or the last where there is none; a float input holds whole
/// numbers.
void embed(ImportNode& node) {
  node.expect(1, 1);
  ValueId words = node.in(0);
  const ValueId rows = node.weight(0);
  if (node.value(words).dtype != DType::i32) {
    const auto last = static_cast<float>(node.shape(rows)[0] - 1);
    words = node.emit("clip", {words}, {{"min", 0.0f}, {"max", last}});
    words = node.emit("cast", {words}, {{"to", std::string("i32")}});
  }
  words = node.reshape(words, {node.shape(words).elements()});
  ValueId y = node.emit("gather", {rows, words}, {{"axis", std::int64_t{0}}});
  if (node.weight_count() > 1) y = node.emit("add", {y, node.weight(1)});
  node.out(y);
}

}  // namespace stowage::ncnn
