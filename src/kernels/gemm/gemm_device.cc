// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm_device.h"

#include "base/checked.h"
#include "base/text.h"
#include "kernels/expressions.h"

namespace stowage {

namespace {

/// The batch axes of an operand, aligned on the right with those of y, whose coordinates are z0,
/// z1, ...: an extent of 1 stays at 0. Each ends with ", ".
std::string batch_text(std::string_view name, int rank, int y_rank) {
  std::string out;
  for (int i = 0; i + 2 < rank; ++i) {
    out += text("min(z", i + y_rank - rank, ", ", name, "_e.s", i, " - 1), ");
  }
  return out;
}

}  // namespace

void launch_gemm(const GemmDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  const Shape &a = args.in[0].mapping.shape(), &b = args.in[1].mapping.shape();
  const Shape& y = args.out[0].mapping.shape();
  const int ra = a.rank(), rb = b.rank(), ry = y.rank();
  launch.source = p.split > 1 ? "gemm_split" : "gemm";
  launch.operands = {{"a", 0, false}, {"b", 1, false}, {"y", 0, true}};
  const std::int64_t m = y[ry - 2], n = texels_of(y[ry - 1]);
  const std::int64_t blocks = ceil_div(m, std::int64_t{p.rows});
  std::int64_t batches = 1;
  std::string batch, at;
  ResultPlace place{y, ry - 1, {}};
  for (int i = ry - 2; i-- > 0;) {
    batches *= y[i];
    batch += text("const int z", i, " = z_ % y_e.s", i, "; z_ /= y_e.s", i, "; ");
  }
  for (int i = 0; i + 2 < ry; ++i) {
    place.at.push_back(text("z", i));
    at += text("z", i, ", ");
  }
  place.at.insert(place.at.end(), {"row", "n"});
  launch.scalar("sum", a[p.trans_a ? ra - 2 : ra - 1]);
  launch.scalar("height", m);
  launch.scalar("blocks", blocks);
  launch.scalar("batches", batches);
  launch.scalars.push_back({"alpha", p.alpha});
  launch.scalars.push_back({"beta", p.beta});

  const std::string za = batch_text("a", ra, ry), zb = batch_text("b", rb, ry);
  const auto head = [](std::string_view macro, const std::string& z, bool swap) {
    return text(macro, z, swap ? "j, i" : "i, j");
  };
  launch.defines = {{"ROWS", text(p.rows)},
                    {"BATCH(z)", batch.empty() ? "" : text("int z_ = (z); ", batch)},
                    {"A(i, j)", text(head("READ_a(", za, p.trans_a), ")")},
                    {"B(i, j)", text(head("READ_b(", zb, p.trans_b), ")")},
                    {"B_IF(c, i, j)", text(head("READ_IF_b(c, ", zb, p.trans_b), ")")},
                    {"Y(v)", text("WRITE_y(v, ", at, "row, n)")}};
  std::string c = "((float4)(0))";
  if (p.c >= 0) {
    launch.operands.push_back({"c", p.c, false});
    c = broadcast_text("c", args.in[static_cast<std::size_t>(p.c)], place);
  }
  launch.defines.push_back({"C", c});
  add_posts(launch, args, p.posts, place, ry - 1);
  if (p.split > 1) {
    launch.defines.push_back({"ITEMS_OF_GROUP", text(p.columns * p.split)});
    launch.group = {p.columns, p.split, 1};
    launch.fixed_group = true;
    launch.items = {n, p.split * blocks * batches, 1};
  } else {
    launch.items = {n, blocks * batches, 1};
  }
}

}  // namespace stowage
