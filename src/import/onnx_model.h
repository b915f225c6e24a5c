// SPDX-License-Identifier: Apache-2.0
// An ONNX file as a Model: constants read, names of branches resolved, nodes in order. A Graph is
// made of it for one set of shapes (onnx.cc).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "import/onnx_file.h"
#include "import/untrusted.h"
#include "stowage/model.h"

namespace stowage {

/// A value that the file brings: an initializer, or the output of a Constant.
struct OnnxConstant {
  std::string name;
  std::shared_ptr<const Tensor> tensor;  ///< null where nobody reads it
};

/// Throws Error(unsupported) or Error(bad_input) when the node cannot be imported.
void expect_supported(const OnnxNode& node, const OnnxFile& file);

/// An ONNX file, decoded: nothing of it lies on disk any longer.
class OnnxModel final : public Model {
 public:
  using Names = std::unordered_set<std::string_view>;

  OnnxModel(const InputFile& file, const Limits& limits);

  const OnnxFile& file() const noexcept { return onnx_; }

  /// What the file has taken.
  const ImportBudget& budget() const noexcept { return budget_; }

  const std::vector<OnnxConstant>& constants() const noexcept { return constants_; }

  /// Names that a node reads, or that are outputs of the model.
  const Names& read() const noexcept { return read_; }

  /// The nodes of the model's graph or of a branch that are not constants, producers first.
  const std::vector<std::size_t>& order(const OnnxGraph& graph) const { return orders_.at(&graph); }

 private:
  struct Scope;

  std::shared_ptr<Graph> graph(const SpecialiseOptions& options) const override;

  void find_operators() const;
  void find_reads();
  void read_constants(const InputFile& file);
  void read_tensors(const InputFile& file, OnnxNode& node);
  std::shared_ptr<const Tensor> constant_of(const InputFile& file, const OnnxNode& node);
  Tensor attribute_tensor(const InputFile& file, const FileRange& range);
  void find_inputs();
  void find_outputs();
  void expect_names_once();
  std::string unlike_others(const std::string& name);
  void read_branches(const InputFile& file, std::vector<OnnxNode>& nodes, const Scope* scope);
  void read_branch(const InputFile& file, OnnxGraph& branch, const Scope* outer);
  std::vector<std::size_t> producers_first(const std::vector<OnnxNode>& nodes) const;

  ImportBudget budget_;
  OnnxFile onnx_;
  Names read_;
  std::vector<OnnxConstant> constants_;
  std::size_t initializers_ = 0;                // the first of those
  std::unordered_map<std::string, int> names_;  // of all values, and how often each came again
  std::unordered_map<const OnnxGraph*, std::vector<std::size_t>> orders_;
};

}  // namespace stowage
