// SPDX-License-Identifier: Apache-2.0
// A planning problem in integers, with everything removed that no good solution uses.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "plan/buckets.h"
#include "plan/solve.h"
#include "plan/trees.h"

namespace stowage::plan {

/// Throws Error(internal) when the problem makes no sense, Error(limit) when a value has more
/// layouts than kMostLayouts.
void check(const Problem& problem);

/// What the conversions of a value cost, whatever is produced and needed.
class Cover {
 public:
  /// `needed`: the layouts that bit 0, 1, ... of a set stand for.
  Cover(Chains<Key> chains, std::vector<int> needed);
  Cover(Cover&&) = delete;

  /// The cheapest conversions from layout `produced` to all of `set`.
  Key cost(int produced, unsigned set) const;

 private:
  const Chains<Key> chains_;
  const std::vector<int> needed_;
  std::optional<Trees<Key>> all_;                    // of every set; none where there are too many
  mutable std::map<unsigned, std::vector<Key>> of_;  // then: by set and layout produced
};

/// The cost of a value is a table over (layout produced, set of layouts needed). Sets are bits over
/// the layouts that anyone may need.
class Model {
 public:
  struct Choice {
    int original = 0;            ///< index in Problem::Node::choices
    Key key;                     ///< cost above the node's cheapest choice
    std::vector<unsigned> need;  ///< one an entry of Node::reads
    std::vector<int> out;        ///< one an entry of Node::writes: index into Value::produced; -1
  };

  struct Node {
    std::vector<int> reads, writes;  ///< values, each once
    std::vector<Choice> choices;
  };

  struct Value {
    int producer = -1;
    std::vector<int> readers;   ///< nodes, each once
    std::vector<int> produced;  ///< layouts it may be produced in
    unsigned wanted = 0;
    int bits = 0;       ///< layouts that anyone may need
    bool free = false;  ///< every conversion that matters costs nothing
    std::unique_ptr<const Cover> cover;
  };

  explicit Model(const Problem& problem);

  /// Choices are indices into Node::choices; -1: undecided, which costs nothing.
  Key value_cost(int value, const std::vector<int>& choice) const;
  Key cost(const std::vector<int>& choice) const;

  /// The tables over the nodes marked `open`, the others being fixed to `choice`.
  /// Variable i of the tables is node variables[i] when i < variables.size().
  struct Tables {
    std::vector<int> variables, domain;
    std::vector<Factor> factors;
  };

  Tables tables(const std::vector<char>& open, const std::vector<int>& choice) const;

  /// Microseconds of a key, a bound from below.
  double microseconds_below(Key key) const;

  std::vector<Node> nodes;
  std::vector<Value> values;

 private:
  Key quantise(double microseconds) const;
  void add_node(const Problem& problem, const std::vector<Chains<double>>& chains, int n);
  void add_value(const Problem& problem, int v);
  void add_value_tables(int v, const std::vector<int>& variable, const std::vector<int>& choice,
                        Tables& out) const;

  double base_ = 0;     // sum of the cheapest choices
  double ceiling_ = 0;  // what the first choices cost above base_, from above
  double scale_ = 1;
  std::size_t terms_ = 1;
};

}  // namespace stowage::plan
