// SPDX-License-Identifier: Apache-2.0
#include "array.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stowage/error.h"

namespace stowage::python {
namespace {

namespace nb = nanobind;

constexpr const char* kReadable = "scalars are bool, integers, f16, bf16, f32 and f64";

struct NumpyName {
  std::string_view name;
  DType dtype;
};

constexpr NumpyName kNumpyNames[] = {
    {"float32", DType::f32}, {"float16", DType::f16}, {"bfloat16", DType::bf16},
    {"float64", DType::f64}, {"uint8", DType::u8},    {"int8", DType::i8},
    {"uint16", DType::u16},  {"int16", DType::i16},   {"uint32", DType::u32},
    {"int32", DType::i32},   {"uint64", DType::u64},  {"int64", DType::i64},
    {"bool", DType::boolean}};

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

std::string type_of(nb::handle object) { return nb::type_name(object.type()).c_str(); }

/// "float32 numpy.ndarray" where the object says what its scalars are.
std::string described(nb::handle object) {
  const std::string type = type_of(object);
  if (!nb::hasattr(object, "dtype")) return type;
  return type + " of dtype " + text_of(object.attr("dtype"));
}

/// The bytes of `n` scalars of each kind, smallest first; an integer's by its sign.
std::optional<DType> integer_of(bool is_signed, std::size_t bytes) {
  constexpr DType kSigned[] = {DType::i8, DType::i16, DType::i32, DType::i64};
  constexpr DType kUnsigned[] = {DType::u8, DType::u16, DType::u32, DType::u64};
  if (bytes == 0 || bytes > 8 || !std::has_single_bit(bytes)) return std::nullopt;
  const auto i = static_cast<std::size_t>(std::countr_zero(bytes));
  return is_signed ? kSigned[i] : kUnsigned[i];
}

std::optional<DType> float_of(std::size_t bytes) {
  if (bytes == 2) return DType::f16;
  if (bytes == 4) return DType::f32;
  if (bytes == 8) return DType::f64;
  return std::nullopt;
}

/// That of a format of the struct module.
DType dtype_of_format(std::string_view format, std::size_t bytes) {
  std::string_view scalar = format;
  bool swapped = false;
  if (!scalar.empty() && std::string_view("@=<>!").find(scalar[0]) != scalar.npos) {
    const bool big = scalar[0] == '>' || scalar[0] == '!';
    const bool little = scalar[0] == '<';
    swapped = bytes > 1 && (std::endian::native == std::endian::little ? big : little);
    scalar.remove_prefix(1);
  }
  std::optional<DType> found;
  if (scalar.size() == 1) {
    const char c = scalar[0];
    if (c == '?' && bytes == 1) found = DType::boolean;
    if (std::string_view("bhilqn").find(c) != std::string_view::npos) {
      found = integer_of(true, bytes);
    }
    if (std::string_view("BHILQN").find(c) != std::string_view::npos) {
      found = integer_of(false, bytes);
    }
    if (std::string_view("efd").find(c) != std::string_view::npos) found = float_of(bytes);
  }
  if (!found) {
    throw Error(ErrorCode::unsupported, "an array whose scalars have the format '" +
                                            std::string(format) + "' cannot be read; " + kReadable);
  }
  if (swapped) {
    throw Error(ErrorCode::unsupported,
                "the array's byte order is not this machine's; "
                "array.astype(array.dtype.newbyteorder('=')) changes it");
  }
  return *found;
}

std::optional<DType> dtype_of_dlpack(nb::dlpack::dtype dtype) {
  if (dtype.lanes != 1) return std::nullopt;
  const std::size_t bytes = dtype.bits / 8;
  switch (static_cast<nb::dlpack::dtype_code>(dtype.code)) {
    case nb::dlpack::dtype_code::Int:
      return integer_of(true, bytes);
    case nb::dlpack::dtype_code::UInt:
      return integer_of(false, bytes);
    case nb::dlpack::dtype_code::Float:
      return float_of(bytes);
    case nb::dlpack::dtype_code::Bfloat:
      return bytes == 2 ? std::optional(DType::bf16) : std::nullopt;
    case nb::dlpack::dtype_code::Bool:
      return bytes == 1 ? std::optional(DType::boolean) : std::nullopt;
    default:
      return std::nullopt;
  }
}

/// What is called for every array, looked up once. Never released: the interpreter ends first.
struct Numpy {
  nb::handle ndarray, dtype, empty, zeros;
  std::array<nb::handle, 13> dtypes;  ///< by DType; none for bf16
};

Numpy& numpy() {
  static Numpy found;
  return found;
}

/// A loop over elements that lie anyhow and, row-major, next to each other.
struct Loop {
  std::int64_t n, strided, together;  ///< strides in bytes
};

/// Few loops, the innermost a long one: an axis that continues another is one with it.
std::vector<Loop> loops_over(std::span<const Extent> extents, std::int64_t bytes) {
  std::vector<Loop> loops;
  for (std::size_t i = extents.size(); i-- > 0; bytes *= extents[i].n) {
    const Loop loop{extents[i].n, extents[i].stride, bytes};
    if (loop.n == 1) continue;
    if (!loops.empty() && loop.strided == loops.back().n * loops.back().strided) {
      loops.back().n *= loop.n;
    } else {
      loops.push_back(loop);
    }
  }
  if (loops.empty()) loops.push_back({1, 0, 0});
  constexpr std::int64_t kLong = 16;
  if (loops[0].n < kLong) std::swap(loops[0], *std::ranges::max_element(loops, {}, &Loop::n));
  return loops;
}

/// Elements of kBytes; loops from the innermost on.
template <std::size_t kBytes, bool kGather>
void move_elements(std::span<const Loop> loops, std::byte* strided, std::byte* together) {
  const Loop loop = loops.back();  // a copy: bytes may be anything
  if (loops.size() > 1) {
    for (std::int64_t i = 0; i < loop.n; ++i) {
      move_elements<kBytes, kGather>(loops.first(loops.size() - 1), strided + i * loop.strided,
                                     together + i * loop.together);
    }
    return;
  }
  for (std::int64_t i = 0; i < loop.n; ++i) {
    std::byte *const a = strided + i * loop.strided, *const b = together + i * loop.together;
    std::memcpy(kGather ? b : a, kGather ? a : b, kBytes);
  }
}

template <bool kGather>
void move_elements(int bytes, std::span<const Extent> extents, std::byte* strided,
                   std::byte* together) {
  const std::vector<Loop> loops = loops_over(extents, bytes);
  switch (bytes) {
    case 1:
      return move_elements<1, kGather>(loops, strided, together);
    case 2:
      return move_elements<2, kGather>(loops, strided, together);
    case 4:
      return move_elements<4, kGather>(loops, strided, together);
    default:
      return move_elements<8, kGather>(loops, strided, together);
  }
}

Shape shape_of(const Memory& memory, std::string_view axes) {
  const std::size_t rank = memory.extents().size();
  if (rank > static_cast<std::size_t>(kMaxRank)) {
    throw Error(ErrorCode::limit, "an array of " + std::to_string(rank) + " axes; at most " +
                                      std::to_string(kMaxRank) + " are supported");
  }
  if (!axes.empty() && axes.size() != rank) {
    throw Error(ErrorCode::bad_input, "'" + std::string(axes) + "' names " +
                                          std::to_string(axes.size()) +
                                          " axes, but the array has " + std::to_string(rank));
  }
  std::array<std::int64_t, kMaxRank> extents{};
  std::ranges::transform(memory.extents(), extents.begin(), &Extent::n);
  const auto given = std::span(extents).first(rank);
  return axes.empty() ? Shape::unnamed(given) : Shape(axes, given);
}

/// That of the elements where they lie; none where no layout says it.
std::optional<Layout> layout_of(const Memory& memory, const Shape& shape) {
  if (memory.dense()) return Layout::row_major(shape);
  const std::int64_t bytes = dtype_bytes(memory.dtype());
  std::array<Placed, kMaxRank> placed{};
  std::array<std::string, kMaxRank> names;
  for (std::size_t i = 0; i < memory.extents().size(); ++i) {
    const Extent extent = memory.extents()[i];
    if (extent.n > 1 && extent.stride % bytes != 0) return std::nullopt;
    names[i] = shape.axis(static_cast<int>(i)).name();
    placed[i] = {names[i], extent.n, extent.stride / bytes};
  }
  return placed_layout(std::span(placed).first(memory.extents().size()));
}

}  // namespace

/// What keeps the memory alive: a buffer that was exported to us, or an object.
struct Memory::Owner {
  Py_buffer buffer{};
  nb::object object;

  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  ~Owner() {
    if (buffer.obj != nullptr) PyBuffer_Release(&buffer);
  }
};

Memory::Memory(nb::handle object, std::optional<DType> as) {
  auto owner = std::make_unique<Owner>();
  owner_ = owner.get();
  if (!read_buffer(object)) {
    PyErr_Clear();
    if (nb::isinstance(object, numpy().ndarray) && text_of(object.attr("dtype")) == "bfloat16") {
      read_numpy_bfloat16(object);
    } else {
      read_dlpack(object);
    }
  }
  if (as && *as != dtype_) {
    if (*as != DType::bf16 || dtype_ != DType::u16) {
      throw Error(ErrorCode::usage, "an array of " + std::string(dtype_name(dtype_)) +
                                        " cannot be read as " + std::string(dtype_name(*as)) +
                                        "; only u16 can, as bf16");
    }
    dtype_ = DType::bf16;
  }
  owner_ = owner.release();
}

Memory::~Memory() { delete owner_; }

/// False where the object exports no buffer, or refuses with an error that is then set.
bool Memory::read_buffer(nb::handle object) {
  Py_buffer& buffer = owner_->buffer;
  if (PyObject_CheckBuffer(object.ptr()) == 0 ||
      PyObject_GetBuffer(object.ptr(), &buffer, PyBUF_RECORDS_RO) != 0) {
    return false;
  }
  dtype_ = dtype_of_format(buffer.format != nullptr ? buffer.format : "B",
                           static_cast<std::size_t>(buffer.itemsize));
  data_ = static_cast<std::byte*>(buffer.buf);
  writable_ = buffer.readonly == 0;
  rank_ = static_cast<std::size_t>(buffer.ndim);
  if (rank_ > kMostAxes) throw Error(ErrorCode::limit, "an array of more than 64 axes");
  for (std::size_t i = 0; i < rank_; ++i) extents_[i] = {buffer.shape[i], buffer.strides[i]};
  return true;
}

/// numpy exports no buffer of scalars that a package added.
void Memory::read_numpy_bfloat16(nb::handle object) {
  const nb::object words = object.attr("view")("uint16");
  if (!read_buffer(words)) throw nb::python_error();
  dtype_ = DType::bf16;
}

void Memory::read_dlpack(nb::handle object) {
  nb::ndarray<nb::ro> readable;
  if (!nb::try_cast(object, readable)) {
    throw Error(
        nb::hasattr(object, "dtype") ? ErrorCode::unsupported : ErrorCode::usage,
        "an array is expected (numpy, a buffer, or DLPack in the memory of the host), not " +
            described(object) + "; " + kReadable);
  }
  if (readable.device_type() != nb::device::cpu::value) {
    throw Error(ErrorCode::unsupported,
                "the array is in the memory of a device (DLPack's device type " +
                    std::to_string(readable.device_type()) + "); copy it to the host first");
  }
  const auto dtype = dtype_of_dlpack(readable.dtype());
  if (!dtype) {
    throw Error(ErrorCode::unsupported, described(object) + " cannot be read; " + kReadable);
  }
  nb::ndarray<> written;
  writable_ = nb::try_cast(object, written);
  dtype_ = *dtype;
  rank_ = readable.ndim();
  if (rank_ > kMostAxes) throw Error(ErrorCode::limit, "an array of more than 64 axes");
  const std::int64_t bytes = dtype_bytes(dtype_);
  for (std::size_t i = 0; i < rank_; ++i) {
    extents_[i] = {static_cast<std::int64_t>(readable.shape(i)), readable.stride(i) * bytes};
  }
  data_ = const_cast<std::byte*>(static_cast<const std::byte*>(readable.data()));
  auto kept = std::make_unique<nb::ndarray<nb::ro>>(std::move(readable));
  owner_->object = nb::capsule(
      kept.get(), [](void* p) noexcept { delete static_cast<nb::ndarray<nb::ro>*>(p); });
  static_cast<void>(kept.release());
}

std::int64_t Memory::elements() const noexcept {
  // The extents of an array that exists: only those of repeated elements can be absurd.
  std::int64_t product = 1;
  for (const Extent& extent : extents()) {
    if (__builtin_mul_overflow(product, extent.n, &product)) return INT64_MAX;
  }
  return product;
}

bool Memory::repeats() const noexcept {
  return std::ranges::any_of(extents(), [](Extent e) { return e.n > 1 && e.stride == 0; });
}

bool Memory::dense() const noexcept {
  if (elements() == 0) return true;
  std::int64_t stride = dtype_bytes(dtype_);
  if (reinterpret_cast<std::uintptr_t>(data_) % static_cast<std::uintptr_t>(stride) != 0) {
    return false;
  }
  for (std::size_t i = rank_; i-- > 0;) {
    if (extents_[i].n == 1) continue;
    if (extents_[i].stride != stride) return false;
    stride *= extents_[i].n;
  }
  return true;
}

std::array<const std::byte*, 2> Memory::range() const noexcept {
  if (elements() == 0) return {data_, data_};
  const std::byte *first = data_, *last = data_ + dtype_bytes(dtype_);
  for (const Extent& extent : extents()) {
    (extent.stride < 0 ? first : last) += (extent.n - 1) * extent.stride;
  }
  return {first, last};
}

void Memory::gather(std::byte* to) const {
  if (elements() > 0) move_elements<true>(dtype_bytes(dtype_), extents(), data_, to);
}

void Memory::scatter(std::byte* from) const {
  if (elements() > 0) move_elements<false>(dtype_bytes(dtype_), extents(), data_, from);
}

nb::object Memory::give_owner() {
  const nb::capsule out(owner_, [](void* p) noexcept { delete static_cast<Owner*>(p); });
  owner_ = nullptr;
  return out;
}

std::optional<Layout> placed_layout(std::span<const Placed> factors) {
  // Innermost last; an index that is always 0 may stand anywhere.
  std::vector<Placed> order(factors.begin(), factors.end());
  std::ranges::stable_sort(order, std::greater(), [](const Placed& factor) {
    return factor.n > 1 ? factor.stride : INT64_MAX;
  });
  std::string out;
  std::int64_t cells = 1;  // of what is written so far
  for (std::size_t i = order.size(); i-- > 0;) {
    const Placed& factor = order[i];
    if (factor.n > 1 && factor.stride != cells) {
      if (factor.stride < cells || factor.stride > (std::int64_t{1} << 31)) return std::nullopt;
      if (out.empty()) {  // a digit that is always 0
        const std::string_view axis = factor.factor.substr(0, factor.factor.find_first_of("/%~"));
        out = std::string(axis) + "%1";
      }
      out = "(" + out + ")~" + std::to_string(factor.stride);
      cells = factor.stride;
    }
    out = std::string(factor.factor) + (out.empty() ? "" : " ") + out;
    cells *= factor.n;
  }
  try {
    return Layout::parse(out.empty() ? "()" : out);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::limit) throw;
    return std::nullopt;  // too many digits and gaps for one layout
  }
}

void expect_copy(const Memory& memory) {
  const auto bytes = static_cast<std::size_t>(dtype_bytes(memory.dtype()));
  const auto elements = static_cast<std::size_t>(memory.elements());
  if (elements <= kMostCopiedBytes / bytes) return;
  throw Error(ErrorCode::limit,
              "an array with strides that no layout has (negative, repeated, overlapping, "
              "interleaved, unaligned) is copied first, but this one has " +
                  std::to_string(elements) + " elements of " + std::to_string(bytes) +
                  " bytes; at most " + std::to_string(kMostCopiedBytes) + " bytes are copied");
}

ArrayView read_array(nb::handle object, std::string_view axes, std::optional<DType> as) {
  Memory memory(object, as);
  const Shape shape = shape_of(memory, axes);
  const DType dtype = memory.dtype();
  if (const std::optional<Layout> layout = layout_of(memory, shape)) {
    const TensorView view(dtype, shape, *layout, memory.data());
    const bool writable = memory.writable();
    return {view, memory.give_owner(), writable};
  }
  expect_copy(memory);
  auto copy = std::make_unique<Tensor>(dtype, shape);
  memory.gather(copy->data());
  const TensorView view = copy->view();
  const nb::capsule owner(copy.get(), [](void* p) noexcept { delete static_cast<Tensor*>(p); });
  static_cast<void>(copy.release());
  return {view, owner, false};
}

ArrayView write_array(nb::handle object, std::string_view axes, std::optional<DType> as) {
  Memory memory(object, as);
  if (!memory.writable()) {
    throw Error(ErrorCode::usage, "the array to write to is read-only");
  }
  const Shape shape = shape_of(memory, axes);
  const std::optional<Layout> layout = layout_of(memory, shape);
  if (!layout) {
    throw Error(ErrorCode::usage,
                "the array to write to has strides that no layout has: negative, repeated, "
                "overlapping, interleaved or unaligned; write to another and copy it");
  }
  const TensorView view(memory.dtype(), shape, *layout, memory.data());
  return {view, memory.give_owner(), true};
}

DType dtype_of(nb::handle object) {
  std::string name;
  if (nb::isinstance<nb::str>(object)) {
    name = nb::cast<std::string>(object);
  } else {
    try {
      name = text_of(numpy().dtype(object).attr("name"));
    } catch (nb::python_error&) {
      throw Error(
          ErrorCode::usage,
          "a dtype is a name such as 'f32' or 'float32', or numpy's, not " + type_of(object));
    }
  }
  const auto* const at = std::ranges::find(kNumpyNames, name, &NumpyName::name);
  return at != std::end(kNumpyNames) ? at->dtype : parse_dtype(name);
}

nb::object numpy_dtype(DType dtype) {
  const nb::handle known = numpy().dtypes[static_cast<std::size_t>(dtype)];
  if (known.is_valid()) return nb::borrow(known);
  try {
    const nb::object found = numpy().dtype(nb::module_::import_("ml_dtypes").attr("bfloat16"));
    return found;
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return nb::borrow(numpy().dtypes[static_cast<std::size_t>(DType::u16)]);
  }
}

/// numpy's memory begins 16 bytes behind a line, where every vector that is stored is in two.
constexpr std::size_t kLine = 64, kAlignedFrom = 64 << 10;

nb::object new_array(DType dtype, std::span<const std::int64_t> extents, bool zero) {
  nb::object shape = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(extents.size())));
  for (std::size_t i = 0; i < extents.size(); ++i) {
    PyTuple_SetItem(shape.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(extents[i]));
  }
  const nb::handle make = zero ? numpy().zeros : numpy().empty;
  auto bytes = static_cast<std::size_t>(dtype_bytes(dtype));
  for (const std::int64_t n : extents) {
    if (__builtin_mul_overflow(bytes, n, &bytes)) bytes = 0;  // numpy says that it is too large
  }
  try {
    if (bytes < kAlignedFrom) return make(shape, numpy_dtype(dtype));
    const nb::object memory =
        make(bytes + kLine, numpy().dtypes[static_cast<std::size_t>(DType::u8)]);
    Py_buffer buffer;
    if (PyObject_GetBuffer(memory.ptr(), &buffer, PyBUF_SIMPLE) != 0) throw nb::python_error();
    const auto address = reinterpret_cast<std::uintptr_t>(buffer.buf);
    PyBuffer_Release(&buffer);
    return numpy().ndarray(shape, numpy_dtype(dtype), memory, (kLine - address % kLine) % kLine);
  } catch (nb::python_error& error) {
    // numpy: "array is too big", "Unable to allocate".
    if (!error.matches(PyExc_MemoryError) && !error.matches(PyExc_ValueError)) throw;
    throw Error(ErrorCode::limit, "no memory for the result: " + text_of(error.value()));
  }
}

nb::object new_array(DType dtype, const Shape& shape) {
  return new_array(dtype, shape.extents(), false);
}

void find_numpy() {
  const nb::module_ module = nb::module_::import_("numpy");
  Numpy& into = numpy();
  into.ndarray = nb::object(module.attr("ndarray")).release();
  into.dtype = nb::object(module.attr("dtype")).release();
  into.empty = nb::object(module.attr("empty")).release();
  into.zeros = nb::object(module.attr("zeros")).release();
  for (const NumpyName& name : kNumpyNames) {
    if (name.dtype == DType::bf16) continue;
    into.dtypes[static_cast<std::size_t>(name.dtype)] =
        into.dtype(nb::str(name.name.data(), name.name.size())).release();
  }
}

}  // namespace stowage::python
