// SPDX-License-Identifier: Apache-2.0
// What `selftest` tries: small nodes, each for one kernel of a device.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "graph/op_def.h"
#include "stowage/plan.h"

namespace stowage {

struct SelftestCase {
  std::string_view kernel;  ///< that must run the node on a device
  std::string_view op;
  std::map<std::string, Attribute> attrs = {};
  std::vector<Ints> inputs;     ///< extents
  std::vector<Ints> constants;  ///< likewise; inputs of the node behind `inputs`
  int outputs = 1;
  bool post = false;  ///< a clip follows
};

/// At least one for every kernel of devices, and for every way in which it may work.
std::vector<SelftestCase> selftest_cases();

/// How the case is planned: without other kernels of the operator's, on a device that does
/// whatever it can.
PlanOptions selftest_options(const SelftestCase& c, const DeviceOptions& device);

/// The node of the case, constants filled with random numbers; always the same.
std::shared_ptr<Graph> selftest_graph(const SelftestCase& c);

}  // namespace stowage
