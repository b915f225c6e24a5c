// SPDX-License-Identifier: Apache-2.0
// Bucket elimination: the minimum of a sum of sparse tables over discrete variables.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace stowage::plan {

/// A cost and what decides between equal costs. Integers, so that no order of summation matters.
struct Key {
  std::int64_t cost = 0, ties = 0;

  friend auto operator<=>(const Key&, const Key&) = default;

  friend Key operator+(Key a, Key b) { return {a.cost + b.cost, a.ties + b.ties}; }
};

/// More than any sum of finite keys; it may itself be added to a few keys.
inline constexpr Key kInfinite{std::int64_t{1} << 61, 0};

/// A table over some variables; combinations that are absent are forbidden.
struct Factor {
  struct Row {
    std::uint64_t at;  ///< the states, bit_width(domain - 1) bits each, scope[0] lowest
    Key key;
  };

  std::vector<int> scope;
  std::vector<Row> rows;  ///< ascending `at`
};

/// Bits that a state takes in Factor::Row::at.
int state_bits(int domain);

struct BucketLimits {
  std::size_t rows = 0;  ///< of one table
  std::size_t work = 0;  ///< of all tables
  /// Tables over the limit: true splits them (mini-buckets, a lower bound); false gives up.
  bool split = false;
  /// What some combination costs: rows above it are in no better one. Keys must not be negative.
  Key ceiling = kInfinite;
};

struct BucketResult {
  bool done = false;        ///< false: gave up
  bool exact = false;       ///< `bound` is the minimum and `states` reaches it
  Key bound;                ///< a lower bound; kInfinite or more: no combination is allowed
  std::vector<int> states;  ///< one a variable
  std::size_t work = 0, largest = 0;
};

/// Variable v has domain[v] >= 1 states. Deterministic: ties go to the lower state of the variable
/// decided first.
BucketResult eliminate(const std::vector<int>& domain, std::vector<Factor> factors,
                       const BucketLimits& limits);

}  // namespace stowage::plan
