// SPDX-License-Identifier: Apache-2.0
// Parts that lie in wholes: what concat and split move, and what plans must not let happen.
#include <gtest/gtest.h>

#include <cmath>

#include "base/index.h"
#include "plan/plan.h"
#include "plan/test_faults.h"
#include "tests/suite/graph_builder.h"

namespace stowage {
namespace {

Attributes ints(std::string_view name, const Ints& values) {
  Attributes a;
  a.set(name, values);
  return a;
}

Attributes axis(std::int64_t value) {
  Attributes a;
  a.set("axis", value);
  return a;
}

/// Parts that concatenations copy, and splits and slices that are steps.
struct Moved {
  int parts = 0, cuts = 0;

  friend bool operator==(const Moved&, const Moved&) = default;
};

Moved moved(const Plan& plan) {
  Moved m;
  for (const Step& s : plan.steps) {
    if (s.op == "concat") m.parts += static_cast<int>(s.in.size() - s.views.size());
    if (s.op == "split" || s.op == "slice") ++m.cuts;
  }
  return m;
}

struct Case {
  const char* what;
  void (*build)(GraphBuilder&);
  Moved moved;
};

constexpr int kC = 16;

const Case kCases[] = {
    {"two branches",
     [](GraphBuilder& n) {
       const ValueId x = n.conv(n.input({1, 3, 24, 20}), 3, kC);
       const ValueId y = n.add("concat", {n.conv(x, kC, kC), n.conv(x, kC, 2 * kC)}, axis(1));
       n.graph.outputs = {n.conv(y, 3 * kC, kC)};
     },
     {0, 0}},
    {"a model input is copied",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 8 * kC, 24, 20});
       const ValueId y = n.add("concat", {x, n.conv(x, 8 * kC, 8 * kC)}, axis(1));
       n.graph.outputs = {n.conv(y, 16 * kC, kC)};
     },
     {1, 0}},
    {"every result of a growing chain is the beginning of the next",
     [](GraphBuilder& n) {
       ValueId all = n.conv(n.input({1, 3, 24, 20}), 3, kC);
       for (int i = 1; i < 5; ++i) {
         all = n.add("concat", {all, n.conv(n.add("relu", {all}), i * kC, kC)}, axis(1));
       }
       n.graph.outputs = {n.conv(all, 5 * kC, kC)};
     },
     {0, 0}},
    {"and so it is when each lists all parts anew",
     [](GraphBuilder& n) {
       std::vector<ValueId> parts = {n.conv(n.input({1, 3, 24, 20}), 3, kC)};
       ValueId all = parts[0];
       for (int i = 1; i < 5; ++i) {
         parts.push_back(n.conv(all, i * kC, kC));
         all = n.add("concat", parts, axis(1));
       }
       n.graph.outputs = {n.conv(all, 5 * kC, kC)};
     },
     {0, 0}},
    {"a part has one place: the second result copies it",
     [](GraphBuilder& n) {
       const ValueId x = n.conv(n.input({1, 3, 24, 20}), 3, kC);
       const ValueId a = n.conv(x, kC, kC), b = n.conv(x, kC, kC), c = n.conv(x, kC, kC);
       const ValueId ab = n.add("concat", {a, b}, axis(1)), ac = n.add("concat", {a, c}, axis(1));
       n.graph.outputs = {n.conv(ab, 2 * kC, kC), n.conv(ac, 2 * kC, kC)};
     },
     {1, 0}},
    {"the same part twice is copied twice",
     [](GraphBuilder& n) {
       const ValueId x = n.conv(n.input({1, 3, 24, 20}), 3, kC);
       n.graph.outputs = {n.conv(n.add("concat", {x, x}, axis(1)), 2 * kC, kC)};
     },
     {2, 0}},
    {"batches separate parts",
     [](GraphBuilder& n) {
       const ValueId x = n.conv(n.input({2, 3, 24, 20}), 3, kC);
       const ValueId y = n.add("concat", {n.conv(x, kC, kC), n.conv(x, kC, kC)}, axis(1));
       n.graph.outputs = {n.conv(y, 2 * kC, kC)};
     },
     {2, 0}},
    {"split along channels, in blocks",
     [](GraphBuilder& n) {
       const ValueId x = n.conv(n.input({1, 3, 24, 20}), 3, 3 * kC);
       Attributes a = ints("split", {kC, 2 * kC});
       a.set("axis", std::int64_t{1});
       const auto parts = n.add_many("split", {x}, 2, a);
       n.graph.outputs = {n.conv(parts[0], kC, kC), n.conv(parts[1], 2 * kC, kC)};
     },
     {0, 0}},
    {"a slice that is read while its input is",
     [](GraphBuilder& n) {
       const ValueId x = n.conv(n.input({1, 3, 24, 20}), 3, 16 * kC);
       Attributes a = ints("starts", {8 * kC});
       a.set("ends", Ints{16 * kC});
       a.set("axes", Ints{1});
       const ValueId half = n.add("slice", {x}, a);
       n.graph.outputs = {n.conv(half, 8 * kC, kC), n.conv(x, 16 * kC, kC)};
     },
     {0, 0}},
};

TEST(Views, PartsLieInWholesWhereTheyCan) {
  for (const Case& c : kCases) {
    GraphBuilder net, same;
    c.build(net);
    c.build(same);
    infer_shapes(same.graph);
    const std::vector<Tensor> want = same.run();
    const auto plan = make_plan(std::make_shared<Graph>(std::move(net.graph)));
    Session session(plan);
    std::mt19937 random(5);
    for (int i = 0; i < static_cast<int>(session.inputs().size()); ++i) {
      session.set_input(i, random_tensor(session.inputs()[idx(i)].shape, random).view());
    }
    for (int run = 0; run < 2; ++run) {
      session.run();
      for (int o = 0; o < static_cast<int>(want.size()); ++o) {
        const Tensor got = session.output(o);
        const auto a = got.as<float>(), b = want[idx(o)].as<float>();
        for (std::size_t i = 0; i < b.size(); ++i) {
          ASSERT_NEAR(a[i], b[i], 1e-4 * std::abs(b[i])) << c.what << ", element " << i;
        }
      }
    }
    if (host_target(1).lanes == kC) {
      EXPECT_TRUE(moved(*plan) == c.moved)
          << c.what << ": " << moved(*plan).parts << " parts, " << moved(*plan).cuts << " cuts\n"
          << explain(*plan);
    }
  }
}

/// The plan of the first case, whose concatenation moves nothing.
std::shared_ptr<Plan> plan_with_views() {
  GraphBuilder net;
  kCases[0].build(net);
  return std::const_pointer_cast<Plan>(make_plan(std::make_shared<Graph>(std::move(net.graph))));
}

Step& concat_of(Plan& plan) {
  for (Step& s : plan.steps) {
    if (s.op == "concat") return s;
  }
  throw std::logic_error("no concat");
}

TEST(Views, VerifySeesFaults) {
  if (host_target(1).lanes != kC) GTEST_SKIP() << "skipped: blocks of 16 channels are needed";

  const Fault faults[] = {
      {"a part that is not declared", [](Plan& p) { concat_of(p).views.pop_back(); },
       "is written over"},
      {"a part at another place", [](Plan& p) { concat_of(p).views[1].offset += 64; },
       "is written over"},
      {"a view of no operand", [](Plan& p) { concat_of(p).views[0].input = 7; }, "no operand"},
      {"parts over each other",
       [](Plan& p) {
         Step& s = concat_of(p);
         p.slots[idx(s.in[1])].offset = p.slots[idx(s.in[0])].offset;
       },
       "is read after something was written over it"},
      {"a part outside of what it is a part of",
       [](Plan& p) {
         Slot& whole = p.slots[idx(concat_of(p).out[0])];
         p.slots.push_back(whole);
         p.slots.back().alias_of = concat_of(p).out[0];
         p.slots.back().alias_offset = 64;
       },
       "does not lie in what it is a part of"},
      {"an alias of itself",
       [](Plan& p) {
         const int s = concat_of(p).out[0];
         p.slots[idx(s)].alias_of = s;
       },
       "relabels itself"},
  };
  expect_verify_sees(faults, plan_with_views);
}

}  // namespace
}  // namespace stowage
