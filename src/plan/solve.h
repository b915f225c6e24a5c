// SPDX-License-Identifier: Apache-2.0
// Choosing layouts: a pure optimisation problem, free of graphs and kernels.
#pragma once

#include <vector>

namespace stowage::plan {

/// Most layouts of a value that solve takes.
inline constexpr int kMostLayouts = 16;

/// Nodes choose how to run; values are produced in one layout and converted into others.
/// Layouts are small numbers local to a value.
struct Problem {
  struct Choice {
    double cost = 0;           ///< microseconds; +inf: never
    std::vector<int> in, out;  ///< layout of each input and output value; -1: any
  };

  struct Node {
    std::vector<int> inputs, outputs;  ///< values; a value may occur twice among the inputs
    std::vector<Choice> choices;       ///< at least one
  };

  struct Value {
    int layouts = 1;
    /// convert[from * layouts + to] in microseconds; 0 on the diagonal, +inf where there is no
    /// such conversion. A constant, whose conversion happens before run, has zeros.
    std::vector<double> convert;
    int given = -1;           ///< the layout of a graph input or constant; -1: a node produces it
    std::vector<int> wanted;  ///< layouts in which the outside world wants it (graph outputs)
  };

  std::vector<Node> nodes;
  std::vector<Value> values;
};

/// A conversion of a value; `from` is produced or made by an earlier conversion of the list.
struct Move {
  int value = 0, from = 0, to = 0;
  double cost = 0;
  int node = -1;  ///< which alone reads or writes the copy; -1: whoever wants it
};

struct Solution {
  std::vector<int> choice;    ///< one a node
  std::vector<int> produced;  ///< one a value
  std::vector<Move> moves;    ///< each conversion once, shared by every reader
  double cost = 0;
  double lower_bound = 0;  ///< equals cost when the solution is proved optimal
  bool optimal = false;
};

/// The cheapest solution: exact by bucket elimination over (layout produced, set of layouts
/// materialised) while the tables stay small, else a bounded search with a lower bound; never worse
/// than choice 0 everywhere. Deterministic: among solutions of equal cost those with fewer
/// conversions that cost anything win, then those with earlier choices. Throws Error(internal) when
/// the problem makes no sense, Error(limit) above kMostLayouts layouts of a value,
/// Error(unsupported) when every combination of choices needs a conversion that does not exist.
Solution solve(const Problem& problem);

/// Cost and moves of given choices: for each value the cheapest tree of conversions. A value whose
/// producer leaves the layout open is produced where that costs least. The cost is +inf, and moves
/// are missing, where a conversion does not exist. `lower_bound` and `optimal` are left alone.
Solution evaluate(const Problem& problem, const std::vector<int>& choice);

}  // namespace stowage::plan
