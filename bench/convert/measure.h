// SPDX-License-Identifier: Apache-2.0
// Times of contenders that take turns, so that whatever disturbs one disturbs them all.
#pragma once

#include "bench/convert/contender.h"

namespace stowage::bench {

struct Entry {
  std::string_view name;
  Move move;                 ///< empty: no figures
  bool own_threads = false;  ///< not those of the bench's pool
  std::vector<double> us;    ///< of a call, by turn, as measured so far
  int repeats = 0;           ///< calls of a turn; 0: not known yet

  double min_us() const;
  double median_us() const;
  /// Mean of the faster half of the turns. What disturbs a turn only adds to it; but the one turn
  /// that nothing disturbed is luck where a figure depends on what other cores do with a cache.
  double fast_half_us() const;
};

struct Settings {
  int rounds = 1;          ///< turns of each contender in each pass over all cases
  double batch_us = 1000;  ///< one turn of a contender
  bool cold = false;       ///< caches are emptied of both buffers before each call
  int threads = 1;
};

/// Runs the entries that have a move in turn over buffers of the case. The first entry is the
/// baseline and has buffers of half the bytes each.
void measure(const Case& c, std::vector<Entry>& all, const Settings& settings);

/// Whether the move gives the bytes of the conversion's oracle.
bool agrees(const Case& c, const Move& move);

}  // namespace stowage::bench
