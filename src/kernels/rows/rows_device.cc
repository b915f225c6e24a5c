// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/rows_device.h"

#include <algorithm>

#include "base/text.h"
#include "kernels/accessors.h"

namespace stowage {

namespace {

constexpr int kGroup = 64;

}  // namespace

bool shares_rows(const Shape& x, int texel, const Ints& axes) {
  double steps = 1;
  for (const std::int64_t i : axes) {
    const auto axis = static_cast<int>(i);
    steps *= static_cast<double>(axis == texel ? texels_of(x[axis]) : x[axis]);
  }
  return steps >= 2 * kGroup;
}

RowNames add_rows(Launch& launch, const LaunchArgs& args, const DeviceRows& rows, int lane_axis) {
  const LaunchView& view = args.in[0];
  const Shape& x = view.mapping.shape();
  RowNames names;
  names.texel = texel_axis(view.mapping);
  const auto along = [&](int i) { return std::ranges::binary_search(rows.axes, i); };
  names.across = along(names.texel);

  // The last axis runs fastest, so that neighbours read neighbours.
  std::int64_t steps = 1, kept = 1, count = 1;
  std::string along_text = "int j_ = (j);", kept_text = "int row_ = row;";
  for (int i = x.rank(); i-- > 0;) {
    const bool in_texels = i == names.texel || i == lane_axis;
    const std::int64_t extent = in_texels ? texels_of(x[i]) : x[i];
    const std::string e =
        in_texels ? text("((x_e.s", i, " + ", kTexel - 1, ") / ", kTexel, ")") : text("x_e.s", i);
    const bool joins = along(i);
    (joins ? steps : kept) *= extent;
    if (joins) count *= x[i];
    const char* left = joins ? "j_" : "row_";
    (joins ? along_text : kept_text) +=
        text(" const int i", i, " = ", left, " % ", e, "; ", left, " /= ", e, ";");
  }
  const std::string lanes =
      names.across ? text("x_e.s", names.texel, " - ", kTexel, " * i", names.texel) : text(kTexel);
  std::string read = "READ_x(";
  for (int i = 0; i < x.rank(); ++i) {
    names.at.push_back(text("i", i));
    read += text(i == 0 ? "" : ", ",
                 i == lane_axis ? text("min(", kTexel, " * i", i, " + lane, x_e.s", i, " - 1)")
                                : names.at.back());
  }

  launch.operands.push_back({"x", 0, false});
  launch.scalar("rows", kept);
  launch.scalar("steps", steps);
  launch.scalar("count", count);
  const auto define = [&](const char* name, std::string value) {
    launch.defines.push_back({name, std::move(value)});
  };
  define("KEPT", kept_text);
  define("PLACE(j)", along_text);
  define("ALONG(j)", text("PLACE(j) const int lanes = ", lanes, ";"));
  define("X", read + ")");
  define("LANES_OF_ROW", names.across ? text(kTexel) : "1");
  define("JOIN_LANES(v, F)",
         names.across ? "v = (float4)(F(F(v.x, v.y), F(v.z, v.w)))" : "do { } while (0)");
  if (!rows.grouped) {
    define("ROW", "GUARD const int row = (int)get_global_id(0);");
    define("FIRST", "0");
    define("STEP", "1");
    define("JOIN_ITEMS(v, F)", "do { } while (0)");
    launch.items = {kept, 1, 1};
    return names;
  }
  // A device may have smaller groups, hence more; each comes to every barrier.
  define("ROW", text("__local float4 parts_[", kGroup,
                     "]; const int row = min((int)get_group_id(0), rows - 1);"));
  define("FIRST", "((int)get_local_id(0))");
  define("STEP", "((int)get_local_size(0))");
  define("JOIN_ITEMS(v, F)",
         "do { parts_[FIRST] = v; barrier(CLK_LOCAL_MEM_FENCE); "
         "for (int s_ = STEP / 2; s_ > 0; s_ /= 2) { "
         "if (FIRST < s_) parts_[FIRST] = F(parts_[FIRST], parts_[FIRST + s_]); "
         "barrier(CLK_LOCAL_MEM_FENCE); } "
         "v = parts_[0]; barrier(CLK_LOCAL_MEM_FENCE); } while (0)");
  launch.group = {kGroup, 1, 1};
  launch.fixed_group = true;
  launch.items = {kGroup * kept, 1, 1};
  return names;
}

}  // namespace stowage
