// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch.h"

#include "base/index.h"
#include "base/text.h"
#include "kernels/accessors.h"

namespace stowage {

namespace {

/// What all sources share. Images hold what a program may rely on outside of them: zero.
constexpr const char* kCommon = R"(
__constant sampler_t kTexels =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

float lane_of(float4 v, int lane) {
  return lane == 0 ? v.x : lane == 1 ? v.y : lane == 2 ? v.z : v.w;
}

float4 first_lanes(float4 v, int count) {
  return (float4)(count > 0 ? v.x : 0.0f, count > 1 ? v.y : 0.0f, count > 2 ? v.z : 0.0f,
                  count > 3 ? v.w : 0.0f);
}

/* For float and float4 alike. Comparisons keep NaN, where fmin and fmax drop it. */
#define choose_(condition, a, b) ((condition) ? (a) : (b))
#define clip_(x, lo, hi) choose_((x) < (lo), lo, choose_((x) > (hi), hi, x))

/* What is too large for a half stays finite; infinities and NaN are kept. */
float to_half_range(float v) {
  return choose_(fabs(v) < INFINITY, clip_(v, -65504.0f, 65504.0f), v);
}
float4 to_half_range4(float4 v) {
  return choose_(fabs(v) < (float4)(INFINITY), clip_(v, (float4)(-65504.0f), (float4)(65504.0f)), v);
}

#define ITEMS const int4 items
/* The last groups stick out. */
#define GUARD                                                                       \
  if ((int)get_global_id(0) >= items.x || (int)get_global_id(1) >= items.y ||       \
      (int)get_global_id(2) >= items.z) {                                           \
    return;                                                                         \
  }
)";

constexpr const char* kCounted = R"(
int counted_(volatile __global int* outside, int inside) {
  if (!inside) atomic_inc(outside);
  return inside;
}
#define ARG_bounds_ __global int* bounds_
)";

}  // namespace

std::string launch_preamble(const Launch& launch, const LaunchArgs& args, bool check_bounds) {
  std::string out = kCommon, all;
  if (check_bounds) out += kCounted;
  const auto argument = [&](const std::string& name) {
    all += text(all.empty() ? "" : ", ", "ARG_", name);
  };
  for (std::size_t i = 0; i < launch.operands.size(); ++i) {
    const Launch::Operand& o = launch.operands[i];
    const auto& views = o.output ? args.out : args.in;
    const int checked = check_bounds ? static_cast<int>(i) : -1;
    out += accessor_text(o.name, views[idx(o.index)], o.output, checked);
    argument(o.name);
  }
  for (const Launch::Table& t : launch.tables) {
    const char* type = std::holds_alternative<std::vector<float>>(t.data) ? "float" : "int";
    out += text("#define ARG_", t.name, " __global const ", type, "* restrict ", t.name, "\n");
    argument(t.name);
  }
  for (const auto& [name, value] : launch.scalars) {
    const char* type = std::holds_alternative<float>(value) ? "float" : "int";
    out += text("#define ARG_", name, " const ", type, " ", name, "\n");
    argument(name);
  }
  if (check_bounds) argument("bounds_");
  for (const auto& [name, value] : launch.defines) out += text("#define ", name, " ", value, "\n");
  return out + text("#define ARGS ", all, "\n");
}

Launch conversion_launch(const LaunchArgs& args) {
  Launch launch;
  launch.source = "move";
  launch.operands = {{"x", 0, false}, {"y", 0, true}};
  // Axes go by name; one that the source does not have is 1 there.
  const Shape &from = args.in[0].mapping.shape(), &to = args.out[0].mapping.shape();
  std::string parameters, coordinates;
  for (int i = 0; i < to.rank(); ++i) parameters += text(i == 0 ? "" : ", ", "i", i);
  for (int i = 0; i < from.rank(); ++i) {
    const int at = to.index_of(from.axis(i));
    coordinates += text(i == 0 ? "" : ", ", at < 0 ? std::string("0") : text("i", at));
  }
  launch.defines = {{text("SOURCE(", parameters, ")"), text("AT_x(", coordinates, ")")}};
  launch.items = items_of(args.out[0]);
  return launch;
}

}  // namespace stowage
