// SPDX-License-Identifier: Apache-2.0
#include "convert/nest.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "base/text.h"

namespace stowage::conversion {
namespace {

/// Longer than any axis: "no further digit".
constexpr std::int64_t kBeyond = std::int64_t{1} << 60;

/// lcm, or kBeyond.
std::int64_t bounded_lcm(std::int64_t a, std::int64_t b) {
  std::int64_t out;
  if (__builtin_mul_overflow(a / std::gcd(a, b), b, &out) || out > kBeyond) return kBeyond;
  return out;
}

}  // namespace

void normalise(Nest& nest) noexcept {
  auto* const begin = nest.loops.data();
  auto* const end = begin + nest.count;
  for (Loop* i = begin + (begin != end); i < end; ++i) {  // insertion: a handful of loops
    const Loop x = *i;
    Loop* j = i;
    const auto before = [](const Loop& a, const Loop& b) {
      if ((a.dim >= 0) != (b.dim >= 0)) return b.dim >= 0;
      return a.os != b.os ? a.os < b.os : a.is < b.is;
    };
    for (; j > begin && before(x, j[-1]); --j) *j = j[-1];
    *j = x;
  }
  int kept = 0;
  for (Loop* i = begin; i < end; ++i) {
    if (kept > 0) {
      Loop& last = begin[kept - 1];
      if (last.dim < 0 && i->dim < 0 && last.valid == last.n && i->is == last.n * last.is &&
          i->os == last.n * last.os && i->ps == last.n * last.ps) {
        last.valid = last.n * i->valid;
        last.n *= i->n;
        continue;
      }
    }
    begin[kept++] = *i;
  }
  nest.count = kept;
}

Side::Side(const Mapping& mapping, int scalar_bytes)
    : shape(mapping.shape()),
      bytes(scalar_bytes),
      count(static_cast<int>(mapping.linear_digits().size())) {
  std::copy_n(mapping.linear_digits().begin(), count, digits.begin());
}

std::int64_t Side::padded(int dim) const noexcept {
  std::int64_t cells = shape[dim];
  for (int i = 0; i < count; ++i) {
    if (digits[i].dim == dim) cells = std::max(cells, digits[i].q * digits[i].e);
  }
  return shape[dim] == 0 ? 0 : cells;
}

NestPlan::NestPlan(const Side& src, const Side& dst, Axis param_axis, Fault fault) : fault_(fault) {
  const Shape& from = src.shape;
  const Shape& to = dst.shape;
  const auto add = [&](Axis name, int src_dim, int dst_dim) {
    const std::int64_t n = src_dim >= 0 ? from[src_dim] : 1;
    const std::int64_t m = dst_dim >= 0 ? to[dst_dim] : 1;
    if (n != m) {
      fail(ErrorCode::usage, "a conversion needs equal shapes, but axis '", name.name(), "' is ", n,
           " on one side and ", m, " on the other");
    }
    AxisPlan& axis = axes_[rank_++];
    axis.extent = n;
    axis.padded = dst_dim >= 0 ? dst.padded(dst_dim) : n;
    axis.is_param = name == param_axis;
    axis.joined = false;
    add_digits(src, src_dim, axis.src);
    add_digits(dst, dst_dim, axis.dst);
    refine(axis);
    cut(axis);
    copies_ *= axis.box_count;
  };
  for (int i = 0; i < from.rank(); ++i) add(from.axis(i), i, to.index_of(from.axis(i)));
  for (int i = 0; i < to.rank(); ++i) {
    if (from.index_of(to.axis(i)) < 0) add(to.axis(i), -1, i);
  }
  for (int k = 0; k < rank_; ++k) {
    BoxList boxes;
    std::int64_t product = axes_[k].covered < axes_[k].padded ? 1 : 0;
    for (int d = 0; d < rank_ && product > 0; ++d) product *= fill_range(d, k, boxes);
    fills_ += product;
  }
  if (fault_ == Fault::drop_last_box && count() > 1) --(fills_ > 0 ? fills_ : copies_);
}

void NestPlan::add_digits(const Side& side, int dim, Digits& out) {
  out.begin = radix_count_;
  for (int i = 0; i < side.count; ++i) {
    const Digit& d = side.digits[i];
    if (d.dim == dim && d.e > 1) radix_[radix_count_++] = {d.q, d.e, d.stride * side.bytes};
  }
  out.end = radix_count_;
  std::sort(radix_.begin() + out.begin, radix_.begin() + out.end,
            [](const Radix& a, const Radix& b) { return a.q < b.q; });
}

void NestPlan::refine(AxisPlan& axis) {
  std::array<std::int64_t, kMaxLevels> points;
  int count = 0;
  points[count++] = 1;
  for (const Digits& digits : {axis.src, axis.dst}) {
    for (int i = digits.begin; i < digits.end; ++i) {
      if (radix_[i].q < axis.extent) points[count++] = radix_[i].q;
    }
  }
  std::sort(points.begin(), points.begin() + count);
  count = static_cast<int>(std::unique(points.begin(), points.begin() + count) - points.begin());
  // Points below `low` divide every later one; the first that does not starts the computed level.
  int low = 0;
  for (; low < count; ++low) {
    bool divides = true;
    for (int j = low + 1; j < count; ++j) divides &= points[j] % points[low] == 0;
    if (!divides) break;
  }
  axis.level_begin = level_total_;
  axis.computed = -1;
  for (int i = 0; i < low; ++i) levels_[level_total_++] = points[i];
  if (low < count) {
    std::int64_t step = 0, period = 1;
    for (int j = low; j < count; ++j) {
      step = std::gcd(step, points[j]);
      period = bounded_lcm(period, points[j]);
    }
    if (low > 0 && levels_[level_total_ - 1] == step) --level_total_;
    axis.computed = level_total_ - axis.level_begin;
    levels_[level_total_++] = step;
    if (period < axis.extent) levels_[level_total_++] = period;
  }
  axis.level_count = level_total_ - axis.level_begin;
}

void NestPlan::cut_boxes(AxisPlan& axis, std::int64_t extent) noexcept {
  const std::int64_t* level = levels_.data() + axis.level_begin;
  axis.box_begin = box_total_;
  std::int64_t base = 0;
  for (int i = axis.level_count - 1; i >= 0; --i) {
    const std::int64_t n = (extent - base) / level[i];
    if (n == 0) continue;
    boxes_[box_total_++] = {base, n, i};
    base += n * level[i];
  }
  axis.box_count = box_total_ - axis.box_begin;
}

void NestPlan::cut(AxisPlan& axis) {
  cut_boxes(axis, axis.extent);
  const std::int64_t* level = levels_.data() + axis.level_begin;
  axis.covered = axis.extent;
  axis.last_count = axis.box_count > 0 ? boxes_[box_total_ - 1].count : 0;
  if (axis.box_count == 0 || axis.padded == axis.extent) return;
  const Box& last = boxes_[box_total_ - 1];
  if (last.level == axis.computed) return;
  const std::int64_t step = level[last.level];
  // The destination is linear in steps of `step` until its next digit carries.
  std::int64_t limit = axis.padded;
  for (int i = axis.dst.begin; i < axis.dst.end; ++i) {
    if (radix_[i].q > step)
      limit = std::min(limit, last.base + radix_[i].q - last.base % radix_[i].q);
  }
  if (fault_ == Fault::forget_tail) {
    axis.padded = axis.extent;
    return;
  }
  axis.last_count = std::max((limit - last.base) / step, last.count);
  axis.covered = last.base + axis.last_count * step;
}

bool NestPlan::join_end(AxisPlan& axis, std::int64_t most) noexcept {
  if (axis.computed >= 0 || axis.box_count == 0) return false;
  // Where the destination carries into its next digit an end begins.
  std::int64_t carry = axis.padded;
  for (int i = axis.dst.begin; i < axis.dst.end; ++i) {  // ascending
    if (const std::int64_t q = radix_[i].q; q > 1 && q < axis.padded) carry = q;
  }
  const std::int64_t begin = carry < axis.padded ? axis.extent / carry * carry : 0,
                     cells = axis.padded - begin;
  const Box* const boxes = boxes_.data() + axis.box_begin;
  const auto within =
      std::count_if(boxes, boxes + axis.box_count, [&](const Box& b) { return b.base >= begin; });
  if (begin == axis.extent || cells > std::min(carry, most) ||
      (within < 2 && axis.covered == axis.padded))
    return false;
  cut_boxes(axis, begin);
  boxes_[box_total_++] = {begin, cells, 0};
  ++axis.box_count;
  axis.covered = axis.padded;
  axis.joined = true;
  return true;
}

bool NestPlan::join_ends(std::int64_t most) noexcept {
  const NestPlan before = *this;
  bool any = false, tails = false;
  copies_ = 1;
  for (int d = 0; d < rank_; ++d) {
    any |= join_end(axes_[d], most);
    tails |= axes_[d].covered < axes_[d].padded;
    copies_ *= axes_[d].box_count;
  }
  fills_ = 0;
  if (fault_ == Fault::drop_last_box && copies_ > 1) --copies_;
  if (!any || tails) *this = before;
  return any && !tails;
}

int NestPlan::fill_boxes(const AxisPlan& axis, std::int64_t lo, std::int64_t hi,
                         BoxList& out) const noexcept {
  const int digits = axis.dst.end - axis.dst.begin;
  const auto level = [&](int i) {
    return digits == 0 ? std::int64_t{1} : radix_[axis.dst.begin + i].q;
  };
  const int levels = std::max(digits, 1);
  int count = 0;
  std::int64_t p = lo;
  for (int i = 0; i < levels && p < hi; ++i) {  // climb to the next multiple of the level above
    std::int64_t end = hi;
    if (i + 1 < levels) end = std::min(hi, round_up(p, level(i + 1)));
    const std::int64_t n = (end - p) / level(i);
    if (n > 0) out[count++] = {p, n, i};
    p += n * level(i);
  }
  for (int i = levels - 2; i >= 0 && p < hi; --i) {  // and down again
    const std::int64_t n = (hi - p) / level(i);
    if (n > 0) out[count++] = {p, n, i};
    p += n * level(i);
  }
  return count;
}

/// The cells outside the covered box, cut so that each belongs to the first axis that leaves it.
int NestPlan::fill_range(int dim, int padded_dim, BoxList& out) const noexcept {
  const AxisPlan& axis = axes_[dim];
  if (dim < padded_dim) return fill_boxes(axis, 0, axis.covered, out);
  return fill_boxes(axis, dim == padded_dim ? axis.covered : 0, axis.padded, out);
}

void NestPlan::make(std::int64_t index, Nest& out) const noexcept {
  out.src = out.dst = out.param = 0;
  out.count = 0;
  if (index < copies_) {
    make_copy(index, out);
  } else {
    make_fill(index - copies_, out);
  }
  normalise(out);
  if (fault_ == Fault::swap_source_strides && !out.fill && out.count >= 2 && out.loops[0].is > 0 &&
      out.loops[1].is > 0 && out.loops[1].dim < 0) {
    std::swap(out.loops[0].is, out.loops[1].is);
  }
  if (fault_ == Fault::short_first_loop && out.count > 0) {
    --out.loops[0].n;
    out.loops[0].valid = std::min(out.loops[0].n, out.loops[0].valid);
  }
}

void NestPlan::make_copy(std::int64_t index, Nest& out) const noexcept {
  out.fill = false;
  for (int d = 0; d < rank_; ++d) {
    const AxisPlan& axis = axes_[d];
    const std::int64_t* level = levels_.data() + axis.level_begin;
    const bool last = index % axis.box_count == axis.box_count - 1;
    const Box& box = boxes_[axis.box_begin + index % axis.box_count];
    index /= axis.box_count;
    out.src += offset(axis.src, fault_ == Fault::wrong_base ? 0 : box.base);
    out.dst += offset(axis.dst, box.base);
    out.param += axis.is_param ? box.base : 0;
    if (last && axis.joined) {
      append_end(d, out);
      continue;
    }
    for (int i = 0; i <= box.level; ++i) {
      Loop loop;
      loop.end = 0;
      loop.valid = i < box.level ? level[i + 1] / level[i] : box.count;
      loop.n = i == box.level && last ? axis.last_count : loop.valid;
      if (loop.n == 1) continue;
      loop.step = level[i];
      loop.dim = i == axis.computed ? d : -1;
      loop.is = offset(axis.src, level[i]);
      loop.os = offset(axis.dst, level[i]);
      loop.ps = axis.is_param ? level[i] : 0;
      out.loops[out.count++] = loop;
    }
  }
}

/// The digits of the last box of the axis, which is an end.
void NestPlan::append_end(int dim, Nest& out) const noexcept {
  const AxisPlan& axis = axes_[dim];
  const Box& box = boxes_[axis.box_begin + axis.box_count - 1];
  const std::int64_t* level = levels_.data() + axis.level_begin;
  for (int i = 0; i < axis.level_count && level[i] < box.count; ++i) {
    const bool top = i + 1 == axis.level_count || level[i + 1] >= box.count;
    const std::int64_t n = top ? ceil_div(box.count, level[i]) : level[i + 1] / level[i];
    out.loops[out.count++] = {.n = n,
                              .valid = axis.extent - box.base,
                              .is = offset(axis.src, level[i]),
                              .os = offset(axis.dst, level[i]),
                              .ps = axis.is_param ? level[i] : 0,
                              .step = level[i],
                              .dim = dim,
                              .end = static_cast<int>(box.count)};
  }
}

void NestPlan::make_fill(std::int64_t index, Nest& out) const noexcept {
  out.fill = true;
  BoxList boxes;
  int k = 0;
  for (;; ++k) {
    std::int64_t product = axes_[k].covered < axes_[k].padded ? 1 : 0;
    for (int d = 0; d < rank_ && product > 0; ++d) product *= fill_range(d, k, boxes);
    if (index < product || k + 1 == rank_) break;
    index -= product;
  }
  for (int d = 0; d < rank_; ++d) {
    const AxisPlan& axis = axes_[d];
    const int count = fill_range(d, k, boxes);
    const Box& box = boxes[index % count];
    index /= count;
    out.dst += offset(axis.dst, box.base);
    for (int i = 0; i <= box.level && axis.dst.begin < axis.dst.end; ++i) {
      const Radix& radix = radix_[axis.dst.begin + i];
      const std::int64_t n = i < box.level ? radix.e : box.count;
      if (n > 1) out.loops[out.count++] = {n, n, 0, radix.stride, 0, radix.q, -1};
    }
  }
}

}  // namespace stowage::conversion
