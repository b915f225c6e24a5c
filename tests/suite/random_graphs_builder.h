// SPDX-License-Identifier: Apache-2.0
// What the moves of the generator build with: random numbers, values whose elements are known, and
// nodes that are kept only if their results are fit to be compared.
#pragma once

#include <array>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "tests/suite/random_graphs.h"

namespace stowage::random_graphs {

/// Thrown by a move that does not fit; everything it added is taken back.
struct Reject {};

class Builder {
 public:
  /// What is known of a value of the graph.
  struct Known {
    DType dtype = DType::f32;
    Ints extents;
    bool constant = false;
    /// Bit for bit the same in every correct run: only such values may be rounded or compared.
    bool exact = false;
    /// For each set of inputs as it is, then for each with noise behind every inexact node.
    std::array<std::shared_ptr<const Tensor>, 2 * kInputSets> samples;

    int rank() const { return static_cast<int>(extents.size()); }

    std::int64_t elements() const;
  };

  explicit Builder(std::uint64_t seed) : random_(seed) {}

  // Numbers. Arguments of one call must not draw twice: their order is the compiler's.
  std::int64_t below(std::int64_t n);                      ///< in [0, n)
  std::int64_t between(std::int64_t lo, std::int64_t hi);  ///< in [lo, hi]

  bool chance(int percent) { return below(100) < percent; }  ///

  float real(float lo, float hi);

  template <class T, std::size_t N>
  T one_of(const T (&list)[N]) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(N)))];
  }

  std::int64_t channels();                          ///< 1 to 33, odd ones preferred
  std::int64_t divisor(std::int64_t n);             ///< of n, perhaps 1 or n
  Ints permutation(int n);                          ///
  Ints axes(int rank, int most);                    ///< one to `most` different axes, in any order
  std::int64_t spell(std::int64_t axis, int rank);  ///< perhaps counted from the end

  // Values.
  const Known& known(ValueId v) const { return known_[static_cast<std::size_t>(v)]; }

  const Ints& extents(ValueId v) const { return known(v).extents; }

  int rank(ValueId v) const { return known(v).rank(); }

  ValueId input(const Ints& extents, DType dtype = DType::f32);  ///< f32, u8 or i64
  ValueId constant(Tensor tensor);
  ValueId constant(const Ints& extents, float lo, float hi);
  ValueId scalar(float value);
  ValueId ints(const Ints& list);
  /// Weights of variance 1/fan_in, sometimes computed from other constants.
  ValueId weights(const Ints& extents, std::int64_t fan_in);

  /// A computed f32 value of a rank in [lo, hi], recent ones preferred. Throws Reject.
  ValueId pick(int lo, int hi);

  ValueId pick_image() { return pick(4, 4); }

  ValueId pick_exact(int lo, int hi);
  /// Of any dtype, f32 mostly.
  ValueId pick_any(int lo, int hi);
  ValueId pick_integers(int lo, int hi);  ///< i32 or i64

  bool is_float(ValueId v) const { return known(v).dtype == DType::f32; }

  /// Another computed value for which `fits` holds, of the dtype of `v`, or kNoValue.
  template <class F>
  ValueId pick_other(ValueId v, F fits) {
    const DType dtype = v == kNoValue ? DType::f32 : known(v).dtype;
    std::vector<ValueId> list;
    for (ValueId k(0); k < graph.value_count(); ++k) {
      const Known& other = known(k);
      if (k != v && other.dtype == dtype && !other.constant && fits(other)) list.push_back(k);
    }
    return list.empty() ? kNoValue : list[static_cast<std::size_t>(below(std::ssize(list)))];
  }

  // Nodes. They throw Reject when a result is too large, not finite or hangs on the last bits.
  ValueId add(std::string_view op, const std::vector<ValueId>& inputs,
              const Attributes& attrs = {});
  std::vector<ValueId> add_many(std::string_view op, const std::vector<ValueId>& inputs,
                                int outputs, const Attributes& attrs = {});
  /// The results are exact where every input is: the operator moves, rounds or compares.
  ValueId add_exact(std::string_view op, const std::vector<ValueId>& inputs,
                    const Attributes& attrs = {});
  std::vector<ValueId> add_many_exact(std::string_view op, const std::vector<ValueId>& inputs,
                                      int outputs, const Attributes& attrs = {});

  int nodes() const { return graph.node_count(); }

  /// Runs a move; takes back what it did when it does not fit. An Error passes through: moves only
  /// ask for what operators must do.
  bool attempt(void (*move)(Builder&));

  Graph graph;
  std::vector<std::vector<Tensor>> inputs{kInputSets};
  bool large = false;  ///< some values fill many tiles and keep several threads busy

 private:
  template <class F>
  ValueId pick_where(int lo, int hi, F fits);
  std::vector<ValueId> append(std::string_view op, const std::vector<ValueId>& inputs, int outputs,
                              const Attributes& attrs, bool keeps_exact);
  void expect_fit(Known& k, bool exact);

  std::mt19937_64 random_;
  std::vector<Known> known_;
};

/// A kind of thing that graphs are made of.
struct Move {
  std::string_view name;
  int weight;
  void (*run)(Builder&);
};

std::span<const Move> layer_moves();    ///< windows, products, normalisation, blocks of layers
std::span<const Move> element_moves();  ///< functions and arithmetic, reductions, comparisons
std::span<const Move> shape_moves();    ///< what moves elements

/// An activation behind `x`, or x itself.
ValueId activated(Builder& b, ValueId x);

template <class... Pairs>
Attributes attributes(Pairs&&... pairs) {
  Attributes a;
  (a.set(pairs.first, Attribute(pairs.second)), ...);
  return a;
}

}  // namespace stowage::random_graphs
