// SPDX-License-Identifier: Apache-2.0
#include "report/plan_tally.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace stowage {

std::vector<LayoutTally> tally_layouts(const PlanReport& plan) {
  std::map<std::string, LayoutTally> all;
  std::set<std::pair<int, std::string>> seen;
  const auto take = [&](int id, const std::string& layout, bool constant) {
    if (!seen.emplace(id, layout).second) return;
    LayoutTally& tally = all[layout];
    tally.layout = layout;
    ++(constant ? tally.constants : tally.tensors);
  };
  for (const PlanReport::Boundary& port : plan.inputs) {
    take(port.id, port.layout.spelling(), false);
  }
  for (const NodeReport& node : plan.nodes) {
    for (const NodeReport::Operand& o : node.inputs) take(o.id, o.layout, o.constant);
    for (const NodeReport::Operand& o : node.outputs) take(o.id, o.layout, o.constant);
  }
  for (const PlanReport::Boundary& port : plan.outputs) {
    take(port.id, port.layout.spelling(), false);
  }
  std::vector<LayoutTally> out;
  for (auto& [layout, tally] : all) out.push_back(std::move(tally));
  std::stable_sort(out.begin(), out.end(), [](const LayoutTally& a, const LayoutTally& b) {
    return std::pair(a.tensors, a.constants) > std::pair(b.tensors, b.constants);
  });
  std::vector<std::string> drawn;
  for (const LayoutTally& tally : out) {
    if (tally.tensors > 0) drawn.push_back(tally.layout);
  }
  const std::vector<LayoutLook> looks = layout_looks(drawn);
  for (std::size_t i = 0; i < looks.size(); ++i) out[i].look = looks[i];
  return out;
}

std::vector<KernelTally> tally_kernels(const PlanReport& plan) {
  std::map<std::string, KernelTally> all;
  for (const NodeReport& node : plan.nodes) {
    KernelTally& tally = all[node.kernel];
    tally.kernel = node.kernel;
    ++tally.operators;
    tally.cost_us += node.cost_us;
  }
  std::vector<KernelTally> out;
  for (auto& [kernel, tally] : all) out.push_back(std::move(tally));
  std::stable_sort(out.begin(), out.end(), [](const KernelTally& a, const KernelTally& b) {
    return a.cost_us > b.cost_us;
  });
  return out;
}

}  // namespace stowage
