// SPDX-License-Identifier: Apache-2.0
#include "kernels/recurrent/walk.h"

namespace stowage {

namespace {

/// Products of a thread's part of the sums that are worth the wait for the last of them: about a
/// microsecond.
constexpr std::int64_t kWorthSharing = std::int64_t{1} << 15;

}  // namespace

SequenceTask::SequenceTask(const Sequences& s, const SequenceData<float>& data, std::int64_t d,
                           std::int64_t first, std::int64_t last, float* memory, ThreadPool* pool)
    : s_(s), data_(data), direction_(d), count_(last - first), memory_(memory), pool_(pool) {
  for (std::int64_t i = 0; i < count_; ++i) {
    const Member m{first + i, length_of(s, data, first + i)};
    std::int64_t at = i;
    for (; at > 0 && member(at - 1).length < m.length; --at) {
      members_[static_cast<std::size_t>(at)] = member(at - 1);
    }
    members_[static_cast<std::size_t>(at)] = m;
  }
}

Rows SequenceTask::take_bias(const float* a, const float* b, std::int64_t columns) {
  if (a == nullptr) return {};
  const Rows row{take(sums_stride(columns)).first, 0};
  for (std::int64_t j = 0; j < columns; ++j) row.first[j] = b == nullptr ? a[j] : a[j] + b[j];
  return row;
}

void SequenceTask::load_states(const float* given, std::int64_t width, Rows rows) const {
  for (std::int64_t i = 0; i < count_ && given != nullptr; ++i) {
    std::copy_n(given + s_.state_at(direction_, member(i).batch, width), width, rows[i]);
  }
}

void SequenceTask::store_states(Rows rows, std::int64_t width, float* out) const {
  for (std::int64_t i = 0; i < count_ && out != nullptr; ++i) {
    std::copy_n(rows[i], width, out + s_.state_at(direction_, member(i).batch, width));
  }
}

void SequenceTask::add(const float* const* x, std::int64_t rows, const GateWeights& w, Rows from,
                       Rows to) const {
  const std::int64_t products = rows * w.count * w.panels * kGatePanel;
  const std::int64_t threads = pool_ == nullptr ? 1 : pool_->threads();
  const std::int64_t shares = std::clamp<std::int64_t>(products / kWorthSharing, 1, threads);
  const auto share = [&](std::size_t i) {
    const std::int64_t at = static_cast<std::int64_t>(i), first = at * w.panels / shares;
    const GateWeights part = w.part(first, (at + 1) * w.panels / shares - first);
    const std::int64_t column = first * kGatePanel;
    add_gates(x, rows, part.count, part.data, part.panels, from.columns_from(column),
              to.columns_from(column));
  };
  parallel(pool_, static_cast<std::size_t>(shares), share);
}

void SequenceTask::add(Rows x, std::int64_t rows, const GateWeights& w, Rows from, Rows to) const {
  std::array<const float*, kSideBySide> pointers;
  for (std::int64_t i = 0; i < rows; ++i) pointers[static_cast<std::size_t>(i)] = x[i];
  add(pointers.data(), rows, w, from, to);
}

void SequenceTask::give_out(std::int64_t k, std::int64_t rows, Rows h) const {
  for (std::int64_t i = 0; i < rows && data_.y != nullptr; ++i) {
    const Member& m = member(i);
    std::copy_n(h[i], s_.outputs, data_.y + s_.y_at(time(k, m), direction_, m.batch));
  }
}

void SequenceTask::finish(Rows h) const {
  for (std::int64_t i = 0; i < count_ && data_.y != nullptr; ++i) {
    for (std::int64_t t = member(i).length; t < s_.steps; ++t) {
      std::fill_n(data_.y + s_.y_at(t, direction_, member(i).batch), s_.outputs, 0.0f);
    }
  }
  store_states(h, s_.outputs, data_.y_h);
}

}  // namespace stowage
