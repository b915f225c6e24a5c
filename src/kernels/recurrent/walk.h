// SPDX-License-Identifier: Apache-2.0
// How kernels walk over sequences: a task takes several of a direction side by side, so that a
// weight that is loaded serves all of them, and makes the sums over the inputs of some steps ahead,
// which wait for no state. Each sum adds its products in one order, whatever is side by side, so
// results do not depend on the batch nor on the number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/thread_pool.h"
#include "kernels/kernel.h"
#include "kernels/recurrent/gates.h"
#include "kernels/recurrent/sequences.h"

namespace stowage {

/// Sequences that a task takes: as many rows as fit into registers beside their weights.
inline constexpr std::int64_t kSideBySide = 8;

/// Steps whose sums over the inputs are made at once. A sequence alone fills a tile of rows with
/// them; more would read the weights of the inputs less often, and take more working memory.
inline constexpr std::int64_t kStepsAhead = 8;

/// Weights of one direction, in panels.
struct GateWeights {
  const float* data;
  std::int64_t count, panels;  ///< rows; panels of columns

  /// Those of direction `d`, where all directions' lie behind each other at `all`, which may be
  /// null.
  GateWeights(const float* all, std::int64_t d, std::int64_t in_count, std::int64_t in_panels)
      : data(all == nullptr ? all : all + d * in_count * in_panels * kGatePanel),
        count(in_count),
        panels(in_panels) {}

  GateWeights part(std::int64_t first, std::int64_t size) const {
    GateWeights w = *this;
    w.data += first * count * kGatePanel;
    w.panels = size;
    return w;
  }
};

/// Floats of a row of a state, which may be written in whole panels.
inline std::int64_t state_stride(std::int64_t elements) { return round_up(elements, kGatePanel); }

/// Floats of a row of sums, and of what update functions read behind it.
inline std::int64_t sums_stride(std::int64_t columns) {
  return round_up(columns, kGatePanel) + static_cast<std::int64_t>(kAlignment / sizeof(float));
}

/// Floats of `rows` rows of sums, and of those over the inputs of the steps ahead.
inline std::int64_t sums_floats(const Sequences& s, std::int64_t columns, std::int64_t rows) {
  return checked_mul(rows + std::min(s.steps, kStepsAhead), sums_stride(columns));
}

/// Sequences of one direction side by side, the longest first, and their working memory.
class SequenceTask {
 public:
  /// Batches first..last. `pool`: null where other tasks run beside this one.
  SequenceTask(const Sequences& s, const SequenceData<float>& data, std::int64_t d,
               std::int64_t first, std::int64_t last, float* memory, ThreadPool* pool);

  std::int64_t direction() const { return direction_; }

  /// A row of working memory for each sequence, zero.
  Rows take(std::int64_t stride) {
    const Rows rows{memory_, stride};
    memory_ += count_ * stride;
    std::fill_n(rows.first, count_ * stride, 0.0f);
    return rows;
  }

  /// A row of working memory with the sums of two biases, the second of which may be null; none
  /// where the first is.
  Rows take_bias(const float* a, const float* b, std::int64_t columns);

  /// States of `width` elements: from `given` into rows of working memory, and from there to `out`.
  /// Nothing where there is no operand.
  void load_states(const float* given, std::int64_t width, Rows rows) const;
  void store_states(Rows rows, std::int64_t width, float* out) const;

  /// to[i] = from[i] + x[i] times `w`; a null `from` is zero.
  void add(const float* const* x, std::int64_t rows, const GateWeights& w, Rows from,
           Rows to) const;
  void add(Rows x, std::int64_t rows, const GateWeights& w, Rows from, Rows to) const;

  /// step(sums, rows) makes the next `h` of the first `rows` sequences. `sums`: those over the
  /// inputs, which begin with `bias`.
  template <class Step>
  void walk(const GateWeights& w, Rows bias, Rows h, const Step& step);

 private:
  struct Member {
    std::int64_t batch, length;
  };

  const Member& member(std::int64_t i) const { return members_[static_cast<std::size_t>(i)]; }

  std::int64_t time(std::int64_t k, const Member& m) const {
    return s_.step(direction_, k, m.length);
  }

  /// Sequences that have a k-th step.
  std::int64_t rows_at(std::int64_t k) const {
    std::int64_t rows = 0;
    while (rows < count_ && member(rows).length > k) ++rows;
    return rows;
  }

  void give_out(std::int64_t k, std::int64_t rows, Rows h) const;
  void finish(Rows h) const;

  const Sequences& s_;
  const SequenceData<float>& data_;
  std::int64_t direction_, count_;
  float* memory_;
  ThreadPool* pool_;
  std::array<Member, kSideBySide> members_ = {};
};

template <class Step>
void SequenceTask::walk(const GateWeights& w, Rows bias, Rows h, const Step& step) {
  const Rows sums{memory_, sums_stride(w.panels * kGatePanel)};
  load_states(data_.h, s_.outputs, h);
  const std::int64_t longest = member(0).length;
  for (std::int64_t begin = 0; begin < longest; begin += kStepsAhead) {
    const std::int64_t end = std::min(begin + kStepsAhead, longest);
    std::array<const float*, kStepsAhead * kSideBySide> x;
    std::int64_t row = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t rows = rows_at(k);
      for (std::int64_t i = 0; i < rows; ++i, ++row) {
        x[static_cast<std::size_t>(row)] = data_.x + s_.x_at(time(k, member(i)), member(i).batch);
      }
    }
    add(x.data(), row, w, bias, sums);
    row = 0;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t rows = rows_at(k);
      step(Rows{sums[row], sums.stride}, rows);
      give_out(k, rows, h);
      row += rows;
    }
  }
  finish(h);
}

/// Tasks that share the batch of a direction: so many that each thread has as much to do, where the
/// batch allows it.
inline std::int64_t groups_of(const Sequences& s, std::int64_t threads) {
  return std::min(s.batch,
                  round_up(ceil_div(s.batch, kSideBySide), ceil_div(threads, s.directions)));
}

/// f(task) for all sequences. `floats`: working memory of each, sums of the steps ahead among it.
template <class F>
void each_task(const Sequences& s, const SequenceData<float>& data, std::int64_t floats,
               const KernelArgs& args, const F& f) noexcept {
  const std::int64_t threads = args.pool == nullptr ? 1 : args.pool->threads();
  const std::int64_t groups = groups_of(s, threads);
  const std::int64_t tasks = s.directions * groups;
  ThreadPool* within = tasks == 1 ? args.pool : nullptr;
  parallel(args.pool, static_cast<std::size_t>(tasks), [&](std::size_t i) {
    const auto task = static_cast<std::int64_t>(i);
    const std::int64_t d = task / groups, group = task % groups;
    const std::int64_t first = group * s.batch / groups, last = (group + 1) * s.batch / groups;
    float* memory = reinterpret_cast<float*>(args.scratch) + (d * s.batch + first) * floats;
    f(SequenceTask(s, data, d, first, last, memory, within));
  });
}

}  // namespace stowage
