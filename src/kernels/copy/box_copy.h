// SPDX-License-Identifier: Apache-2.0
// Copies between two tensors in which every axis is mapped by itself: cuts, steps, reflections,
// repetitions. In any layout, because an offset is a sum over axes.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/copy/digit_loops.h"
#include "kernels/kernel.h"

namespace stowage {

class Fill;

/// Walks the cells of one tensor; index x of its axis i belongs to index map(i, x) of the same
/// axis of the other tensor. Both have the same rank and the same dtype.
class BoxCopy {
 public:
  /// -1: the walked element has no partner and is left alone.
  using IndexMap = std::function<std::int64_t(int axis, std::int64_t x)>;

  enum class Direction { into_walked, from_walked };

  /// `map` is asked for 0 <= x < extent, and when copying from the walked tensor also for its
  /// tail: partners of tail cells must be tail cells, or they are left alone.
  BoxCopy(const Mapping& walked, const Mapping& other, Direction direction, const IndexMap& map);

  /// `from` and `to` point at cell 0. Tails of the destination are not cleaned. `fill`, if there is
  /// one, is written first.
  void run(const std::byte* from, std::byte* to, ThreadPool* pool,
           const Fill* fill = nullptr) const noexcept;

  /// The parts in which `run` shares the work, in the order in which they lie in the walked tensor.
  std::int64_t tasks() const noexcept;
  /// Part `task`. `fill` writes the walked tensor up to where the next part begins; null: nothing.
  void run_task(std::int64_t task, const std::byte* from, std::byte* to,
                const Fill* fill = nullptr) const noexcept;

  /// The same address on both sides: `from` lies in `to` or `to` in `from`, and nothing moves.
  bool in_place(const std::byte* from, const std::byte* to) const noexcept;

  /// Contiguous pieces that are moved: a measure of the work beside the bytes.
  double pieces() const;

 private:
  struct Entry {
    std::int64_t walked = 0, other = 0, run = 1;
  };

  /// Evenly strided, or a table when `entries` is not empty.
  struct Loop {
    std::int64_t extent = 1, walked = 0, other = 0;
    std::vector<Entry> entries;
    std::int64_t order = 0;  ///< stride in the walked tensor, to sort by

    std::int64_t count() const {
      return entries.empty() ? extent : static_cast<std::int64_t>(entries.size());
    }
  };

  void add_axis(const Mapping& walked, const Mapping& other, int axis, const IndexMap& map);
  bool add_strided(const Mapping& walked, const Mapping& other, int axis, const IndexMap& map);
  void add_table(const Mapping& walked, const Mapping& other, int axis, const IndexMap& map);
  bool add_even(const std::vector<Entry>& entries);
  void share_out_run();
  void take_table();
  void take_middle();
  std::int64_t task_pieces() const noexcept;
  void move(std::int64_t walked, std::int64_t other, const std::byte* from,
            std::byte* to) const noexcept;

  Direction direction_;
  std::int64_t size_;
  std::int64_t walked_first_ = 0, other_first_ = 0;
  std::vector<Loop> outer_;
  Loop middle_, inner_;  ///< what `move` does; a middle loop is evenly strided
  std::int64_t outer_count_ = 1;
  bool in_order_ = false;  ///< each piece of the walked tensor begins behind the one before
};

/// Offset in the linear view that index x of an axis contributes.
std::int64_t axis_offset(const Mapping& mapping, int axis, std::int64_t x);

/// Where in `whole`, in bytes, the cells of `part` lie, which is its index range of `axis` from
/// `begin` on in the same layout. Nothing unless they are one aligned stretch with nothing else in
/// it, tails and gaps included.
std::optional<std::size_t> part_offset(const Mapping& whole, const Mapping& part, int axis,
                                       std::int64_t begin);

/// What the parameters of every copy begin with. A struct derived from it adds
/// `BoxCopy::IndexMap map(const BindArgs&) const`, which maps an index of the output to one of the
/// input, and its fields.
struct CopyParams {
  Mapping to, from;                   ///< over the same axes
  Mapping written;                    ///< the output as its value has it: `to`, or a relabel of it
  std::optional<std::uint64_t> fill;  ///< bits of the element that is written everywhere before

  void fields(Archive& a) { a("to", to)("from", from)("written", written)("fill", fill); }
};

/// Writes one element into every cell but the gaps.
class Fill {
 public:
  Fill(const Mapping& mapping, std::uint64_t bits);

  /// Of a mapping without gaps; 0 of another.
  std::int64_t cells() const noexcept { return loops_.empty() ? run_ : 0; }

  void run(std::byte* data) const noexcept;
  /// The cells from `begin` to `end` of a mapping without gaps.
  void run(std::byte* data, std::int64_t begin, std::int64_t end) const noexcept;

 private:
  template <class F>
  void with_type(F&& f) const noexcept;

  std::uint64_t bits_;
  int size_;
  std::vector<StridedLoop<1>> loops_;
  std::int64_t run_ = 1;
};

struct BoundCopy {
  BoxCopy copy;
  std::optional<Fill> fill;
  TailZero tails;
};

BoundCopy bind_copy(const CopyParams& p, const BoxCopy::IndexMap& map);
void run_copy(const BoundCopy& bound, const KernelArgs& args) noexcept;

template <class P>
BoundCopy bind_copy_of(const P& p, const BindArgs& args) {
  return bind_copy(p, p.map(args));
}

template <class P>
constexpr KernelDef copy_row(std::string_view name) {
  return kernel_def<P, bind_copy_of<P>, run_copy>(name);
}

}  // namespace stowage
