// SPDX-License-Identifier: Apache-2.0
#include "stowage/mat.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/index.h"
#include "base/text.h"
#include "mat/shape.h"

namespace stowage {

namespace {

MatShape empty_shape() {
  MatShape s;
  s.w = s.h = s.d = s.c = 0;
  s.elemsize = 0;
  s.elempack = 0;
  return s;
}

/// The header of memory that the caller gives without a cstep.
MatShape dense_shape(const MatShape& shape) {
  MatShape s = shape.complete();
  const bool one_plane = s.c <= 1;
  if (!one_plane && s.cstep != s.plane()) {
    fail(ErrorCode::usage, "planes of ", s.plane(), " elements of ", s.elemsize,
         " bytes may lie one behind the other or, as in ncnn, ", s.cstep,
         " elements from each other; say which with Mat::wrap and cstep");
  }
  s.cstep = s.plane();
  s.nstep = 0;
  return s.complete();
}

void check_part(const char* what, int first, int count, int all) {
  if (first < 0 || count < 0 || first > all - count) {
    fail(ErrorCode::usage, what, " ", first, " to ", std::int64_t{first} + count,
         " of a Mat that has ", all);
  }
}

/// Where plane (sample, channel) begins, in elements.
std::size_t plane_start(const MatShape& s, int sample, int channel) {
  return s.nstep * idx(sample) + s.cstep * idx(channel);
}

/// Bytes for all samples, the gap behind the last included.
std::size_t memory_of(const MatShape& s) { return s.nstep * idx(s.n) * s.elemsize; }

}  // namespace

Mat::Mat() noexcept : MatShape(empty_shape()) {}

Mat::Mat(const MatShape& shape) : MatShape(shape.complete()) {
  if (total() == 0) return;
  data = allocate_zeroed(memory_of(*this) + kVectorSlack);
  owner_ = std::shared_ptr<void>(data, [](void* p) { std::free(p); });
}

Mat new_mat(const MatShape& shape) {
  Mat mat;
  static_cast<MatShape&>(mat) = shape.complete();
  if (mat.total() == 0) return mat;
  const std::size_t memory = memory_of(mat);
  const std::size_t bytes = idx(round_up(static_cast<std::int64_t>(memory + kVectorSlack),
                                         static_cast<std::int64_t>(kAlignment)));
  mat.data = allocate(bytes);
  mat.owner_ = std::shared_ptr<void>(mat.data, [](void* p) { std::free(p); });
  // What lies between planes and samples would otherwise be what the memory held before.
  auto* const begin = static_cast<std::byte*>(mat.data);
  const auto clear = [&](std::size_t from, std::size_t to) {
    std::memset(begin + from * mat.elemsize, 0, (to - from) * mat.elemsize);
  };
  for (int sample = 0; sample < mat.n; ++sample) {
    for (int q = 0; q < mat.c && mat.cstep != mat.plane(); ++q) {
      const std::size_t start = plane_start(mat, sample, q);
      clear(start + mat.plane(), start + mat.cstep);
    }
    if (mat.n > 1) {
      const std::size_t start = plane_start(mat, sample, 0);
      clear(start + mat.total(), start + mat.nstep);
    }
  }
  std::memset(begin + memory, 0, bytes - memory);
  return mat;
}

bool can_reuse(const Mat& mat, const MatShape& shape) {
  if (mat.data == nullptr || mat.use_count() > 1) return false;
  const auto without_steps = [](MatShape s) {
    s.cstep = s.nstep = 0;
    return s;
  };
  const MatShape own = mat, wanted = shape.complete();
  const MatShape extents = without_steps(wanted);
  return without_steps(own) == extents && (wanted == extents.complete() || wanted == own);
}

Mat target_mat(const Mat& dst, const Mat& src, const MatShape& shape) {
  return can_reuse(dst, shape) && !overlap(src, dst) ? dst : new_mat(shape);
}

bool overlap(const Mat& a, const Mat& b) {
  const auto* const x = static_cast<const std::byte*>(a.data);
  const auto* const y = static_cast<const std::byte*>(b.data);
  const std::less<> before;
  return before(x, y + b.bytes()) && before(y, x + a.bytes());
}

Mat::Mat(int w_, void* memory, std::size_t elemsize_, int elempack_)
    : Mat(wrap(dense_shape(of(w_, elemsize_, elempack_)), memory)) {}

Mat::Mat(int w_, int h_, void* memory, std::size_t elemsize_, int elempack_)
    : Mat(wrap(dense_shape(of(w_, h_, elemsize_, elempack_)), memory)) {}

Mat::Mat(int w_, int h_, int c_, void* memory, std::size_t elemsize_, int elempack_)
    : Mat(wrap(dense_shape(of(w_, h_, c_, elemsize_, elempack_)), memory)) {}

Mat::Mat(int w_, int h_, int d_, int c_, void* memory, std::size_t elemsize_, int elempack_)
    : Mat(wrap(dense_shape(of(w_, h_, d_, c_, elemsize_, elempack_)), memory)) {}

Mat Mat::wrap(const MatShape& shape, void* memory, std::shared_ptr<void> owner) {
  Mat mat;
  static_cast<MatShape&>(mat) = shape.complete();
  if (memory == nullptr && mat.total() != 0) {
    fail(ErrorCode::usage, "a Mat of ", mat_text(mat), " over no memory");
  }
  mat.data = memory;
  mat.owner_ = std::move(owner);
  return mat;
}

Mat Mat::wrap(const MutableTensorView& tensor) {
  const std::optional<MatShape> shape = mat_shape(tensor.mapping);
  if (!shape.has_value()) {
    fail(ErrorCode::usage, "a tensor of ", tensor.mapping.shape().text(), " in layout ",
         tensor.mapping.layout().text(), " does not lie as a Mat does");
  }
  return wrap(*shape, tensor.data);
}

Mat Mat::wrap(Tensor tensor) {
  const auto kept = std::make_shared<Tensor>(std::move(tensor));
  Mat mat = wrap(kept->mutable_view());
  mat.owner_ = kept;
  return mat;
}

void Mat::create(const MatShape& shape) {
  if (shape.dims == 0) return release();
  const MatShape wanted = shape.complete();
  if (can_reuse(*this, wanted)) return;
  *this = Mat(wanted);
}

MatShape Mat::shape() const noexcept {
  MatShape s = *this;
  if (elempack > 1) {
    s.packed_extent() *= elempack;
    s.elemsize = lane_bytes();
    s.elempack = 1;
  }
  s.nstep = 0;
  s.cstep = s.standard_cstep();
  return s;
}

Mat Mat::clone() const {
  if (empty()) return with(*this);
  MatShape s = *this;
  s.cstep = s.nstep = 0;
  Mat out = new_mat(s);
  for (int sample = 0; sample < n; ++sample) {
    for (int q = 0; q < c; ++q) {
      std::memcpy(static_cast<std::byte*>(out.data) + plane_start(out, sample, q) * elemsize,
                  static_cast<const std::byte*>(data) + plane_start(*this, sample, q) * elemsize,
                  plane() * elemsize);
    }
  }
  return out;
}

Mat Mat::with(const MatShape& shape, std::size_t first_element) const {
  Mat out;
  static_cast<MatShape&>(out) = shape;
  out.data = data == nullptr ? nullptr : static_cast<std::byte*>(data) + first_element * elemsize;
  out.owner_ = owner_;
  return out;
}

Mat Mat::reshape(int w_) const { return reshaped(of(w_)); }

Mat Mat::reshape(int w_, int h_) const { return reshaped(of(w_, h_)); }

Mat Mat::reshape(int w_, int h_, int c_) const { return reshaped(of(w_, h_, c_)); }

Mat Mat::reshape(int w_, int h_, int d_, int c_) const { return reshaped(of(w_, h_, d_, c_)); }

Mat Mat::reshaped(MatShape shape) const {
  shape.elemsize = std::max<std::size_t>(elemsize, 1);
  shape.elempack = std::max(elempack, 1);
  shape.n = n;
  shape = shape.complete();
  const std::size_t count = plane() * idx(c);
  if (shape.plane() * idx(shape.c) != count) {
    fail(ErrorCode::usage, "a Mat of ", mat_text(*this), " has not as many elements as one of w ",
         shape.w, ", h ", shape.h, ", d ", shape.d, ", c ", shape.c);
  }
  if (empty()) return Mat(shape);
  const bool solid = c <= 1 || cstep == plane();
  const bool one_plane = shape.c <= 1;
  const bool same_planes = shape.c == c;
  if (same_planes || (solid && (one_plane || shape.cstep == shape.plane()))) {
    shape.cstep = same_planes && c > 1 ? cstep : shape.plane();
    shape.nstep = nstep;
    return with(shape.complete());
  }
  // Runs of elements that neither side interrupts.
  Mat out = new_mat(shape);
  for (int sample = 0; sample < n; ++sample) {
    for (std::size_t i = 0; i < count;) {
      const std::size_t here = i % plane(), there = i % out.plane();
      const std::size_t run = std::min(plane() - here, out.plane() - there);
      const std::size_t from = plane_start(*this, sample, static_cast<int>(i / plane())) + here;
      const std::size_t to = plane_start(out, sample, static_cast<int>(i / out.plane())) + there;
      std::memcpy(static_cast<std::byte*>(out.data) + to * elemsize,
                  static_cast<const std::byte*>(data) + from * elemsize, run * elemsize);
      i += run;
    }
  }
  return out;
}

Mat Mat::batch_range(int first, int count) const {
  check_part("samples", first, count, n);
  if (count == 0) fail(ErrorCode::usage, "a batch of no samples");
  MatShape s = *this;
  s.n = count;
  if (count == 1) s.nstep = s.cstep * idx(c);
  return with(s, plane_start(*this, first, 0));
}

Mat Mat::sample_part(const char* what, MatShape shape, std::size_t first_element) const {
  if (n != 1) fail(ErrorCode::usage, what, " of a batch of ", n, " samples; take one with batch()");
  shape.elemsize = elemsize;
  shape.elempack = elempack;
  if (shape.cstep == 0) shape.cstep = shape.plane();
  shape.nstep = shape.cstep * idx(shape.c);
  return with(shape, first_element);
}

Mat Mat::channel(int index) const {
  check_part("channels", index, 1, c);
  if (dims < 3) return sample_part("a channel", dims == 1 ? of(w) : of(w, h), 0);
  // Slices of a volume follow each other without a gap, whatever ncnn's cstep of them would be.
  return sample_part("a channel", dims == 3 ? of(w, h) : of(w, h, d), plane_start(*this, 0, index));
}

Mat Mat::channel_range(int first, int count) const {
  if (dims < 3) fail(ErrorCode::usage, "a Mat of dims ", dims, " has no channels");
  check_part("channels", first, count, c);
  MatShape s = *this;
  s.c = count;
  if (n == 1) s.nstep = s.cstep * idx(count);
  return with(s, plane_start(*this, 0, first));
}

/// A volume that was taken from dims 4 has its slices as channels.
int Mat::slices() const {
  if (dims == 4) return d;
  if (dims == 3 && (c <= 1 || cstep == plane())) return c;
  fail(ErrorCode::usage, "a Mat of dims ", dims, dims == 3 ? " with gaps" : "", " has no depth");
}

Mat Mat::depth(int index) const {
  check_part("slices", index, 1, slices());
  const std::size_t slice = idx(w) * idx(h);
  return sample_part("a slice", of(w, h), slice * idx(index));
}

Mat Mat::depth_range(int first, int count) const {
  check_part("slices", first, count, slices());
  const std::size_t slice = idx(w) * idx(h);
  MatShape s = of(w, h, count);
  s.cstep = slice;
  return sample_part("slices", s, slice * idx(first));
}

Mat Mat::row_range(int first, int count) const {
  if (dims != 2) fail(ErrorCode::usage, "rows of a Mat of dims ", dims, "; take a channel first");
  check_part("rows", first, count, h);
  return sample_part("rows", of(w, count), idx(w) * idx(first));
}

Mat Mat::range(int first, int count) const {
  if (dims != 1 && dims != 2) {
    fail(ErrorCode::usage, "a range of a Mat of dims ", dims, "; take a channel first");
  }
  const std::int64_t all = static_cast<std::int64_t>(plane());
  check_part("elements", first, count, static_cast<int>(std::min<std::int64_t>(all, INT32_MAX)));
  return sample_part("a range", of(count), idx(first));
}

void Mat::expect_type(std::size_t size) const {
  if (size == lane_bytes() || size == elemsize) return;
  fail(ErrorCode::usage, "a type of ", size, " bytes for scalars of ", lane_bytes(),
       " and elements of ", elemsize);
}

void Mat::fill_with(const void* value, std::size_t size) noexcept {
  if (empty()) return;
  const std::size_t run = plane() * elemsize;
  auto* const begin = static_cast<std::byte*>(data);
  for (std::size_t done = 0; done < run;) {
    // The pattern doubles from what is there.
    const std::size_t count = std::min(std::max(done, size), run - done);
    std::memcpy(begin + done, done == 0 ? value : begin, count);
    done += count;
  }
  for (int sample = 0; sample < n; ++sample) {
    for (int q = 0; q < c; ++q) {
      std::byte* const to = begin + plane_start(*this, sample, q) * elemsize;
      if (to != begin) std::memcpy(to, begin, run);
    }
  }
}

void* Mat::row_address(int y, std::size_t size) const {
  expect_type(size);
  check_part("rows", y, 1, h);
  const std::size_t first = idx(w) * idx(y);
  return static_cast<std::byte*>(data) + first * elemsize;
}

void* Mat::element_address(const int* index, std::size_t count, std::size_t size) const {
  if (size != elemsize) {
    fail(ErrorCode::usage, "a type of ", size, " bytes for elements of ", elemsize);
  }
  if (n != 1)
    fail(ErrorCode::usage, "an element of a batch of ", n, " samples; take one with batch()");
  if (static_cast<int>(count) != dims) {
    fail(ErrorCode::usage, count, " coordinates for a Mat of dims ", dims);
  }
  const int extents[4] = {w, h, dims == 3 ? c : d, c};
  const std::size_t row = idx(w), slice = row * idx(h);
  const std::size_t steps[4] = {1, row, dims == 3 ? cstep : slice, cstep};
  std::size_t element = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (index[i] < 0 || index[i] >= extents[i]) {
      fail(ErrorCode::usage, "coordinate ", i, " is ", index[i], " in a Mat of ", mat_text(*this));
    }
    element += steps[i] * idx(index[i]);
  }
  return static_cast<std::byte*>(data) + element * elemsize;
}

void* Mat::float_address(std::size_t i) const {
  if (lane_bytes() != sizeof(float) || n != 1) {
    fail(ErrorCode::usage, "a Mat of ", mat_text(*this), ", n ", n,
         " is no row of floats; use at, row or batch");
  }
  const std::size_t count = total() * idx(elempack);
  if (i >= count) fail(ErrorCode::usage, "float ", i, " of ", count);
  return static_cast<float*>(data) + i;
}

void Mat::substract_mean_normalize(const float* mean, const float* norm) {
  normalize(mean, 1, norm, 1, empty() ? 0 : idx(packed_extent()) * idx(elempack));
}

void Mat::substract_mean_normalize(std::span<const float> mean, std::span<const float> norm) {
  if (empty()) return;
  const std::size_t all = idx(packed_extent()) * idx(elempack);
  std::size_t scalars = all;
  for (const std::span<const float> list : {mean, norm}) {
    if (list.size() <= 1) continue;
    const bool other = scalars != all && list.size() != scalars;
    if (other || list.size() + idx(elempack) <= all || list.size() > all) {
      fail(ErrorCode::usage, "mean and norm have ", mean.size(), " and ", norm.size(),
           " values for ", packed_extent(), " packs of ", elempack, " scalars");
    }
    scalars = list.size();
  }
  normalize(mean.empty() ? nullptr : mean.data(), mean.size() > 1 ? 1 : 0,
            norm.empty() ? nullptr : norm.data(), norm.size() > 1 ? 1 : 0, scalars);
}

void Mat::normalize(const float* mean, std::size_t mean_step, const float* norm,
                    std::size_t norm_step, std::size_t scalars) {
  if (empty() || (mean == nullptr && norm == nullptr)) return;
  if (lane_bytes() != sizeof(float)) {
    fail(ErrorCode::usage, "mean and norm are for floats; these scalars have ", lane_bytes(),
         " bytes");
  }
  // Runs of elements along which mean and norm stay the same.
  const std::size_t run = dims == 1 ? 1 : dims == 2 ? idx(w) : plane();
  const std::size_t step = dims < 3 ? run : cstep;
  const auto lanes = idx(elempack);
  for (int sample = 0; sample < n; ++sample) {
    for (int q = 0; q < packed_extent(); ++q) {
      auto* const x = static_cast<float*>(data) + (nstep * idx(sample) + step * idx(q)) * lanes;
      for (std::size_t k = 0; k < lanes && idx(q) * lanes + k < scalars; ++k) {
        const std::size_t i = idx(q) * lanes + k;
        const float m = mean == nullptr ? 0.0f : mean[i * mean_step];
        const float s = norm == nullptr ? 1.0f : norm[i * norm_step];
        for (std::size_t j = 0; j < run; ++j) x[j * lanes + k] = (x[j * lanes + k] - m) * s;
      }
    }
  }
}

TensorView Mat::view(DType dtype, std::int64_t scalars) const {
  if (lane_bytes() != idx(dtype_bytes(dtype))) {
    fail(ErrorCode::usage, "a view of ", dtype_name(dtype), " over scalars of ", lane_bytes(),
         " bytes");
  }
  return {dtype, mat_mapping(*this, dtype_bytes(dtype), scalars), data};
}

MutableTensorView Mat::mutable_view(DType dtype, std::int64_t scalars) {
  const TensorView seen = view(dtype, scalars);
  return {dtype, seen.mapping, data};
}

}  // namespace stowage
