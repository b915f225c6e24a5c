// SPDX-License-Identifier: Apache-2.0
// The cheapest conversions of one value: from the format it is produced in to all that are wanted.
#pragma once

#include <algorithm>
#include <bit>
#include <span>
#include <utility>
#include <vector>

namespace stowage::plan {

/// The cheapest chain of conversions between any two formats. `Cost` is ordered and adds up.
template <class Cost>
class Chains {
 public:
  /// `convert[from * formats + to]`: Cost{} on the diagonal, `infinite` or more where there is no
  /// such conversion.
  Chains(int formats, std::vector<Cost> convert, Cost infinite)
      : formats_(formats),
        distance_(std::move(convert)),
        via_(distance_.size(), -1),
        infinite_(infinite) {
    for (int k = 0; k < formats; ++k) {
      for (int a = 0; a < formats; ++a) {
        for (int b = 0; b < formats; ++b) {
          const Cost way = sum(distance(a, k), distance(k, b));
          if (!(way < distance(a, b))) continue;
          distance_[at(a, b)] = way;
          via_[at(a, b)] = k;
        }
      }
    }
  }

  int formats() const { return formats_; }

  const Cost& infinite() const { return infinite_; }

  const Cost& distance(int from, int to) const { return distance_[at(from, to)]; }

  Cost sum(const Cost& a, const Cost& b) const {
    return a < infinite_ && b < infinite_ ? std::min(a + b, infinite_) : infinite_;
  }

  /// Calls each(from, to) for every conversion of the chain.
  template <class Each>
  void walk(int from, int to, const Each& each) const {
    if (from == to) return;
    const int via = via_[at(from, to)];
    if (via < 0) return each(from, to);
    walk(from, via, each);
    walk(via, to, each);
  }

 private:
  std::size_t at(int from, int to) const { return static_cast<std::size_t>(from * formats_ + to); }

  int formats_;
  std::vector<Cost> distance_;
  std::vector<int> via_;  // a format on the way; -1: one conversion
  Cost infinite_;
};

/// Minimal directed Steiner trees, from every root to every subset of the wanted formats (Dreyfus
/// and Wagner, "The Steiner problem in graphs", 1971), in 3^wanted formats + 2^wanted formats^2
/// steps.
template <class Cost>
class Trees {
 public:
  /// Keeps a reference to `chains`.
  Trees(const Chains<Cost>& chains, std::vector<int> wanted)
      : chains_(chains),
        wanted_(std::move(wanted)),
        best_(static_cast<std::size_t>(chains.formats()) << wanted_.size()) {
    for (unsigned set = 1; set < 1u << wanted_.size(); ++set) fill(set);
  }

  /// `set`: bits of `wanted`.
  const Cost& cost(int root, unsigned set) const { return at(set, root).cost; }

  /// Calls each(from, to) for every conversion; `from` is the root or a `to` of an earlier call.
  template <class Each>
  void walk(int root, unsigned set, const Each& each) const {
    if (set == 0) return;
    const State& s = at(set, root);
    chains_.walk(root, s.branch, each);
    if (s.part == 0) return;
    walk(s.branch, s.part, each);
    walk(s.branch, set & ~s.part, each);
  }

 private:
  struct State {
    Cost cost{};
    int branch = -1;    // one chain leads here, where the tree branches or ends
    unsigned part = 0;  // what one of the two branches reaches; 0: the tree ends
  };

  const State& at(unsigned set, int root) const {
    return best_[set * static_cast<std::size_t>(chains_.formats()) +
                 static_cast<std::size_t>(root)];
  }

  void fill(unsigned set) {
    const int formats = chains_.formats();
    std::vector<State> here;
    for (int v = 0; v < formats; ++v) here.push_back(branch(set, v));
    for (int root = 0; root < formats; ++root) {
      State best = here[static_cast<std::size_t>(root)];
      for (const State& s : here) {
        const Cost way = chains_.sum(chains_.distance(root, s.branch), s.cost);
        if (way < best.cost) best = {way, s.branch, s.part};
      }
      best_[set * static_cast<std::size_t>(formats) + static_cast<std::size_t>(root)] = best;
    }
  }

  /// The best tree that branches, or ends, at `v`.
  State branch(unsigned set, int v) const {
    State out{chains_.infinite(), v, 0};
    if (std::has_single_bit(set)) {
      if (wanted_[static_cast<std::size_t>(std::countr_zero(set))] == v) out.cost = Cost{};
      return out;
    }
    const unsigned lowest = set & (~set + 1);
    for (unsigned part = (set - 1) & set; part != 0; part = (part - 1) & set) {
      if ((part & lowest) == 0) continue;  // the other branch: seen from there
      const Cost both = chains_.sum(cost(v, part), cost(v, set & ~part));
      if (both < out.cost) out = {both, v, part};
    }
    return out;
  }

  const Chains<Cost>& chains_;
  std::vector<int> wanted_;
  std::vector<State> best_;  // [set * formats + root]
};

}  // namespace stowage::plan
