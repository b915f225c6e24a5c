// SPDX-License-Identifier: Apache-2.0
// Copies between two tensors in which every axis is mapped by itself: cuts, steps, reflections,
// repetitions. In any layout, because an offset is a sum over axes.
#pragma once

#include <functional>
#include <vector>

#include "graph/op_def.h"
#include "ops/digit_loops.h"

namespace stowage {

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

  /// `walked` and `other` point at cell 0. Tails of the destination are not cleaned.
  void run(const std::byte* from, std::byte* to, ThreadPool* pool) const noexcept;

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
  void share_out_run();
  void move(std::int64_t walked, std::int64_t other, const std::byte* from,
            std::byte* to) const noexcept;

  Direction direction_;
  std::int64_t size_;
  std::int64_t walked_first_ = 0, other_first_ = 0;
  std::vector<Loop> outer_;
  Loop inner_;  ///< innermost: what `move` does
  std::int64_t outer_count_ = 1;
};

/// Offset in the linear view that index x of an axis contributes.
std::int64_t axis_offset(const Mapping& mapping, int axis, std::int64_t x);

/// Input 0 of the node in the layout of the output, axis by axis of the same position.
Layout same_position_layout(const Shape& from, const Shape& to, const Layout& layout);

/// Layouts of output 0 worth offering: its candidates and those of input 0, by position.
std::vector<Layout> position_layouts(const OfferRequest& request);

/// Offers output 0 as elements of input 0 chosen axis by axis, in every layout, after filling it
/// with `fill` (one element) when that is not null.
void offer_box_copy(const OfferRequest& request, std::vector<Offer>& out, std::string_view kernel,
                    const BoxCopy::IndexMap& map, std::shared_ptr<const Tensor> fill = nullptr);

/// The work of copies that move `bytes` in `pieces`, as flops at efficiency 1.
double copy_flops(double pieces);

}  // namespace stowage
