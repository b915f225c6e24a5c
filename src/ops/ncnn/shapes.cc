// SPDX-License-Identifier: Apache-2.0
// ncnn's layers that move or rename elements: nothing is computed.
#include "ops/shapes.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/expression.h"
#include "ops/ncnn/rules.h"

namespace stowage::ncnn {

namespace {

/// w, h, d and c as parameters number them, outermost first.
constexpr int kC = 2, kD = 11, kH = 1, kW = 0;

/// The ids of the dims of a blob, outermost first.
std::vector<int> dim_ids(std::size_t dims) {
  if (dims == 4) return {kC, kD, kH, kW};
  if (dims == 3) return {kC, kH, kW};
  if (dims == 2) return {kH, kW};
  return {kW};
}

/// Which dims the parameters name: c implies h, d implies c, and each what is further inside.
std::size_t named_dims(const NcnnParams& p, std::int64_t absent) {
  const auto said = [&](int id) { return p.integer(id, absent) != absent; };
  return said(kD) ? 4 : said(kC) ? 3 : said(kH) ? 2 : said(kW) ? 1 : 0;
}

/// The orders of Permute, innermost first, by the number of dims.
std::span<const std::string_view> orders(std::size_t dims) {
  static constexpr std::string_view kTwo[] = {"wh", "hw"};
  static constexpr std::string_view kThree[] = {"whc", "hwc", "wch", "cwh", "hcw", "chw"};
  static constexpr std::string_view kFour[] = {"whdc", "hwdc", "wdhc", "dwhc", "hdwc", "dhwc",
                                               "whcd", "hwcd", "wchd", "cwhd", "hcwd", "chwd",
                                               "wdch", "dwch", "wcdh", "cwdh", "dcwh", "cdwh",
                                               "hdcw", "dhcw", "hcdw", "chdw", "dchw", "cdhw"};
  if (dims == 2) return kTwo;
  if (dims == 3) return kThree;
  if (dims == 4) return kFour;
  return {};
}

}  // namespace

/// Fan-out: every output is the input.
void split(ImportNode& node) {
  node.expect(1, 1, node.output_count());
  for (int i = 0; i < node.output_count(); ++i) node.out(i, node.in(0));
}

/// Inputs beyond the outputs are what somebody wants to look at (ncnn_outputs).
void noop(ImportNode& node) {
  node.expect(node.output_count(), kAnyNumber, node.output_count());
  for (int i = 0; i < node.output_count(); ++i) node.out(i, node.in(i));
}

namespace {

/// As the parameters or an expression say, outermost first: 0 is the input's extent of the same
/// name, -1 what is left.
Ints said_extents(ImportNode& node, const NcnnParams& p) {
  if (p.has(6)) {
    Ints said = evaluate(node, p, 6);  // w h c, or w h d c
    if (said.size() > kMostDims) fail(ErrorCode::bad_input, "it names ", said.size(), " extents");
    std::ranges::reverse(said);
    return said;
  }
  Ints said;
  for (const int id : dim_ids(named_dims(p, NcnnParams::kNone))) {
    said.push_back(p.integer(id, NcnnParams::kNone));
  }
  if (named_dims(p, NcnnParams::kNone) == 0) fail(ErrorCode::bad_input, "it names no extent");
  return said;
}

}  // namespace

/// Inputs behind the first are looked at by an expression.
void reshape(ImportNode& node) {
  const NcnnParams p(node.attrs);
  node.expect(1, p.has(6) ? kAnyNumber : 1);
  const ValueId x = node.in(0);
  const Sizes sizes = sizes_of(node.shape(x));
  const std::int64_t elements = node.shape(x).elements();
  Ints dims = said_extents(node, p);
  const std::vector<int> ids = dim_ids(dims.size());
  int free = -1;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t& e = dims[i];
    const int id = ids[i];
    if (e == 0) e = id == kW ? sizes.w : id == kH ? sizes.h : id == kD ? sizes.d : sizes.c;
    if (e == -1) {
      if (free >= 0) fail(ErrorCode::bad_input, "it leaves two extents open");
      free = static_cast<int>(i);
    } else if (e < 0) {
      fail(ErrorCode::bad_input, "an extent of it is ", e);
    } else {
      known = checked_mul(known, e);
    }
  }
  if (free >= 0) {
    if (known == 0 || elements % known != 0) {
      fail(ErrorCode::bad_input, elements, " elements do not fit to the extents ", std::span(dims));
    }
    dims[at(free)] = elements / known;
  }
  node.out(as_blob(node, x, dims));
}

void flatten(ImportNode& node) {
  node.expect(1, 1);
  node.out(node.reshape(node.in(0), {node.shape(node.in(0)).elements()}));
}

/// Dims of 1 among those that are named go.
void squeeze(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const Ints dims = dims_of(node.shape(node.in(0)));
  const int count = static_cast<int>(dims.size());
  Ints named;
  for (const std::int64_t axis : p.integers(3)) named.push_back(normal_axis(axis, count));
  const std::vector<int> ids = dim_ids(dims.size());
  Ints out;
  for (int i = 0; i < count; ++i) {
    const bool goes = p.has(3) ? std::ranges::count(named, i) > 0 : p.flag(ids[at(i)]);
    if (!goes || dims[at(i)] != 1) out.push_back(dims[at(i)]);
  }
  node.out(as_blob(node, node.in(0), out));
}

void expand_dims(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const Ints axes = p.integers(3);
  if (axes.empty()) fail(ErrorCode::bad_input, "it names no axes");
  if (axes.size() > kMostDims) fail(ErrorCode::bad_input, "it adds ", axes.size(), " dims");
  const Ints dims = dims_of(node.shape(node.in(0)));
  const int count = static_cast<int>(dims.size() + axes.size());
  const Ints added = normal_axes(axes, count);
  Ints out;
  for (int i = 0, k = 0; i < count; ++i) {
    out.push_back(std::ranges::binary_search(added, i) ? 1 : dims[at(k++)]);
  }
  node.out(as_blob(node, node.in(0), out));
}

void permute(ImportNode& node) {
  node.expect(1, 1);
  const ValueId x = node.in(0);
  const std::size_t dims = dims_of(node.shape(x)).size();
  const std::int64_t order = NcnnParams(node.attrs).integer(0, 0);
  const auto all = orders(dims);
  if (order == 0) return node.out(x);
  if (order < 0 || order >= std::ssize(all)) {
    fail(ErrorCode::bad_input, "there is no order ", order, " of ", dims, " dims");
  }
  const std::string_view plain = all[0], wanted = all[at(order)];
  const std::int64_t batch = node.shape(x).rank() - std::ssize(plain);
  Ints perm;
  if (batch > 0) perm.push_back(0);
  for (std::size_t i = wanted.size(); i-- > 0;) {
    perm.push_back(batch + std::ssize(plain) - 1 -
                   static_cast<std::int64_t>(plain.find(wanted[i])));
  }
  node.out(node.emit("transpose", {x}, {{"perm", perm}}));
}

/// Channel j of group i becomes channel i of group j.
void shuffle_channel(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const ValueId x = node.in(0);
  const Ints whole = extents_of(node.shape(x));
  if (whole.size() < 4) fail(ErrorCode::bad_input, "its input has no channels");
  const std::int64_t group = p.count(0, 1, 1), channels = whole[1];
  if (channels % group != 0)
    fail(ErrorCode::bad_input, group, " groups of ", channels, " channels");
  const std::int64_t first = p.flag(1) ? channels / group : group;
  if (first == 0) return node.out(x);
  Ints split = whole, perm = {0, 2, 1};
  split[1] = channels / first;
  split.insert(split.begin() + 1, first);
  for (std::size_t i = 3; i < split.size(); ++i) perm.push_back(static_cast<std::int64_t>(i));
  node.out(node.reshape(node.emit("transpose", {node.reshape(x, split)}, {{"perm", perm}}), whole));
}

void memory_data(ImportNode& node) {
  node.expect(0, 0);
  const ValueId v = node.weight(0);
  node.out(as_blob(node, v, extents_of(node.shape(v))));
}

}  // namespace stowage::ncnn
