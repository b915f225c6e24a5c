// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise/map.h"

#include "base/index.h"
#include "base/text.h"
#include "kernels/accessors.h"
#include "kernels/expressions.h"

namespace stowage {

bool has_map(Fn fn) { return fn != Fn::affine && fn != Fn::affine_clip; }

void launch_map(const MapParams& p, const LaunchArgs& args, Launch& launch) {
  launch.source = "map";
  const LaunchView& y = args.out[0];
  const ResultPlace place = decoded_place(y);
  const Function& f = p.function;
  std::string body;
  for (int i = 0; i < p.operands; ++i) {
    const std::string name = text("x", i);
    launch.operands.push_back({name, i, false});
    body += text(" const VECTOR_y a", i, " = ", broadcast_text(name, args.in[idx(i)], place), ";");
  }
  launch.operands.push_back({"y", 0, true});
  const bool unary = f.fn < Fn::add;
  body += text(" v = ", unary ? function_text(f.fn, f.a, f.b, "a0", "") : "a0", ";");
  for (int i = 1; i < p.operands; ++i) {
    body += text(" v = ", function_text(f.fn, f.a, f.b, "v", text("a", i)), ";");
  }
  if (p.scale != 1) body += text(" v = v * ", constant_text(p.scale), ";");
  launch.defines = {{"COMPUTE(v)", text("do {", body, " } while (0)")}};
  launch.items = items_of(y);
}

}  // namespace stowage
