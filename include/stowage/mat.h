// SPDX-License-Identifier: Apache-2.0
// ncnn's Mat: a header of extents and packing over shared memory. docs/ncnn.md tells the story.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "stowage/tensor.h"

namespace stowage {

/// The header of a Mat. All counts are of packed elements: `elempack` scalars (lanes) that lie
/// together and count as one, `elemsize` bytes of all of them. w is innermost, then h, d, c; planes
/// (of c) begin `cstep` elements apart, samples of a batch `nstep`.
struct MatShape {
  int dims = 0;  ///< 0: empty; 1: w; 2: w h; 3: w h c; 4: w h d c. The others are 1.
  int w = 1, h = 1, d = 1, c = 1;
  std::size_t elemsize = 4;
  int elempack = 1;
  int n = 1;              ///< samples
  std::size_t cstep = 0;  ///< 0: ncnn's, a plane rounded up to 16 bytes, down to elements
  std::size_t nstep = 0;  ///< 0: ncnn's, a sample rounded up to 4096 bytes where n > 1

  // The arguments of a Mat's constructors and of `create`. As in ncnn an unsigned argument is an
  // element size and signed ones are extents, or, behind an element size, elempack. Where all are
  // signed, five are (w, h, c, elemsize, elempack), a call that is ambiguous in ncnn.
  static MatShape of(int w) { return {1, w}; }

  /// A size of the standard library; what no int holds is refused like a negative one.
  template <std::unsigned_integral Extent>
  static MatShape of(Extent w) {
    return {1, std::in_range<int>(w) ? static_cast<int>(w) : -1};
  }

  static MatShape of(int w, int h) { return {2, w, h}; }

  static MatShape of(int w, int h, int c) { return {3, w, h, 1, c}; }

  static MatShape of(int w, int h, int d, int c) { return {4, w, h, d, c}; }

  static MatShape of(int w, int h, int c, int elemsize, int elempack) {
    return {3, w, h, 1, c, bytes_of(elemsize), elempack};
  }

  static MatShape of(int w, int h, int d, int c, int elemsize, int elempack) {
    return {4, w, h, d, c, bytes_of(elemsize), elempack};
  }

  template <std::unsigned_integral Bytes>
  static MatShape of(int w, Bytes elemsize, int elempack = 1) {
    return {1, w, 1, 1, 1, elemsize, elempack};
  }

  template <std::unsigned_integral Bytes>
  static MatShape of(int w, int h, Bytes elemsize, int elempack = 1) {
    return {2, w, h, 1, 1, elemsize, elempack};
  }

  template <std::unsigned_integral Bytes>
  static MatShape of(int w, int h, int c, Bytes elemsize, int elempack = 1) {
    return {3, w, h, 1, c, elemsize, elempack};
  }

  template <std::unsigned_integral Bytes>
  static MatShape of(int w, int h, int d, int c, Bytes elemsize, int elempack = 1) {
    return {4, w, h, d, c, elemsize, elempack};
  }

  /// Checked, and with cstep and nstep where they were 0. Throws Error(usage) for a header that
  /// makes no sense, Error(limit) where its bytes overflow or exceed 2^47, or the scalars along the
  /// packed axis are more than an int counts.
  MatShape complete() const;

  /// ncnn's cstep for these extents: align(w h d elemsize, 16) / elemsize, for every `dims`.
  std::size_t standard_cstep() const noexcept {
    return elemsize == 0 ? 0 : (plane() * elemsize + 15) / 16 * 16 / elemsize;
  }

  /// Packed elements of a plane: w h d.
  std::size_t plane() const noexcept {
    return static_cast<std::size_t>(w) * static_cast<std::size_t>(h) * static_cast<std::size_t>(d);
  }

  /// Bytes of a scalar.
  std::size_t lane_bytes() const noexcept {
    return elempack > 0 ? elemsize / static_cast<std::size_t>(elempack) : 0;
  }

  /// The extent that is counted in packs: w, h, c or c, by `dims`.
  int& packed_extent() noexcept { return dims == 1 ? w : dims == 2 ? h : c; }

  int packed_extent() const noexcept { return dims == 1 ? w : dims == 2 ? h : c; }

  friend bool operator==(const MatShape&, const MatShape&) = default;

 private:
  static std::size_t bytes_of(int elemsize) {
    return elemsize < 0 ? 0 : static_cast<std::size_t>(elemsize);
  }
};

struct PackingOptions;

/// A tensor as ncnn has it. Copies and views share the memory, which lives as long as one of them;
/// `clone` copies it. Members of the header are there to be read.
class Mat : public MatShape {
 public:
  /// Empty, all extents 0.
  Mat() noexcept;
  Mat(const Mat&) = default;
  Mat& operator=(const Mat&) = default;

  // std::move leaves an empty Mat: a header without an owner would be over memory of the caller.
  Mat(Mat&& other) noexcept : Mat() { swap(other); }

  Mat& operator=(Mat&& other) noexcept {
    Mat taken(std::move(other));
    swap(taken);
    return *this;
  }

  /// Zero-filled; 64 bytes aligned, with room for a vector behind the end. Extents of 0 take no
  /// memory. Throws what MatShape::complete throws, Error(limit) without memory.
  explicit Mat(const MatShape& shape);

  /// Mat(w, h, c), Mat(w, h, c, 16u, 4), ...: the arguments of MatShape::of.
  template <class... Args>

  requires requires(Args... args) { MatShape::of(args...); }

  explicit Mat(Args... args) : Mat(MatShape::of(args...)) {}

  // Memory of the caller, which is not freed and must outlive the Mat and its views. Planes must
  // follow each other without a gap unless ncnn's cstep has none either: where the two differ
  // Error(usage) asks for `wrap`, which is told the cstep.
  Mat(int w, void* data, std::size_t elemsize = 4, int elempack = 1);
  Mat(int w, int h, void* data, std::size_t elemsize = 4, int elempack = 1);
  Mat(int w, int h, int c, void* data, std::size_t elemsize = 4, int elempack = 1);
  Mat(int w, int h, int d, int c, void* data, std::size_t elemsize = 4, int elempack = 1);

  /// Memory of the caller with any cstep and nstep: `bytes()` of it are readable. `owner`, if
  /// given, keeps it alive. Throws Error(usage) when data is null, and what MatShape::complete
  /// throws.
  static Mat wrap(const MatShape& shape, void* data, std::shared_ptr<void> owner = {});
  /// The memory of a tensor that lies as a Mat does: as w, h w, c h w or c d h w, an n in front or
  /// not, one of the packings or none. Axes of these names count by name, whatever their order in
  /// the shape, others by position. Throws Error(usage) for another layout.
  static Mat wrap(const MutableTensorView& view);
  /// The same, and takes the tensor over.
  static Mat wrap(Tensor tensor);

  /// What constructors do. Where the shape is the same already nothing is done if nobody shares the
  /// memory, or if it is the caller's own: whatever its cstep and nstep, unless others than ncnn's
  /// are asked for.
  void create(const MatShape& shape);

  template <class... Args>

  requires requires(Args... args) { MatShape::of(args...); }

  void create(Args... args) { create(MatShape::of(args...)); }

  /// With ncnn's own cstep and nstep.
  void create_like(const Mat& other) {
    MatShape shape = other;
    shape.cstep = shape.nstep = 0;
    create(shape);
  }

  void release() noexcept { *this = Mat(); }

  bool empty() const noexcept { return data == nullptr || total() == 0; }

  /// Packed elements of a sample, gaps included: cstep * c.
  std::size_t total() const noexcept { return cstep * static_cast<std::size_t>(c); }

  /// Bytes from `data` to the end of the last sample, gaps included.
  std::size_t bytes() const noexcept {
    return (nstep * static_cast<std::size_t>(n - 1) + total()) * elemsize;
  }

  /// Bits of a scalar.
  int elembits() const noexcept { return static_cast<int>(lane_bytes() * 8); }

  /// Handles that share the memory, this one included; 0 for memory of the caller.
  long use_count() const noexcept { return owner_.use_count(); }

  /// The header without packing: packed extents times elempack, ncnn's own cstep and nstep.
  MatShape shape() const noexcept;

  /// A deep copy with ncnn's own cstep and nstep.
  Mat clone() const;

  void clone_from(const Mat& other) { *this = other.clone(); }

  /// The same packed elements in other extents, as one of w; w, h; w, h, c; w, h, d, c. Shares
  /// the memory where no gap comes or goes, else copies. Throws Error(usage) unless there are as
  /// many elements.
  Mat reshape(int w) const;
  Mat reshape(int w, int h) const;
  Mat reshape(int w, int h, int c) const;
  Mat reshape(int w, int h, int d, int c) const;

  /// Sets every scalar (T of its size), or every packed element (T of elemsize bytes); gaps keep
  /// what they hold. Throws Error(usage) for a T of another size.
  template <class T>
  requires std::is_trivially_copyable_v<T>

  void fill(T value) {
    expect_type(sizeof(T));
    fill_with(&value, sizeof(T));
  }

  // Views. All share ownership, inherit the distance of planes, and throw Error(usage) for an index
  // out of range or `dims` that have no such part. One plane holds no gap. Those of a batch are
  // asked of a sample, but for channel_range.

  Mat batch(int sample) const { return batch_range(sample, 1); }

  Mat batch_range(int first, int count) const;
  /// Of dims 3 a plane as w, h; of dims 4 a volume as w, h, c = d; of dims 1 and 2 all there is.
  Mat channel(int index) const;
  /// Channels first .. first + count, of dims 3 or 4.
  Mat channel_range(int first, int count) const;
  /// A slice of the first channel of dims 4, as w, h, or a plane of dims 3 that has no gaps, as the
  /// channels of dims 4 have none.
  Mat depth(int index) const;
  /// Such slices, as w, h, c = count.
  Mat depth_range(int first, int count) const;
  /// Rows of dims 2.
  Mat row_range(int first, int count) const;
  /// Elements of dims 1 or, counted along the rows, of dims 2, as dims 1.
  Mat range(int first, int count) const;

  /// Row y of the first plane. T is the scalar's type or that of a packed element, by its size.
  template <class T = float>
  T* row(int y) {
    return static_cast<T*>(row_address(y, sizeof(T)));
  }

  template <class T = float>
  const T* row(int y) const {
    return static_cast<const T*>(row_address(y, sizeof(T)));
  }

  /// A packed element at x; x, y; x, y, q; x, y, z, q: as many coordinates as dims. Throws
  /// Error(usage) when they are outside or T has not elemsize bytes.
  template <class T, std::convertible_to<int>... Index>
  T& at(Index... index) {
    const int coordinates[] = {static_cast<int>(index)...};
    return *static_cast<T*>(element_address(coordinates, sizeof...(index), sizeof(T)));
  }

  template <class T, std::convertible_to<int>... Index>
  const T& at(Index... index) const {
    const int coordinates[] = {static_cast<int>(index)...};
    return *static_cast<const T*>(element_address(coordinates, sizeof...(index), sizeof(T)));
  }

  /// The i-th float of the memory of a Mat of 4-byte scalars, gaps included: i < total() *
  /// elempack. Throws Error(usage) for other scalars, a batch, and beyond the end.
  float& operator[](std::size_t i) { return *static_cast<float*>(float_address(i)); }

  const float& operator[](std::size_t i) const {
    return *static_cast<const float*>(float_address(i));
  }

  /// `const float* p = mat.channel(0)`; checks the size of T as `row` does.
  template <class T>
  operator T*() {  // NOLINT(google-explicit-constructor): ncnn's callers rely on it.
    expect_type(sizeof(T));
    return static_cast<T*>(data);
  }

  template <class T>
  operator const T*() const {  // NOLINT(google-explicit-constructor)
    expect_type(sizeof(T));
    return static_cast<const T*>(data);
  }

  /// x = (x - mean) * norm in place for 4-byte floats; one mean and norm for each scalar along the
  /// packed axis, null for none. The lanes that fill the last pack are scalars here: of 3 channels
  /// in elempack 4 four of each are read. Where they do not count, say with spans how many do.
  void substract_mean_normalize(const float* mean, const float* norm);
  /// The same with as many as scalars that count, so that lanes behind them stay as they are, or
  /// one for all scalars, lanes that fill the last pack included, or none. Throws Error(usage) for
  /// lists of another length.
  void substract_mean_normalize(std::span<const float> mean, std::span<const float> norm);

  /// The memory as a tensor of axes n (of a batch), c, d, h, w, those that dims has, in the layout
  /// `ncnn-3d-pack4` or what the header says. `scalars`: those along the packed axis that count,
  /// the others are the tail of the last pack; 0: all of them. Throws Error(usage) unless scalars
  /// are of the dtype's size.
  TensorView view(DType dtype, std::int64_t scalars = 0) const;
  MutableTensorView mutable_view(DType dtype, std::int64_t scalars = 0);

  /// Floats of dims 1, of numbers of 16 bits. Throws Error(usage) for a negative size or no data.
  static Mat from_float16(const unsigned short* data, int size);
  static Mat from_bfloat16(const unsigned short* data, int size);

  // Pixels as in ncnn, by type numbers; `pixels.h` has the same with more to choose from. All
  // throw Error(usage) for what is no type, or a region beyond the picture.
  enum PixelType : int {
    PIXEL_CONVERT_SHIFT = 16,
    PIXEL_FORMAT_MASK = 0xffff,
    PIXEL_CONVERT_MASK = ~0xffff,
    PIXEL_RGB = 1,
    PIXEL_BGR = 2,
    PIXEL_GRAY = 3,
    PIXEL_RGBA = 4,
    PIXEL_BGRA = 5,
    PIXEL_RGB2BGR = PIXEL_RGB | PIXEL_BGR << PIXEL_CONVERT_SHIFT,
    PIXEL_RGB2GRAY = PIXEL_RGB | PIXEL_GRAY << PIXEL_CONVERT_SHIFT,
    PIXEL_RGB2RGBA = PIXEL_RGB | PIXEL_RGBA << PIXEL_CONVERT_SHIFT,
    PIXEL_RGB2BGRA = PIXEL_RGB | PIXEL_BGRA << PIXEL_CONVERT_SHIFT,
    PIXEL_BGR2RGB = PIXEL_BGR | PIXEL_RGB << PIXEL_CONVERT_SHIFT,
    PIXEL_BGR2GRAY = PIXEL_BGR | PIXEL_GRAY << PIXEL_CONVERT_SHIFT,
    PIXEL_BGR2RGBA = PIXEL_BGR | PIXEL_RGBA << PIXEL_CONVERT_SHIFT,
    PIXEL_BGR2BGRA = PIXEL_BGR | PIXEL_BGRA << PIXEL_CONVERT_SHIFT,
    PIXEL_GRAY2RGB = PIXEL_GRAY | PIXEL_RGB << PIXEL_CONVERT_SHIFT,
    PIXEL_GRAY2BGR = PIXEL_GRAY | PIXEL_BGR << PIXEL_CONVERT_SHIFT,
    PIXEL_GRAY2RGBA = PIXEL_GRAY | PIXEL_RGBA << PIXEL_CONVERT_SHIFT,
    PIXEL_GRAY2BGRA = PIXEL_GRAY | PIXEL_BGRA << PIXEL_CONVERT_SHIFT,
    PIXEL_RGBA2RGB = PIXEL_RGBA | PIXEL_RGB << PIXEL_CONVERT_SHIFT,
    PIXEL_RGBA2BGR = PIXEL_RGBA | PIXEL_BGR << PIXEL_CONVERT_SHIFT,
    PIXEL_RGBA2GRAY = PIXEL_RGBA | PIXEL_GRAY << PIXEL_CONVERT_SHIFT,
    PIXEL_RGBA2BGRA = PIXEL_RGBA | PIXEL_BGRA << PIXEL_CONVERT_SHIFT,
    PIXEL_BGRA2RGB = PIXEL_BGRA | PIXEL_RGB << PIXEL_CONVERT_SHIFT,
    PIXEL_BGRA2BGR = PIXEL_BGRA | PIXEL_BGR << PIXEL_CONVERT_SHIFT,
    PIXEL_BGRA2GRAY = PIXEL_BGRA | PIXEL_GRAY << PIXEL_CONVERT_SHIFT,
    PIXEL_BGRA2RGBA = PIXEL_BGRA | PIXEL_RGBA << PIXEL_CONVERT_SHIFT,
  };

  /// w, h, c = 1, 3 or 4 floats from 0 to 255. `stride`: bytes from row to row, 0: rows follow.
  static Mat from_pixels(const unsigned char* pixels, int type, int w, int h, int stride = 0);
  static Mat from_pixels_resize(const unsigned char* pixels, int type, int w, int h,
                                int target_width, int target_height);
  static Mat from_pixels_resize(const unsigned char* pixels, int type, int w, int h, int stride,
                                int target_width, int target_height);
  static Mat from_pixels_roi(const unsigned char* pixels, int type, int w, int h, int roix,
                             int roiy, int roiw, int roih);
  static Mat from_pixels_roi(const unsigned char* pixels, int type, int w, int h, int stride,
                             int roix, int roiy, int roiw, int roih);
  static Mat from_pixels_roi_resize(const unsigned char* pixels, int type, int w, int h, int roix,
                                    int roiy, int roiw, int roih, int target_width,
                                    int target_height);
  static Mat from_pixels_roi_resize(const unsigned char* pixels, int type, int w, int h, int stride,
                                    int roix, int roiy, int roiw, int roih, int target_width,
                                    int target_height);
  /// Rounds to nearest, where ncnn truncates. In PIXEL_RGB2BGR the Mat's channels come first.
  void to_pixels(unsigned char* pixels, int type, int stride = 0) const;
  void to_pixels_resize(unsigned char* pixels, int type, int target_width, int target_height,
                        int target_stride = 0) const;

  void* data = nullptr;

 private:
  friend void convert_packing(const Mat&, Mat&, int, const PackingOptions&);
  friend Mat new_mat(const MatShape&);

  void swap(Mat& other) noexcept {
    std::swap(static_cast<MatShape&>(*this), static_cast<MatShape&>(other));
    std::swap(data, other.data);
    owner_.swap(other.owner_);
  }

  /// Another header over this memory.
  Mat with(const MatShape& shape, std::size_t first_element = 0) const;
  Mat reshaped(MatShape shape) const;
  int slices() const;
  Mat sample_part(const char* what, MatShape shape, std::size_t first_element) const;
  void expect_type(std::size_t bytes) const;
  void fill_with(const void* value, std::size_t bytes) noexcept;
  void* row_address(int y, std::size_t bytes) const;
  void* element_address(const int* index, std::size_t count, std::size_t bytes) const;
  void* float_address(std::size_t i) const;
  void normalize(const float* mean, std::size_t mean_step, const float* norm, std::size_t norm_step,
                 std::size_t scalars);

  std::shared_ptr<void> owner_;  // null: memory of the caller
};

/// The header of a Mat that lies as this mapping does, bit by bit, if one does.
std::optional<MatShape> mat_shape(const Mapping& mapping);

/// Largest elempack of convert_packing.
inline constexpr int kMaxElempack = 64;

struct PackingOptions {
  /// Where elempack does not divide the scalars along the packed axis: the last pack is filled with
  /// zeros. Without it the result is the source as it is.
  bool padding = false;
  /// Threads to share the work among, the caller included; the caller's thread keeps them.
  int threads = 1;
};

/// Packs `src` in elements of `elempack` scalars, along w, h, c or c for dims 1 to 4. The result is
/// in `dst`: its elempack tells whether it was possible. It shares memory with `src` where nothing
/// moves: elempack equal, not divisible without padding, dims 1, an empty `src`. Otherwise it is
/// new memory, or that of `dst` if it has the shape already, with any cstep and nstep, and nobody
/// shares it. `dst` may be `src`. Throws Error(usage) for an elempack or threads out of range,
/// Error(limit).
void convert_packing(const Mat& src, Mat& dst, int elempack, const PackingOptions& options = {});

/// Each scalar as another type, rounded to nearest even, integers saturated; packing and extents
/// stay. Nothing moves where the types are one, or of an empty `src`. `dst` may be `src`. Throws
/// Error(usage) unless scalars are of the size of `from`.
void cast(const Mat& src, Mat& dst, DType from, DType to);

inline void cast_float32_to_float16(const Mat& src, Mat& dst) {
  cast(src, dst, DType::f32, DType::f16);
}

inline void cast_float16_to_float32(const Mat& src, Mat& dst) {
  cast(src, dst, DType::f16, DType::f32);
}

inline void cast_float32_to_bfloat16(const Mat& src, Mat& dst) {
  cast(src, dst, DType::f32, DType::bf16);
}

inline void cast_bfloat16_to_float32(const Mat& src, Mat& dst) {
  cast(src, dst, DType::bf16, DType::f32);
}

inline void cast_int8_to_float32(const Mat& src, Mat& dst) {
  cast(src, dst, DType::i8, DType::f32);
}

/// All scalars as dims 1, unpacked: w, then h, d, c. `dst` may be `src`.
void flatten(const Mat& src, Mat& dst);

// Planes of floats in another width and height, as ncnn's Interp makes them: at pixel centres with
// the border repeated (bicubic: Keys' with a = -0.75), but `nearest` from the corner of a pixel. Of
// dims 2 only rows are resized, for they are channels; of dims 1 each number becomes a plane. `dst`
// may be `src`. Throw Error(usage) for dims 4, scalars of other than 4 bytes, or sizes below 1.
void resize_nearest(const Mat& src, Mat& dst, int w, int h);
void resize_bilinear(const Mat& src, Mat& dst, int w, int h);
void resize_bicubic(const Mat& src, Mat& dst, int w, int h);

/// What surrounds a plane: one value, its own border repeated, or mirrored without repeating it.
enum BorderType : int { BORDER_CONSTANT = 0, BORDER_REPLICATE = 1, BORDER_REFLECT = 2 };

/// Each plane of `src` (dims 1 to 4, any packing; h of dims 1 is 1) with rows and columns around
/// it. Of dims 1 and 2 what is packed is counted in scalars, and the result has elempack 1 where
/// that of `src` no longer divides. `value`, of BORDER_CONSTANT, becomes a float, a half or,
/// truncated, a byte by the size of scalars. The result is in the memory of `dst` as that of
/// convert_packing; `dst` may be `src`. Throws Error(usage) for negative sizes, a mirror larger
/// than the plane less one, or a value that is no byte (-128 to 255), Error(limit).
void copy_make_border(const Mat& src, Mat& dst, int top, int bottom, int left, int right,
                      int type = BORDER_CONSTANT, float value = 0);

/// The opposite: as many rows and columns less, counted likewise.
void copy_cut_border(const Mat& src, Mat& dst, int top, int bottom, int left, int right);

}  // namespace stowage
