// SPDX-License-Identifier: Apache-2.0
// Pixels into Mats and out of them.
//
// Where the conversion engine can do all of it, it does it at once. Otherwise blocks of rows that
// fit a scratch are made in the right colours and size, and then converted; tasks are runs of
// blocks.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/index.h"
#include "base/text.h"
#include "mat/kept_conversion.h"
#include "mat/pixel_rows.h"
#include "mat/resized_rows.h"
#include "mat/shape.h"
#include "mat/threads.h"

namespace stowage {

namespace {

/// Of a block's samples; the planes of its colours are twice as much again. An L2 holds all of it,
/// and the two conversions of a block take longer than calling them.
constexpr std::int64_t kScratchBytes = 48 * 1024;

/// Each task has memory of its own, which takes time, too.
constexpr int kTasksPerThread = 2;

/// `rows` rows of interleaved samples, `stride` bytes from each other.
Mapping pixel_mapping(int width, int rows, int channels, std::int64_t stride) {
  const Shape shape("hwc", {rows, width, channels});
  const bool gap = rows > 1 && stride != std::int64_t{width} * channels;
  const Layout layout = gap ? Layout::parse(text("h (w c)~", stride)) : Layout::row_major(shape);
  return Mapping(layout, shape, 1);
}

/// `rows` rows of a Mat of dims 3.
Mapping rows_mapping(MatShape mat, int rows, DType dtype, int channels) {
  mat.h = rows;
  return mat_mapping(mat, dtype_bytes(dtype), channels);
}

void check_list(const char* what, std::span<const float> list, int channels) {
  if (list.size() > 1 && list.size() != idx(channels)) {
    fail(ErrorCode::usage, what, " has ", list.size(), " values for ", channels, " channels");
  }
}

std::byte* row_of(const Mat& mat, int y) {
  return static_cast<std::byte*>(mat.data) + idx(y) * idx(mat.w) * mat.elemsize;
}

/// Colours as samples, nv12 and nv21 as rgb.
PixelFormat seen_as(PixelFormat format) { return is_yuv(format) ? PixelFormat::rgb : format; }

/// The rows of a picture as blocks, and tasks of several.
struct Blocks {
  Blocks(int all_rows, std::int64_t row_bytes, const ThreadPool* pool) : height(all_rows) {
    rows = static_cast<int>(std::clamp<std::int64_t>(kScratchBytes / row_bytes, 1, height));
    const std::int64_t all = ceil_div(height, rows);
    const std::int64_t wanted =
        pool == nullptr ? 1 : std::int64_t{pool->threads()} * kTasksPerThread;
    per_task = ceil_div(all, std::min(all, wanted));
    tasks = ceil_div(all, per_task);
  }

  /// f(y, rows) for each block of a task.
  template <class F>
  void each(std::size_t task, F&& f) const {
    const auto begin = static_cast<int>(static_cast<std::int64_t>(task) * per_task * rows);
    const auto end = static_cast<int>(std::min<std::int64_t>(height, begin + per_task * rows));
    for (int y = begin; y < end; y += rows) f(y, std::min(rows, end - y));
  }

  int height, rows;
  std::int64_t per_task, tasks;
};

/// What the conversion of a block of rows depends on.
struct DirectRows {
  int width, rows, channels;
  std::ptrdiff_t stride;
  MatShape to;
  DType dtype;
  std::vector<float> mean, norm;

  friend bool operator==(const DirectRows&, const DirectRows&) = default;
};

void convert_directly(const Pixels& src, Mat& out, const FromPixels& how, int channels,
                      const ScalarMap& map, ThreadPool* pool) {
  const bool gap = src.stride != std::ptrdiff_t{src.width} * channels;
  // Behind the last row there may be nothing, and a layout of several rows has a gap behind each.
  const int most = gap ? std::max(src.height - 1, 1) : src.height;
  for (int y = 0; y < src.height; y += most) {
    const int rows = std::min(most, src.height - y);
    const DirectRows key{src.width,
                         rows,
                         channels,
                         src.stride,
                         out,
                         how.dtype,
                         {map.mean.begin(), map.mean.end()},
                         {map.norm.begin(), map.norm.end()}};
    const auto make = [&] {
      return Conversion(DType::u8, pixel_mapping(src.width, rows, channels, src.stride), how.dtype,
                        rows_mapping(out, rows, how.dtype, channels), map);
    };
    kept_conversion(key, make).run(src.data + y * src.stride, row_of(out, y), pool);
  }
}

/// The conversions of a block of so many rows.
struct BlockConversions {
  std::optional<Conversion> split;  ///< samples to planes, where colours change
  Conversion finish;
};

/// Blocks of rows in the target's size.
class RowBlocks {
 public:
  RowBlocks(const Pixels& src, int width, int height, ResizeMode mode, int most_rows)
      : src_(src), width_(width), channels_(pixel_channels(seen_as(src.format))) {
    const bool resized = src.width != width || src.height != height;
    if (resized) rows_.emplace_back(planes_of(src)[0], width, height, mode);
    direct_ = !resized && !is_yuv(src.format) && src.stride == std::ptrdiff_t{width} * channels_;
    const std::size_t pixels = idx(width) * idx(most_rows);
    if (!direct_) made_.reset(new Sample[pixels * idx(channels_)]);
    planes_.reset(new Sample[pixels * kColourPlanes]);
  }

  /// Rows y .. y + rows, one behind the other.
  const Sample* block(int y, int rows) noexcept {
    if (direct_) return src_.data + y * src_.stride;
    const std::size_t row = idx(width_) * idx(channels_);
    for (int k = 0; k < rows; ++k) {
      Sample* const to = made_.get() + idx(k) * row;
      if (is_yuv(src_.format)) {
        yuv_row(src_, y + k, to);
      } else if (!rows_.empty()) {
        rows_[0].row(y + k, to);
      } else {
        std::memcpy(to, src_.data + (y + k) * src_.stride, row);
      }
    }
    return made_.get();
  }

  Sample* planes() noexcept { return planes_.get(); }

 private:
  Pixels src_;
  int width_, channels_;
  bool direct_;
  std::vector<ResizedRows> rows_;  // one, where sizes differ
  std::unique_ptr<Sample[]> made_, planes_;
};

void convert_by_rows(const Pixels& src, PixelFormat to, Mat& out, const FromPixels& how,
                     const ScalarMap& map, ThreadPool* pool) {
  const PixelFormat seen = seen_as(src.format);
  const int in = pixel_channels(seen), channels = pixel_channels(to);
  const Blocks blocks(out.h, std::int64_t{out.w} * in, pool);
  const auto conversions = [&](int rows) -> BlockConversions {
    const Mapping interleaved = pixel_mapping(out.w, rows, in, std::int64_t{out.w} * in);
    const Mapping target = rows_mapping(out, rows, how.dtype, channels);
    if (seen == to) return {{}, Conversion(DType::u8, interleaved, how.dtype, target, map)};
    const Shape all("chw", {in, rows, out.w}), used("chw", {channels, rows, out.w});
    const Mapping planes(Layout::row_major(all), all, 1), source(Layout::row_major(used), used, 1);
    return {Conversion(DType::u8, interleaved, DType::u8, planes),
            Conversion(DType::u8, source, how.dtype, target, map)};
  };
  const BlockConversions usual = conversions(blocks.rows);
  const int rest = out.h % blocks.rows;
  const BlockConversions last = rest == 0 ? usual : conversions(rest);
  std::vector<RowBlocks> tasks;
  tasks.reserve(idx(blocks.tasks));
  for (std::int64_t i = 0; i < blocks.tasks; ++i)
    tasks.emplace_back(src, out.w, out.h, how.resize, blocks.rows);
  parallel(pool, tasks.size(), [&](std::size_t i) {
    blocks.each(i, [&](int y, int rows) {
      const Sample* from = tasks[i].block(y, rows);
      const BlockConversions& step = rows == blocks.rows ? usual : last;
      if (step.split.has_value()) {
        Sample* const planes = tasks[i].planes();
        const std::size_t size = idx(out.w) * idx(rows);
        step.split->run(from, planes);
        from = planes + arrange_planes(seen, to, planes, size) * size;
      }
      step.finish.run(from, row_of(out, y));
    });
  });
}

/// Blocks of rows of a Mat in other colours.
class ColourBlocks {
 public:
  ColourBlocks(const Mat& mat, DType dtype, const ScalarMap& map, PixelFormat from,
               const MutablePixels& dst, const Blocks& blocks)
      : mat_(mat),
        dst_(dst),
        channels_(pixel_channels(from)),
        rows_(blocks.rows),
        usual_(conversion(dtype, map, blocks.rows, mat.c > 1 ? mat.cstep : 0)),
        copied_(conversion(dtype, map, blocks.rows, 0)),
        last_(conversion(dtype, map, std::max(blocks.height % blocks.rows, 1), 0)),
        colours_(colour_row(from, dst.format)) {}

  /// Of a task.
  struct Scratch {
    std::vector<Sample> samples;
    std::vector<std::byte> planes;
  };

  Scratch scratch() const {
    const std::size_t pixels = idx(mat_.w) * idx(rows_);
    return {std::vector<Sample>(pixels * idx(channels_)),
            std::vector<std::byte>(mat_.c > 1 ? pixels * idx(mat_.c) * mat_.elemsize : 0)};
  }

  void run(int y, int rows, Scratch& scratch) const noexcept {
    const void* from = row_of(mat_, y);
    const bool short_block = rows != rows_;
    const Conversion* step = short_block ? &last_ : mat_.c > 1 ? &usual_ : &copied_;
    if (mat_.c > 1 && (short_block || near_end(y + rows))) {
      copy_planes(y, rows, scratch.planes.data());
      from = scratch.planes.data();
      if (!short_block) step = &copied_;
    }
    step->run(from, scratch.samples.data());
    const std::size_t row = idx(mat_.w) * idx(channels_);
    for (int k = 0; k < rows; ++k) {
      colours_(scratch.samples.data() + idx(k) * row, mat_.w, dst_.data + (y + k) * dst_.stride);
    }
  }

 private:
  /// `cstep` 0: planes of the block without gaps.
  Conversion conversion(DType dtype, const ScalarMap& map, int rows, std::size_t cstep) const {
    MatShape part = mat_;
    part.dims = 3;
    part.cstep = cstep == 0 ? idx(mat_.w) * idx(rows) : cstep;
    const Mapping to = pixel_mapping(mat_.w, rows, channels_, std::int64_t{mat_.w} * channels_);
    return Conversion(dtype, rows_mapping(part, rows, dtype, channels_), DType::u8, to, map);
  }

  /// A mapping of rows has a gap of other rows behind the last plane, where memory may have ended.
  bool near_end(int row) const noexcept {
    const std::size_t end = mat_.cstep * idx(mat_.c - 1) + idx(row) * idx(mat_.w);
    return (mat_.total() - end) * mat_.elemsize < kVectorSlack;
  }

  void copy_planes(int y, int rows, std::byte* to) const noexcept {
    const std::size_t size = idx(rows) * idx(mat_.w) * mat_.elemsize;
    for (int q = 0; q < mat_.c; ++q) {
      std::memcpy(to + idx(q) * size, row_of(mat_, y) + mat_.cstep * idx(q) * mat_.elemsize, size);
    }
  }

  const Mat& mat_;
  MutablePixels dst_;
  int channels_, rows_;
  Conversion usual_, copied_, last_;
  ColourRow colours_;
};

/// nv12 and nv21 as rgb.
Picture8 rgb_of(const Pixels& src) {
  Picture8 out(PixelFormat::rgb, src.width, src.height);
  for (int y = 0; y < src.height; ++y) yuv_row(src, y, out.view.data + y * out.view.stride);
  return out;
}

}  // namespace

Mat from_pixels(const Pixels& pixels, const FromPixels& how) {
  Mat out;
  from_pixels(pixels, out, how);
  return out;
}

void from_pixels(const Pixels& pixels, Mat& out, const FromPixels& how) {
  ThreadPool* const pool = pool_of(how.threads);
  Pixels src = checked(pixels);
  if (how.region.has_value()) src = part_of(src, *how.region);
  std::vector<Picture8> kept;  // what src may point into
  if (how.orientation != 1) {
    const bool turned = how.orientation >= 5;
    Picture8 picture(src.format, turned ? src.height : src.width, turned ? src.width : src.height);
    rotate_pixels(src, picture.view, how.orientation);
    kept.push_back(std::move(picture));
    src = kept.back().view;
  }
  const int width = how.width == 0 ? src.width : how.width;
  const int height = how.height == 0 ? src.height : how.height;
  const Sample unread = 0;
  const PixelFormat to = how.to.value_or(seen_as(src.format));
  if (is_yuv(to)) fail(ErrorCode::usage, "no Mat is made of nv12 or nv21 samples");
  checked(Pixels{to, width, height, &unread});
  const bool resized = width != src.width || height != src.height;
  if (is_yuv(src.format) && resized) {
    kept.push_back(rgb_of(src));
    src = kept.back().view;
  }
  const int channels = pixel_channels(to);
  check_list("mean", how.mean, channels);
  check_list("norm", how.norm, channels);
  if (how.elempack < 1 || how.elempack > kMaxElempack) {
    fail(ErrorCode::usage, "elempack ", how.elempack, " is not between 1 and ", kMaxElempack);
  }
  MatShape shape = MatShape::of(width, height, static_cast<int>(ceil_div(channels, how.elempack)));
  shape.elempack = how.elempack;
  shape.elemsize = idx(dtype_bytes(how.dtype)) * idx(how.elempack);
  shape = shape.complete();
  if (!can_reuse(out, shape)) out = new_mat(shape);  // else with steps of its own
  const ScalarMap map{how.mean, how.norm, Axis("c")};
  if (!resized && src.format == to) {
    convert_directly(src, out, how, channels, map, pool);
  } else {
    convert_by_rows(src, to, out, how, map, pool);
  }
}

void from_pixels(const Pixels& pixels, const MutableTensorView& out, const FromPixels& how) {
  const Shape& shape = out.mapping.shape();
  const int h = shape.index_of(Axis("h")), w = shape.index_of(Axis("w"));
  const int c = shape.index_of(Axis("c")), n = shape.index_of(Axis("n"));
  const bool picture = h >= 0 && w >= 0 && c >= 0;
  const bool single = shape.rank() == 3 || (shape.rank() == 4 && n >= 0 && shape[n] == 1);
  constexpr std::int64_t kMost = 1 << 30;  // beyond what a picture may be
  if (!picture || !single || shape.elements() == 0 || shape[h] > kMost || shape[w] > kMost) {
    fail(ErrorCode::usage, "a tensor of ", shape.text(), " is no picture of axes c, h and w");
  }
  FromPixels asked = how;
  asked.width = how.width == 0 ? static_cast<int>(shape[w]) : how.width;
  asked.height = how.height == 0 ? static_cast<int>(shape[h]) : how.height;
  const PixelFormat to = how.to.value_or(seen_as(pixels.format));
  const int channels = pixel_channels(to);
  if (shape[c] != channels || shape[w] != asked.width || shape[h] != asked.height) {
    fail(ErrorCode::usage, "a tensor of ", shape.text(), " does not hold ", asked.width, " x ",
         asked.height, " pixels of ", channels, " channels");
  }
  if (out.data == nullptr) fail(ErrorCode::usage, "a tensor without memory");
  const std::optional<MatShape> mat = mat_shape(out.mapping);
  if (mat.has_value() && mat->elempack <= kMaxElempack) {
    asked.dtype = out.dtype;
    asked.elempack = mat->elempack;
    Mat target = Mat::wrap(*mat, out.data);
    from_pixels(pixels, target, asked);
    return;
  }
  check_list("mean", how.mean, channels);
  check_list("norm", how.norm, channels);
  const Pixels given = checked(pixels);
  const bool as_it_is = !how.region.has_value() && how.orientation == 1 && given.format == to &&
                        given.width == asked.width && given.height == asked.height &&
                        given.stride == std::ptrdiff_t{given.width} * channels;
  const Sample* samples = given.data;
  Mat kept;
  if (!as_it_is) {
    asked.mean = asked.norm = {};
    asked.dtype = DType::u8;
    asked.elempack = channels;
    from_pixels(pixels, kept, asked);
    samples = static_cast<const Sample*>(kept.data);
  }
  const Shape from = n < 0 ? Shape("hwc", {asked.height, asked.width, channels})
                           : Shape("nhwc", {1, asked.height, asked.width, channels});
  Conversion(DType::u8, Mapping(Layout::row_major(from), from, 1), out.dtype, out.mapping,
             {how.mean, how.norm, Axis("c")})
      .run(samples, out.data, pool_of(how.threads));
}

void to_pixels(const Mat& mat, const MutablePixels& pixels, const ToPixels& how) {
  ThreadPool* const pool = pool_of(how.threads);
  const MutablePixels dst = checked(pixels);
  const int channels = pixel_channels(how.from);
  if (is_yuv(how.from) || is_yuv(dst.format)) {
    fail(ErrorCode::usage, "nothing is converted to nv12 or nv21 samples");
  }
  const auto packs = mat.elempack < 1 ? 0 : ceil_div(channels, mat.elempack);
  if (mat.empty() || mat.n != 1 || mat.dims < 2 || mat.dims > 3 || mat.c != packs ||
      (mat.dims == 2 && mat.elempack != 1)) {
    fail(ErrorCode::usage, "a Mat of dims ", mat.dims, ", ", mat_text(mat), " is no picture of ",
         channels, " channels");
  }
  check_list("mean", how.mean, channels);
  check_list("norm", how.norm, channels);
  MatShape planes = mat;
  planes.dims = 3;
  const std::size_t lane = mat.lane_bytes();
  const DType dtype = how.dtype.value_or(lane == 4   ? DType::f32
                                         : lane == 2 ? DType::f16
                                                     : DType::u8);
  if (idx(dtype_bytes(dtype)) != lane) {
    fail(ErrorCode::usage, "a view of ", dtype_name(dtype), " over scalars of ", lane, " bytes");
  }
  if (dst.width != mat.w || dst.height != mat.h) {
    Picture8 whole(dst.format, mat.w, mat.h);
    to_pixels(mat, whole.view, how);
    resize_pixels(whole.view, dst);
    return;
  }
  const ScalarMap map{how.mean, how.norm, Axis("c")};
  if (how.from == dst.format) {
    Conversion(dtype, rows_mapping(planes, mat.h, dtype, channels), DType::u8,
               pixel_mapping(mat.w, mat.h, channels, dst.stride), map)
        .run(mat.data, dst.data, pool);
    return;
  }
  const Blocks blocks(mat.h, std::int64_t{mat.w} * channels, pool);
  const ColourBlocks colours(mat, dtype, map, how.from, dst, blocks);
  std::vector<ColourBlocks::Scratch> tasks(idx(blocks.tasks), colours.scratch());
  parallel(pool, tasks.size(), [&](std::size_t i) {
    blocks.each(i, [&](int y, int rows) { colours.run(y, rows, tasks[i]); });
  });
}

void convert_pixels(const Pixels& src, const MutablePixels& dst) {
  const Pixels from = checked(src);
  const MutablePixels to = checked(dst);
  if (is_yuv(to.format)) fail(ErrorCode::usage, "nothing is converted to nv12 or nv21 samples");
  const bool half =
      is_yuv(from.format) && from.width == 2 * to.width && from.height == 2 * to.height;
  if (!half && (from.width != to.width || from.height != to.height)) {
    fail(ErrorCode::usage, "pictures of ", from.width, " x ", from.height, " and ", to.width, " x ",
         to.height, " pixels");
  }
  const ColourRow colours = colour_row(seen_as(from.format), to.format);
  std::vector<Sample> line(idx(to.width) * 3);
  for (int y = 0; y < to.height; ++y) {
    const Sample* row = from.data + y * from.stride;
    if (is_yuv(from.format)) {
      (half ? yuv_half_row : yuv_row)(from, y, line.data());
      row = line.data();
    }
    colours(row, to.width, to.data + y * to.stride);
  }
}

}  // namespace stowage
