// SPDX-License-Identifier: Apache-2.0
// stowage.convert: compiled conversions, kept.
#include "convert.h"

#include <nanobind/stl/string.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "module.h"
#include "stowage/convert.h"
#include "stowage/error.h"

namespace stowage::python {
namespace {

namespace nb = nanobind;

using Extents = std::vector<std::int64_t>;

/// Conversions that are kept, some 32 KiB each.
constexpr std::size_t kKeptConversions = 64;

/// Shorter ones finish before another thread would have the interpreter.
constexpr std::size_t kReleaseBytes = 32 * 1024;

struct Compiled {
  Conversion conversion;
  bool gather;   ///< the elements of the source are put next to each other first
  bool scatter;  ///< those of the result are next to each other, and put where they belong last
  DType dtype;
  std::int64_t cells;
  Extents extents, strides;  ///< of the array of the result; strides in elements
};

std::string text_of(std::span<const std::int64_t> extents) {
  std::string out = "(";
  for (std::size_t i = 0; i < extents.size(); ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string(extents[i]);
  }
  return out + (extents.size() == 1 ? ",)" : ")");
}

Extents extents_of(const Memory& memory) {
  Extents out;
  for (const Extent& extent : memory.extents()) out.push_back(extent.n);
  return out;
}

std::int64_t product(std::span<const std::int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies());
}

/// The digits of a layout in linear memory that have an axis of the array: all but the empty %1.
std::vector<Layout::Item> digits_of(const Layout& layout) {
  std::vector<Layout::Item> out;
  for (const Layout::Item& item : layout.items()) {
    if (item.kind == Layout::Item::Kind::factor && item.m != 1) out.push_back(item);
  }
  return out;
}

std::string factor_text(const Layout::Item& item) {
  std::string out(item.axis.name());
  if (item.q != 1) out += "/" + std::to_string(item.q);
  if (item.m != 0) out += "%" + std::to_string(item.m);
  if (item.align != 1) out += "~" + std::to_string(item.align);
  return out;
}

/// Perhaps several letters were to be several axes.
std::string hint(const Layout& layout, const Memory& memory) {
  const std::vector<Axis> axes = layout.axes();
  if (axes.size() != 1 || axes[0].name().size() != memory.extents().size()) return "";
  std::string spaced;
  for (const char c : axes[0].name()) spaced += std::string(spaced.empty() ? "" : " ") + c;
  return "; '" + std::string(axes[0].name()) + "' is one axis, '" + spaced + "' are several";
}

/// The extents of all axes. Those of `src` that are not given follow from the array if it has an
/// axis for each digit; others are 1.
Shape resolve(const Memory& memory, const Layout& src, const Layout& dst, const Dims& given) {
  const std::vector<Layout::Item> digits = digits_of(src);
  const bool by_digits = !src.is_image() && digits.size() == memory.extents().size();
  const auto find = [](const Dims& dims, Axis axis) {
    return std::ranges::find(dims, axis, &Dims::value_type::first);
  };
  Dims dims;
  for (const Axis axis : src.axes()) {
    if (const auto at = find(given, axis); at != given.end()) {
      dims.push_back(*at);
      continue;
    }
    if (!by_digits) {
      throw Error(ErrorCode::usage, "the extent of '" + std::string(axis.name()) +
                                        "' does not follow from an array of shape " +
                                        text_of(extents_of(memory)) + " in layout '" + src.text() +
                                        "'; give it with dims" + hint(src, memory));
    }
    std::int64_t extent = 1;
    for (std::size_t i = 0; i < digits.size(); ++i) {
      if (digits[i].axis != axis || digits[i].m != 0) continue;
      if (__builtin_mul_overflow(memory.extents()[i].n, digits[i].q, &extent)) {
        throw Error(ErrorCode::limit, "the extent of '" + std::string(axis.name()) + "' overflows");
      }
    }
    dims.emplace_back(axis, extent);
  }
  for (const Axis axis : dst.axes()) {
    const bool known = find(dims, axis) != dims.end() || find(given, axis) != given.end();
    if (!known) dims.emplace_back(axis, 1);
  }
  for (const auto& dim : given) {
    if (find(dims, dim.first) == dims.end()) dims.push_back(dim);
  }
  return shape_of(dims);
}

/// Where the elements of an array lie.
struct Fit {
  Layout layout;
  bool gather = false;  ///< no layout says it; this one is of the elements next to each other
};

/// The array holds the cells of `natural`: an axis for each digit (or y, x, lane of an image), or
/// flat. Throws Error(bad_input) where it does not.
Fit fit(const Memory& memory, const Mapping& natural, const char* what) {
  const Extents have = extents_of(memory), want = physical_extents(natural);
  const Layout& layout = natural.layout();
  const bool flat = have.size() == 1 && have[0] == natural.cells();
  if (have != want && !flat) {
    throw Error(ErrorCode::bad_input, std::string(what) + " has shape " + text_of(have) + ", but " +
                                          natural.shape().text() + " in layout '" + layout.text() +
                                          "' takes " + text_of(want) + " or " +
                                          text_of(Extents{natural.cells()}) + hint(layout, memory));
  }
  const bool gaps = natural.cells() != product(want);
  if (memory.dense() && (have != want || !gaps)) return {layout};
  if (have != want || layout.is_image()) return {layout, true};
  const std::vector<Layout::Item> digits = digits_of(layout);
  std::vector<std::string> texts;
  std::string together;
  for (const Layout::Item& digit : digits) {
    texts.push_back(factor_text(digit));
    together += (together.empty() ? "" : " ") + texts.back();
  }
  const std::int64_t bytes = dtype_bytes(memory.dtype());
  bool aligned = reinterpret_cast<std::uintptr_t>(memory.data()) % bytes == 0;
  std::vector<Placed> placed;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const Extent extent = memory.extents()[i];
    aligned &= extent.n <= 1 || extent.stride % bytes == 0;
    placed.push_back({texts[i], extent.n, extent.stride / bytes});
  }
  if (memory.elements() > 0 && aligned) {
    if (const auto found = placed_layout(placed)) return {*found};
  }
  return {Layout::parse(together.empty() ? "()" : together), memory.elements() > 0};
}

Compiled compile(const Request& request, const Memory& from, const Memory* to, DType dtype) {
  const Layout src = Layout::parse(request.src), dst = Layout::parse(request.dst);
  const Shape shape = resolve(from, src, dst, request.dims);
  const Fit source = fit(from, Mapping(src, shape, dtype_bytes(from.dtype())), "the array");
  const Mapping natural(dst, shape, dtype_bytes(dtype));
  Fit target{dst};
  if (to != nullptr) {
    target = fit(*to, natural, "out");
  }
  Extents strides;
  for (const Digit& digit : natural.digits()) strides.push_back(digit.stride);
  const Mapping there(target.layout, shape, dtype_bytes(dtype));
  return {Conversion(from.dtype(), Mapping(source.layout, shape, dtype_bytes(from.dtype())), dtype,
                     there, {request.mean, request.scale, Axis("c")}),
          source.gather,
          target.gather,
          dtype,
          natural.cells(),
          physical_extents(natural),
          strides};
}

/// What decides how a conversion is compiled, as bytes.
class Key {
 public:
  template <class T>
  Key& add(const T& value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }

  Key& add(const std::string& text) {
    add(text.size());
    text_ += text;
    return *this;
  }

  Key& add(const std::vector<float>& values) {
    add(values.size());
    text_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    return *this;
  }

  Key& add(const Memory& memory) {
    add(memory.dtype()).add(memory.extents().size());
    add(reinterpret_cast<std::uintptr_t>(memory.data()) % 8);
    text_.append(reinterpret_cast<const char*>(memory.extents().data()),
                 memory.extents().size_bytes());
    return *this;
  }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The conversions used last.
class Cache {
 public:
  template <class Make>
  std::shared_ptr<const Compiled> get(const std::string& key, Make make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = places_.find(key); at != places_.end()) {
        kept_.splice(kept_.begin(), kept_, at->second);
        return kept_.front().second;
      }
    }
    auto made = std::make_shared<const Compiled>(make());
    const std::lock_guard lock(mutex_);
    if (places_.contains(key)) return made;  // another thread was faster
    kept_.emplace_front(key, made);
    places_[key] = kept_.begin();
    if (kept_.size() > kKeptConversions) {
      places_.erase(kept_.back().first);
      kept_.pop_back();
    }
    return made;
  }

 private:
  using Entry = std::pair<std::string, std::shared_ptr<const Compiled>>;

  std::mutex mutex_;
  std::list<Entry> kept_;  // used last, first
  std::unordered_map<std::string, std::list<Entry>::iterator> places_;
};

Cache& cache() {
  static Cache kept;
  return kept;
}

/// Those of this thread, which keeps them. A child of fork has not got them.
class Pool {
 public:
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  ~Pool() { forget_inherited(); }

  ThreadPool* get(int threads) {
    if (threads == 1) return nullptr;
    forget_inherited();
    if (pool_ == nullptr || threads != asked_) {
      pool_.reset();
      pool_ = std::make_unique<ThreadPool>(threads);
      asked_ = threads;
      process_ = getpid();
    }
    return pool_.get();
  }

 private:
  /// Its threads are those of the parent: there is nobody to wait for.
  void forget_inherited() {
    if (process_ != getpid()) static_cast<void>(pool_.release());
  }

  std::unique_ptr<ThreadPool> pool_;
  int asked_ = 0;
  pid_t process_ = 0;
};

nb::object new_result(const Compiled& compiled) {
  if (compiled.cells == product(compiled.extents)) {
    return new_array(compiled.dtype, compiled.extents, false);
  }
  // Gaps are seen by who looks at the whole memory.
  const nb::object flat = new_array(compiled.dtype, Extents{compiled.cells}, true);
  nb::list extents, strides;
  for (const std::int64_t n : compiled.extents) extents.append(n);
  for (const std::int64_t n : compiled.strides) strides.append(n * dtype_bytes(compiled.dtype));
  return nb::module_::import_("numpy.lib.stride_tricks")
      .attr("as_strided")(flat, nb::tuple(extents), nb::tuple(strides));
}

/// Room for the elements next to each other.
std::optional<Tensor> scratch(const Memory& memory, bool wanted) {
  if (!wanted) return std::nullopt;
  return Tensor(memory.dtype(), Shape("a", {memory.elements()}));
}

std::string layout_text(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  return layout_of(object).text();
}

/// One number, or several.
std::vector<float> floats_of(nb::handle object, const char* what) {
  std::vector<float> out;
  if (object.is_none()) return out;
  const auto add = [&](nb::handle number) {
    const double value = PyFloat_AsDouble(number.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      throw Error(ErrorCode::usage, std::string(what) +
                                        " is a number, or a number for each index "
                                        "of axis c");
    }
    out.push_back(static_cast<float>(value));
  };
  if (nb::hasattr(object, "__len__") && !nb::isinstance<nb::str>(object)) {
    for (const nb::handle number : nb::borrow(object)) add(number);
    if (out.empty()) throw Error(ErrorCode::usage, std::string(what) + " has no values");
  } else {
    add(object);
  }
  return out;
}

std::optional<DType> optional_dtype(nb::handle object) {
  return object.is_none() ? std::nullopt : std::optional(dtype_of(object));
}

nb::object convert(nb::handle array, nb::handle src, nb::handle dst, nb::handle dims,
                   nb::handle dtype, nb::handle src_dtype, nb::handle mean, nb::handle scale,
                   nb::handle out, int threads) {
  const Memory from(array, optional_dtype(src_dtype));
  return convert_array(from,
                       {layout_text(src), layout_text(dst), dims_of(dims), optional_dtype(dtype),
                        floats_of(mean, "mean"), floats_of(scale, "scale"), threads},
                       out);
}

constexpr const char* kConvertDoc = R"(Moves an array from one layout into another.

Arrays are physical. In linear memory an array has an axis for each digit of its layout: one of
``"n h w c"`` has the shape (n, h, w, c), one of ``"n c/16 h w c%16"`` the shape (n, c/16, h, w, 16).
An image has (y, x, lane). A flat array of all cells is read and written, too. Padding is written
as zero; gaps of an alignment such as ``(h w)~16B`` lie between the axes of the result and are zero
in new memory.

Parameters
----------
array
    numpy, a buffer, or DLPack in the memory of the host; any strides. What no layout says
    (negative strides, repeated, overlapping, interleaved or unaligned elements) is copied once
    more, up to 2**30 bytes.
src, dst : str or Layout
    The layouts of `array` and of the result, over the same axes. An axis that one of them lacks
    is 1.
dims : str or Mapping[str, int], optional
    Extents of axes, ``{"c": 30}`` or ``"c=30"``. Those that are left out follow from the array
    where it has an axis for each digit; padding then counts as elements.
dtype : optional
    The scalars of the result, ``"f32"``, ``"float32"`` or numpy's; those of `out` or else of
    `array`. Floats are rounded to nearest even, integers saturated. bf16 is numpy's only with
    ml_dtypes; where that cannot be imported the result is uint16.
src_dtype : optional
    ``"bf16"`` reads an array of uint16 as bf16.
mean, scale : float or Sequence[float], optional
    The result is ``(x - mean) * scale``, computed in f32; several are one for each index of axis c.
out : optional
    Written and returned, in place of a new array; strides as for `array`, but for repeated
    elements.
threads : int
    Threads that share the work, the caller included, 1 to 256. The interpreter is free meanwhile.

Returns
-------
numpy.ndarray
    A new C-ordered array, apart from gaps; or `out`.

Raises
------
UsageError
    For layouts, dims or dtypes that do not fit each other, or an `out` that cannot be written or
    shares memory with `array`.
BadInputError
    For an array of another shape.
UnsupportedError
    For a byte order, dtype or device that is not read.
LimitError
    When there is no memory.

Notes
-----
The last 64 conversions are kept compiled, by layouts, shapes, strides and dtypes.

Examples
--------
>>> import numpy as np, stowage
>>> picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
>>> x = stowage.convert(picture, "HWC", "NCHW", dtype="f32", scale=1 / 255)
>>> x.shape, x.dtype
((1, 3, 2, 4), dtype('float32'))
>>> blocked = stowage.convert(x, "NCHW", "nChw4c")
>>> blocked.shape
(1, 1, 2, 4, 4)
>>> bool((stowage.convert(blocked, "nChw4c", "NCHW", dims={"c": 3}) == x).all())
True
)";

}  // namespace

nb::object convert_array(const Memory& from, const Request& request, nb::handle out) {
  std::optional<Memory> to;
  DType dtype = request.dtype.value_or(from.dtype());
  Key key;
  key.add(request.src).add(request.dst).add(request.mean).add(request.scale).add(from);
  if (!out.is_none()) {
    const bool words = request.dtype == DType::bf16;
    to.emplace(out);
    if (words && to->dtype() == DType::u16) to.emplace(out, DType::bf16);
    if (!to->writable()) throw Error(ErrorCode::usage, "out is read-only");
    if (to->repeats()) {
      throw Error(ErrorCode::usage, "out has a stride of 0, so that elements are the same memory");
    }
    if (request.dtype && to->dtype() != dtype) {
      throw Error(ErrorCode::usage, "out is of dtype " + std::string(dtype_name(to->dtype())) +
                                        ", but " + std::string(dtype_name(dtype)) +
                                        " is asked for");
    }
    dtype = to->dtype();
    const auto [read, read_end] = from.range();
    const auto [written, written_end] = to->range();
    if (read < written_end && written < read_end) {
      throw Error(ErrorCode::usage, "out shares memory with the array");
    }
    key.add(*to);
  }
  key.add(dtype);
  for (const auto& [axis, extent] : request.dims) key.add(axis).add(extent);
  const auto compiled =
      cache().get(key.text(), [&] { return compile(request, from, to ? &*to : nullptr, dtype); });
  thread_local Pool pools;
  ThreadPool* const pool = pools.get(request.threads);
  if (compiled->gather) expect_copy(from);
  if (compiled->scatter) expect_copy(*to);
  const nb::object result = to ? nb::borrow(out) : new_result(*compiled);
  if (!to) to.emplace(result, dtype);
  if (to->elements() == 0) return result;
  const auto move = [&] {
    std::optional<Tensor> source = scratch(from, compiled->gather);
    std::optional<Tensor> target = scratch(*to, compiled->scatter);
    if (source) from.gather(source->data());
    compiled->conversion.run(source ? source->data() : from.data(),
                             target ? target->data() : to->data(), pool);
    if (target) to->scatter(target->data());
  };
  if (compiled->conversion.bytes_moved() < kReleaseBytes) {
    move();
  } else {
    const nb::gil_scoped_release released;
    move();
  }
  return result;
}

void bind_convert(nb::module_& m) {
  m.def("convert", &convert, nb::arg("array").none(), nb::arg("src"), nb::arg("dst"),
        nb::arg("dims").none() = nb::none(), nb::kw_only(), nb::arg("dtype").none() = nb::none(),
        nb::arg("src_dtype").none() = nb::none(), nb::arg("mean").none() = nb::none(),
        nb::arg("scale").none() = nb::none(), nb::arg("out").none() = nb::none(),
        nb::arg("threads") = 1, kConvertDoc,
        nb::sig("def convert(array: typing.Any, src: str | Layout, dst: str | Layout, "
                "dims: str | collections.abc.Mapping[str, int] | None = None, *, "
                "dtype: numpy.typing.DTypeLike | None = None, "
                "src_dtype: numpy.typing.DTypeLike | None = None, "
                "mean: float | collections.abc.Sequence[float] | "
                "numpy.typing.NDArray[typing.Any] | None = None, "
                "scale: float | collections.abc.Sequence[float] | "
                "numpy.typing.NDArray[typing.Any] | None = None, "
                "out: typing.Any = None, threads: int = 1) -> numpy.typing.NDArray[typing.Any]"));
  bind_mat(m);
}

}  // namespace stowage::python
