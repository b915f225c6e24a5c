// SPDX-License-Identifier: Apache-2.0
#include "kernels/copy/move.h"

#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "kernels/accessors.h"
#include "kernels/expressions.h"

namespace stowage {

namespace {

std::string head(std::string_view name, int rank) {
  std::string out = text(name, "(");
  for (int i = 0; i < rank; ++i) out += text(i == 0 ? "" : ", ", "i", i);
  return out + ")";
}

std::string term_text(const MoveParams::Term& t) {
  std::string out = text("(i", t.axis, ")");
  if (t.q != 1) out = text("(", out, " / ", t.q, ")");
  if (t.m != 0) out = text("(", out, " % ", t.m, ")");
  if (t.factor != 1) out = text(out, " * ", t.factor);
  return out;
}

/// AT of `name` at i, `begin` less along `axis`.
std::string shifted(std::string_view name, int rank, int axis, const std::string& begin) {
  std::string out = text("AT_", name, "(");
  for (int i = 0; i < rank; ++i) {
    out += text(i == 0 ? "" : ", ", "(i", i, ")");
    if (i == axis) out += begin;
  }
  return out + ")";
}

}  // namespace

void launch_move(const MoveParams& p, const LaunchArgs& args, Launch& launch) {
  launch.source = "move";
  launch.operands = {{"x", 0, false}, {"y", 0, true}};
  std::string at, inside;
  for (std::size_t a = 0; a < p.input.size(); ++a) {
    std::string c;
    if (p.input[a].begin != 0) {
      c = text("begin", a);
      launch.scalar(c, p.input[a].begin);
    }
    for (const auto& t : p.input[a].terms) c += text(c.empty() ? "" : " + ", term_text(t));
    if (c.empty()) c = "0";
    if (!p.input[a].table.empty()) {
      const std::string name = text("table", a);
      launch.table(name,
                   std::vector<std::int32_t>(p.input[a].table.begin(), p.input[a].table.end()));
      c = text(name, "[", c, "]");
    }
    if (p.outside == MoveParams::Outside::edge) c = text("clamp(", c, ", 0, x_e.s", a, " - 1)");
    if (p.outside == MoveParams::Outside::reflect) {
      c = text("reflected(", c, ", x_e.s", a, ")");
    }
    at += text(a == 0 ? "" : ", ", c);
    inside += text(a == 0 ? "" : " && ", "(", c, ") >= 0 && (", c, ") < x_e.s", a);
  }
  std::string source = text("AT_x(", at, ")");
  if (inside.empty()) inside = "1";
  if (p.outside == MoveParams::Outside::fill) {
    launch.scalars.push_back({"fill", p.fill});
    source = text("(", inside, " ? ", source, " : fill)");
  }
  launch.defines = {{head("SOURCE", args.out[0].mapping.shape().rank()), source}};
  launch.items = items_of(args.out[0]);
}

void launch_join(const JoinParams& p, const LaunchArgs& args, Launch& launch) {
  launch.source = "move";
  const int rank = args.out[0].mapping.shape().rank();
  std::string source;
  std::int64_t begin = 0;
  for (int i = 0; i < p.inputs; ++i) {
    const Shape& shape = args.in[idx(i)].mapping.shape();
    const std::string name = text("x", i);
    launch.operands.push_back({name, i, false});
    const std::string from = i == 0 ? "" : text(" - begin", i);
    if (i > 0) launch.scalar(text("begin", i), begin);
    begin += shape[p.axis];
    const std::string part = shifted(name, rank, p.axis, from);
    if (i + 1 < p.inputs) {
      source += text("(i", p.axis, ") < begin", i + 1, " ? ", part, " : ");
    } else {
      source = text("(", source, part, ")");
    }
  }
  launch.operands.push_back({"y", 0, true});
  launch.defines = {{head("SOURCE", rank), source}};
  launch.items = items_of(args.out[0]);
}

void launch_cut(const CutParams& p, const LaunchArgs& args, Launch& launch) {
  launch.source = "split";
  launch.operands = {{"x", 0, false}};
  launch.items = {1, 1, 1};
  std::string body;
  for (std::size_t k = 0; k < p.outputs.size(); ++k) {
    const LaunchView& y = args.out[idx(p.outputs[k])];
    const int rank = y.mapping.shape().rank();
    const std::string name = text("y", k);
    launch.operands.push_back({name, p.outputs[k], true});
    launch.scalar(text("begin", k), p.begins[k]);
    const auto items = items_of(y);
    for (const std::size_t d : {0, 1}) {
      launch.scalar(text("end", k, "_", d), items[d]);
      launch.items[d] = std::max(launch.items[d], items[d]);
    }
    const std::string source = text("SOURCE", k);
    launch.defines.push_back({head(source, rank), shifted("x", rank, p.axis, text(" + begin", k))});
    body += text(" if ((int)get_global_id(0) < end", k, "_0 && (int)get_global_id(1) < end", k,
                 "_1) { DECODE_", name, " STORE_", name, "(EACH_", name, "(", source, ")); }");
  }
  launch.defines.push_back({"PARTS", body});
}

}  // namespace stowage
