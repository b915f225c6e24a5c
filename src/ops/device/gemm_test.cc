// SPDX-License-Identifier: Apache-2.0
// Matrix products on a device.
#include <optional>

#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

struct Case {
  std::int64_t m, n, k;
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 1;
  std::optional<Ints> c = {};
  bool constant = true;
};

OpCase op_case(const Case& c) {
  OpCase o;
  o.op = "gemm";
  o.attrs = {{"transA", std::int64_t{c.trans_a}},
             {"transB", std::int64_t{c.trans_b}},
             {"alpha", c.alpha},
             {"beta", c.beta}};
  In a, b;
  a.extents = c.trans_a ? Ints{c.k, c.m} : Ints{c.m, c.k};
  b.extents = c.trans_b ? Ints{c.n, c.k} : Ints{c.k, c.n};
  b.constant = c.constant;
  o.inputs = {a, b};
  if (c.c) {
    In in;
    in.extents = *c.c;
    in.constant = c.constant;
    o.inputs.push_back(in);
  }
  o.rtol = o.atol = 1e-4;
  return o;
}

void check(std::span<const Case> cases, bool half) {
  for (const Case& c : cases) {
    SCOPED_TRACE(text(c.m, " x ", c.n, " x ", c.k));
    check_device(op_case(c), "cl_gemm", half);
  }
}

TEST(DeviceGemm, EdgesOfTexels) {
  std::vector<Case> cases;
  for (const std::int64_t c : {1, 2, 3, 4, 5, 8, 9, 17, 33}) {
    cases.push_back({3, c, 7, false, false, 0.5f, 2, Ints{c}});
    cases.push_back({2, 5, c, false, false, 1, 1, Ints{5}});
  }
  check(cases, true);
}

TEST(DeviceGemm, TransposesAndWhatIsAdded) {
  const Case cases[] = {
      {1, 1, 1},
      {5, 17, 9, true, false},
      {7, 33, 20, false, true, 1, 1, Ints{1, 33}},
      {6, 10, 7, true, true, 1, 0.25f, Ints{6, 10}, false},
      {3, 5, 7, false, false, 1, 1, Ints{3, 1}},
      {4, 18, 7, false, false, 1, 1, Ints{}},
      {4, 18, 7, false, false, 0, 0, Ints{1}},
  };
  check(cases, false);
}

TEST(DeviceGemm, RowsOfAnItem) {
  const Case cases[] = {{257, 1030, 3}, {1026, 258, 5, false, true, 2, 1, Ints{258}}};
  check(cases, false);
}

TEST(DeviceGemm, LongSums) {
  const Case cases[] = {{1, 10, 256, false, true, 1, 1, Ints{10}},
                        {3, 71, 1023, false, true, 0.5f, 2, Ints{71}},
                        {2, 33, 259, false, true, 1, 1, Ints{33}},
                        {2, 31, 301, false, true, 1, 1, Ints{31}},
                        {7, 515, 1023},
                        {10, 517, 512, true, false, 1, 1, Ints{10, 1}}};
  check(cases, true);
}

/// Few lists: each is a program of its own.
TEST(DeviceGemm, Posts) {
  for (const bool is_long : {false, true}) {
    Case shape{3, 19, is_long ? 300 : 8};
    shape.c = Ints{19};
    const auto cases = op_test::with_post_lists(op_case(shape), {3, 19}, {1, 19});
    for (const std::size_t i : {std::size_t{5}, std::size_t{8}, std::size_t{12}}) {
      if (is_long && i != 8) continue;
      SCOPED_TRACE(text_of(cases[i].posts));
      check_device(cases[i], "cl_gemm", is_long);
    }
  }
}

/// Only the row that has a NaN has one in the result, and neighbours behind an edge do not count.
TEST(DeviceGemm, KeepsNaNInItsRow) {
  std::vector<float> a(3 * 5, 1.0f), b(5 * 6, 2.0f);
  a[5 + 4] = NAN;
  b[2] = INFINITY;
  OpCase c;
  c.op = "gemm";
  c.inputs = {In::of(op_test::floats_tensor({3, 5}, a), false),
              In::of(op_test::floats_tensor({5, 6}, b))};
  check_device(c, "cl_gemm");
}

}  // namespace
}  // namespace stowage
