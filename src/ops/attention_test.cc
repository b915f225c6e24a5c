// SPDX-License-Identifier: Apache-2.0
// Every offer of attention against the reference, and the checks of infer.
#include "kernels/gemm/tiles.h"
#include "ops/conv/test_util.h"

namespace stowage {
namespace {

using op_test::check_offers;
using op_test::error_code_of;
using op_test::for_each_target;
using op_test::In;
using op_test::OpCase;

struct Case {
  Ints q, k, v;
  Ints mask = {};  ///< none
  float scale = 1;
};

OpCase op_case(const Case& c) {
  OpCase o;
  o.op = "attention";
  o.attrs = {{"scale", c.scale}};
  for (const Ints& extents : {c.q, c.k, c.v, c.mask}) {
    if (!extents.empty()) o.inputs.push_back({.extents = extents});
  }
  o.rtol = 1e-4;
  o.atol = 1e-5;
  o.target_lanes = {tile_lanes()};
  return o;
}

TEST(Attention, EveryOfferMatchesTheReference) {
  const Case cases[] = {
      {{1, 1}, {1, 1}, {1, 1}},
      {{5, 3}, {3, 7}, {7, 2}},
      {{5, 3}, {3, 7}, {7, 2}, {7}},
      {{2, 9, 8}, {2, 8, 40}, {2, 40, 19}, {}, 0.25f},
      {{2, 9, 8}, {1, 8, 40}, {2, 40, 19}, {9, 40}, -0.5f},
      {{2, 9, 8}, {2, 8, 40}, {1, 40, 19}, {2, 1, 40}},
      {{2, 3, 17, 16}, {2, 3, 16, 33}, {2, 3, 33, 16}, {2, 1, 17, 33}, 0.25f},
      {{2, 3, 17, 16}, {1, 3, 16, 33}, {2, 1, 33, 16}, {3, 1, 33}},
      {{2, 3, 2, 5, 4}, {2, 3, 1, 4, 9}, {2, 3, 1, 9, 4}, {1, 2, 5, 9}, 0.5f},
      {{1, 2, 200, 8}, {1, 2, 8, 70}, {1, 2, 70, 8}},
      {{1, 1, 13, 4}, {1, 1, 4, 12000}, {1, 1, 12000, 3}},
  };
  for_each_target([&] {
    int i = 0;
    for (const Case& c : cases) {
      SCOPED_TRACE(text("case ", i++));
      OpCase o = op_case(c);
      // Heads between steps and features, as the transpose before attention has them.
      if (c.q.size() == 4) o.layouts = {"a c b d"};
      std::set<std::string> seen;
      EXPECT_GT(check_offers(o, &seen), c.q.size() == 4 ? 3 : 0);
    }
  });
}

TEST(Attention, EverySmallSize) {
  for (std::int64_t n = 1; n <= 33; ++n) {
    SCOPED_TRACE(n);
    EXPECT_GT(check_offers(op_case({{2, 34 - n, n}, {2, n, n}, {2, n, 34 - n}, {34 - n, n}})), 0);
  }
}

TEST(Attention, MaskedKeysCountForNothing) {
  OpCase c = op_case({{2, 3}, {3, 5}, {5, 4}, {2, 5}});
  const float no = -INFINITY;
  c.inputs[3] = In::of(op_test::floats_tensor({2, 5}, {0, no, no, no, no, no, 0, 0, no, 1}), false);
  const auto y = op_test::elements<float>(op_test::reference(c)[0]);
  const auto v = op_test::elements<float>(op_test::OpGraph(c).inputs[2]);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(y[i], v[i]);
  EXPECT_GT(check_offers(c), 0);
}

TEST(Attention, ListsOfPosts) {
  for (const OpCase& c :
       op_test::with_post_lists(op_case({{2, 7, 4}, {2, 4, 9}, {2, 9, 19}}), {2, 7, 19}, {1, 19})) {
    SCOPED_TRACE(text_of(c.posts));
    EXPECT_GT(check_offers(c), 0);
  }
}

TEST(Attention, BadShapes) {
  const Case cases[] = {
      {{4}, {4, 5}, {5, 4}},
      {{2, 4}, {3, 5}, {5, 4}},
      {{2, 4}, {4, 5}, {6, 4}},
      {{2, 2, 4}, {3, 4, 5}, {2, 5, 4}},
      {{2, 2, 4}, {4, 5}, {2, 5, 4}},
      {{2, 4}, {4, 5}, {5, 4}, {3, 5}},
      {{2, 4}, {4, 5}, {5, 4}, {1, 2, 5}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(text(std::span<const std::int64_t>(c.q)));
    EXPECT_EQ(error_code_of(op_case(c)), static_cast<int>(ErrorCode::bad_input));
  }
}

}  // namespace
}  // namespace stowage
