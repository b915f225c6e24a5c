// SPDX-License-Identifier: Apache-2.0
// stowage.Layout and stowage.Mapping.
#include "layout.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include "array.h"
#include "module.h"
#include "stowage/draw.h"
#include "stowage/error.h"

namespace stowage::python {
namespace {

namespace nb = nanobind;

/// Elements whose positions are listed at most.
constexpr std::int64_t kMostPositions = std::int64_t{1} << 27;

constexpr Space kImageSpaces[] = {Space::y, Space::x, Space::lane};

std::string type_of(nb::handle object) { return nb::type_name(object.type()).c_str(); }

/// An index or extent. Booleans and floats are none.
std::int64_t integer_of(nb::handle object, const std::string& what) {
  const nb::object number = nb::steal(PyNumber_Index(object.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    throw Error(ErrorCode::usage, what + " is an integer, not " + type_of(object));
  }
  const long long value = PyLong_AsLongLong(number.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw Error(ErrorCode::usage, what + " is too large");
  }
  return value;
}

/// One coordinate for each axis of the shape, from a sequence in its order or a dict by name.
std::vector<std::int64_t> index_of(nb::handle object, const Shape& shape) {
  const auto rank = static_cast<std::size_t>(shape.rank());
  std::vector<std::int64_t> x(rank, 0);
  if (nb::isinstance<nb::dict>(object)) {
    for (const auto [key, value] : nb::borrow<nb::dict>(object)) {
      const std::string name = nb::cast<std::string>(nb::str(key));
      const auto axes = shape.axes();
      const auto at = std::ranges::find(axes, name, &Axis::name);
      if (at == axes.end()) {
        throw Error(ErrorCode::usage,
                    "the index names '" + name + "', which " + shape.text() + " has not");
      }
      x[static_cast<std::size_t>(at - axes.begin())] = integer_of(value, "the index of " + name);
    }
  } else if (nb::isinstance<nb::sequence>(object) && !nb::isinstance<nb::str>(object)) {
    const nb::sequence list = nb::borrow<nb::sequence>(object);
    if (nb::len(list) != rank) {
      throw Error(ErrorCode::usage, "an index of " + std::to_string(nb::len(list)) +
                                        " coordinates for the " + std::to_string(rank) +
                                        " axes of " + shape.text());
    }
    for (std::size_t i = 0; i < rank; ++i) x[i] = integer_of(list[i], "an index");
  } else {
    throw Error(ErrorCode::usage,
                "an index is a sequence in the order of the axes, or a dict by "
                "name, not " +
                    type_of(object));
  }
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t at = x[static_cast<std::size_t>(i)];
    if (at >= 0 && at < shape[i]) continue;
    throw Error(ErrorCode::usage, "index " + std::to_string(at) + " of axis '" +
                                      std::string(shape.axis(i).name()) + "' is not in " +
                                      shape.text());
  }
  return x;
}

nb::object address(const Mapping& mapping, nb::handle index) {
  const std::vector<std::int64_t> x = index_of(index, mapping.shape());
  if (!mapping.layout().is_image()) return nb::int_(mapping.offset(x));
  return nb::make_tuple(mapping.coordinate(x, Space::y), mapping.coordinate(x, Space::x),
                        mapping.coordinate(x, Space::lane));
}

/// Calls f(x) for each element, row-major.
template <class F>
void each_element(const Shape& shape, F f) {
  std::vector<std::int64_t> x(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    f(x);
    for (std::size_t d = x.size(); d-- > 0;) {
      if (++x[d] < shape.extents()[d]) break;
      x[d] = 0;
    }
  }
}

nb::object positions(const Mapping& mapping) {
  const Shape& shape = mapping.shape();
  if (shape.elements() > kMostPositions) {
    throw Error(ErrorCode::limit, shape.text() + " has " + std::to_string(shape.elements()) +
                                      " elements; positions of at most " +
                                      std::to_string(kMostPositions) + " are listed");
  }
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  const bool image = mapping.layout().is_image();
  if (image) extents.push_back(3);
  const nb::object out = new_array(DType::i64, extents, false);
  const Memory memory(out);
  auto* to = reinterpret_cast<std::int64_t*>(memory.data());
  const nb::gil_scoped_release released;
  each_element(shape, [&](const std::vector<std::int64_t>& x) {
    if (!image) {
      *to++ = mapping.offset(x);
      return;
    }
    for (const Space space : kImageSpaces) *to++ = mapping.coordinate(x, space);
  });
  return out;
}

nb::dict dims_dict(const Shape& shape) {
  nb::dict out;
  for (int i = 0; i < shape.rank(); ++i) {
    const Axis axis = shape.axis(i);
    out[nb::str(axis.name().data(), axis.name().size())] = shape[i];
  }
  return out;
}

/// The cell of the linear view that Python names: a number, or y, x, lane.
std::int64_t cell_of(const Mapping& mapping, nb::handle position) {
  if (!mapping.layout().is_image()) {
    const std::int64_t cell = integer_of(position, "a cell");
    if (cell >= 0 && cell < mapping.cells()) return cell;
    throw Error(ErrorCode::usage, "there is no cell " + std::to_string(cell) + " of " +
                                      std::to_string(mapping.cells()));
  }
  if (!nb::isinstance<nb::sequence>(position) || nb::len(position) != 3) {
    throw Error(ErrorCode::usage, "a cell of an image is (y, x, lane)");
  }
  std::int64_t cell = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string name(space_name(kImageSpaces[i]));
    const std::int64_t at = integer_of(position[i], name), extent = mapping.extent(kImageSpaces[i]);
    if (at < 0 || at >= extent) {
      throw Error(ErrorCode::usage,
                  name + " " + std::to_string(at) + " is not below " + std::to_string(extent));
    }
    cell = cell * extent + at;
  }
  return cell;
}

nb::object held(const Mapping& mapping, nb::handle position) {
  std::vector<std::int64_t> x(static_cast<std::size_t>(mapping.shape().rank()), 0);
  switch (mapping.inverse(cell_of(mapping, position), x)) {
    case Cell::tail:
      return nb::str("tail");
    case Cell::gap:
      return nb::str("gap");
    case Cell::data:
      break;
  }
  nb::dict out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::string_view name = mapping.shape().axes()[i].name();
    out[nb::str(name.data(), name.size())] = x[i];
  }
  return out;
}

nb::tuple tuple_of(std::span<const std::int64_t> values) {
  nb::list out;
  for (const std::int64_t value : values) out.append(value);
  return nb::tuple(out);
}

nb::tuple names_of(std::span<const Axis> axes) {
  nb::list out;
  for (const Axis& axis : axes) out.append(nb::str(axis.name().data(), axis.name().size()));
  return nb::tuple(out);
}

Layout renamed(const Layout& layout, const nb::dict& names) {
  std::vector<Axis> from, to;
  for (const auto [key, value] : names) {
    from.emplace_back(nb::cast<std::string>(nb::str(key)));
    to.emplace_back(nb::cast<std::string>(nb::str(value)));
  }
  return layout.renamed(from, to);
}

nb::dict catalog() {
  nb::dict out;
  for (const NamedLayout& line : layout_catalog()) {
    out[nb::str(line.name.data(), line.name.size())] = Layout::parse(line.layout);
  }
  return out;
}

Mapping bind(const Layout& layout, nb::handle dims, int element_bytes) {
  return Mapping(layout, shape_of(dims_of(dims)), element_bytes);
}

constexpr const char* kLayoutDoc =
    R"(Where each element of a tensor lies, as an expression over the names of its axes.

``"n c/16 h w c%16"`` is row-major, leftmost most significant: the block of 16 channels, the row,
the column, the channel within the block. docs/layouts.md has the language. Known spellings
(``"NCHW"``, ``"nChw16c"``, ``"NC4HW4"``) and names of the catalogue (``"ncnn-3d-pack4"``) are read, too.

Parameters
----------
text : str or Layout
    The expression, at most 1000 characters.

Raises
------
UsageError
    For text that is no layout; the sentence has a caret under the place.

Examples
--------
>>> import stowage
>>> layout = stowage.Layout("n c/16 h w c%16")
>>> layout.spelling
'nChw16c'
>>> layout.address("n=1,c=30,h=2,w=2", {"c": 17, "w": 1})
81
>>> layout == stowage.Layout("nChw16c")
True
)";

constexpr const char* kMappingDoc =
    R"(A layout bound to the extents of its axes: every element has a cell.

Parameters
----------
layout : str or Layout
dims : str or Mapping[str, int]
    The extents, ``"n=1,c=30,h=2,w=2"`` or a dict, in the order in which indices are given.
element_bytes : int
    Bytes of a scalar, 1 to 16; alignments such as ``~16B`` depend on it.

Raises
------
UsageError
    When an axis of the layout has no extent, or one of another extent than 1 has no place.
LimitError
    When the cells are 2**50 or more.

Examples
--------
>>> import stowage
>>> mapping = stowage.Layout("n c/4 h w c%4").bind("n=1,c=6,h=1,w=2")
>>> mapping.cells, mapping.bytes, mapping.counts
(16, 64, {'data': 12, 'tail': 4, 'gap': 0})
>>> mapping.cell(9)
{'n': 0, 'c': 5, 'h': 0, 'w': 0}
>>> mapping.cell(10)
'tail'
)";

void bind_layout_class(nb::module_& m) {
  nb::class_<Layout>(m, "Layout", kLayoutDoc)
      .def(
          "__init__", [](Layout* self, nb::handle text) { new (self) Layout(layout_of(text)); },
          nb::arg("text"), nb::sig("def __init__(self, text: str | Layout) -> None"))
      .def_prop_ro("text", &Layout::text, "The long form; reading it gives the same layout.")
      .def_prop_ro("spelling", &Layout::spelling,
                   "The known spelling, such as ``'NCHW'`` or ``'nChw16c'``, or the long form.")
      .def_prop_ro(
          "axes", [](const Layout& self) { return names_of(self.axes()); },
          nb::sig("def axes(self) -> tuple[str, ...]"), "Names of the axes as they first appear.")
      .def_prop_ro("is_image", &Layout::is_image,
                   "Whether it is an image of rows, texels and lanes, not linear memory.")
      .def("bind", &bind, nb::arg("dims"), nb::arg("element_bytes") = 4,
           nb::sig("def bind(self, dims: str | collections.abc.Mapping[str, int], "
                   "element_bytes: int = 4) -> Mapping"),
           "A `Mapping` of this layout for these extents; errors are those of `Mapping`.")
      .def(
          "address",
          [](const Layout& self, nb::handle dims, nb::handle index) {
            return address(bind(self, dims, 4), index);
          },
          nb::arg("dims"), nb::arg("index"),
          nb::sig("def address(self, dims: str | collections.abc.Mapping[str, int], "
                  "index: collections.abc.Sequence[int] | collections.abc.Mapping[str, int]) "
                  "-> typing.Any"),
          "The cell of an element, as `Mapping.address`, for scalars of 4 bytes.")
      .def(
          "positions",
          [](const Layout& self, nb::handle dims) { return positions(bind(self, dims, 4)); },
          nb::arg("dims"),
          nb::sig("def positions(self, dims: str | collections.abc.Mapping[str, int]) "
                  "-> numpy.typing.NDArray[numpy.int64]"),
          "The cell of every element, as `Mapping.positions`, for scalars of 4 bytes.")
      .def("renamed", &renamed, nb::arg("names"),
           nb::sig("def renamed(self, names: dict[str, str]) -> Layout"),
           "The same with axes renamed; the others stay. Raises UsageError if two would collide.")
      .def_static("catalog", &catalog, nb::sig("def catalog() -> dict[str, Layout]"),
                  "Every named layout; docs/layouts.md tells where each is used.")
      .def(
          "__eq__",
          [](const Layout& self, nb::handle other) -> nb::object {
            Layout* that = nullptr;
            if (!nb::try_cast(other, that) || that == nullptr) return nb::not_implemented();
            return nb::bool_(self == *that);
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const Layout& self) {
             return static_cast<Py_ssize_t>(std::hash<std::string>()(self.text()) >> 1);
           })
      .def("__repr__", [](const Layout& self) { return "stowage.Layout('" + self.text() + "')"; })
      .def("__str__", &Layout::text)
      .def(
          "__reduce__",
          [](const Layout& self) {
            return nb::make_tuple(nb::type<Layout>(), nb::make_tuple(self.text()));
          },
          nb::sig("def __reduce__(self) -> tuple[type[Layout], tuple[str]]"));
}

void bind_mapping_class(nb::module_& m) {
  nb::class_<Mapping>(m, "Mapping", kMappingDoc)
      .def(
          "__init__",
          [](Mapping* self, nb::handle layout, nb::handle dims, int element_bytes) {
            new (self) Mapping(bind(layout_of(layout), dims, element_bytes));
          },
          nb::arg("layout"), nb::arg("dims"), nb::arg("element_bytes") = 4,
          nb::sig("def __init__(self, layout: str | Layout, dims: str | "
                  "collections.abc.Mapping[str, int], element_bytes: int = 4) -> None"))
      .def_prop_ro("layout", [](const Mapping& self) { return self.layout(); })
      .def_prop_ro(
          "dims", [](const Mapping& self) { return dims_dict(self.shape()); },
          nb::sig("def dims(self) -> dict[str, int]"), "Axes and their extents.")
      .def_prop_ro("element_bytes", &Mapping::element_bytes, "Bytes of a scalar.")
      .def_prop_ro("cells", &Mapping::cells, "Cells of all the memory, padding included.")
      .def_prop_ro("bytes", &Mapping::bytes, "Bytes of all the memory, padding included.")
      .def_prop_ro(
          "shape", [](const Mapping& self) { return tuple_of(physical_extents(self)); },
          nb::sig("def shape(self) -> tuple[int, ...]"),
          "The shape of an array that holds it: the digits in order, or (y, x, lane) of an image.")
      .def_prop_ro(
          "counts",
          [](const Mapping& self) {
            const Mapping::CellCounts counts = self.count();
            nb::dict out;
            out["data"] = counts.data;
            out["tail"] = counts.tail;
            out["gap"] = counts.gap;
            return out;
          },
          nb::sig("def counts(self) -> dict[str, int]"),
          "How many cells hold an element (data), zero (tail) and nothing (gap).")
      .def_prop_ro("bijective", &Mapping::bijective, "Every cell holds an element.")
      .def("address", &address, nb::arg("index"),
           nb::sig("def address(self, index: collections.abc.Sequence[int] | "
                   "collections.abc.Mapping[str, int]) -> typing.Any"),
           R"(The cell of an element.

Parameters
----------
index : Sequence[int] or Mapping[str, int]
    A coordinate for each axis in the order of `dims`, or by name, where one that is left out is 0.

Returns
-------
int or tuple[int, int, int]
    The number of the cell, or (y, x, lane) of an image.

Raises
------
UsageError
    For an index outside the extents.
)")
      .def("positions", &positions,
           nb::sig("def positions(self) -> numpy.typing.NDArray[numpy.int64]"),
           R"(The cell of every element.

Returns
-------
numpy.ndarray of int64
    Of the shape of `dims`: the number of each element's cell. Of an image with one axis more of
    three: y, x, lane.

Raises
------
LimitError
    For more than 2**27 elements.
)")
      .def("cell", &held, nb::arg("position"),
           nb::sig("def cell(self, position: int | tuple[int, int, int]) -> "
                   "dict[str, int] | str"),
           "What a cell holds: an element's index by axis, ``'tail'`` (zero) or ``'gap'``.")
      .def("draw", &draw_text, "The cells as text in the order of memory: ``.`` tail, ``_`` gap.")
      .def("_repr_svg_", &draw_svg, "The cells as a picture, which notebooks show.")
      .def("__repr__",
           [](const Mapping& self) {
             return "stowage.Mapping('" + self.layout().text() + "', '" + self.shape().text() +
                    "', element_bytes=" + std::to_string(self.element_bytes()) + ")";
           })
      .def(
          "__reduce__",
          [](const Mapping& self) {
            return nb::make_tuple(
                nb::type<Mapping>(),
                nb::make_tuple(self.layout(), dims_dict(self.shape()), self.element_bytes()));
          },
          nb::sig("def __reduce__(self) -> tuple[type[Mapping], tuple[Layout, dict[str, int], "
                  "int]]"));
}

}  // namespace

Dims dims_of(nb::handle object) {
  Dims out;
  if (object.is_none()) return out;
  if (nb::isinstance<nb::str>(object)) {
    const Shape shape = Shape::parse(nb::cast<std::string>(object));
    for (int i = 0; i < shape.rank(); ++i) out.emplace_back(shape.axis(i), shape[i]);
  } else if (nb::isinstance<nb::dict>(object)) {
    for (const auto [key, value] : nb::borrow<nb::dict>(object)) {
      const std::string name = nb::cast<std::string>(nb::str(key));
      out.emplace_back(Axis(name), integer_of(value, "the extent of " + name));
    }
  } else {
    throw Error(ErrorCode::usage,
                "dims are a dict such as {'n': 1, 'c': 3} or a text such as 'n=1,c=3', not " +
                    type_of(object));
  }
  return out;
}

Shape shape_of(const Dims& dims) {
  std::vector<Axis> axes;
  std::vector<std::int64_t> extents;
  for (const auto& [axis, extent] : dims) {
    axes.push_back(axis);
    extents.push_back(extent);
  }
  return Shape(axes, extents);
}

Layout layout_of(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) return Layout::parse(nb::cast<std::string>(object));
  if (nb::isinstance<Layout>(object)) return nb::cast<Layout>(object);
  throw Error(
      ErrorCode::usage,
      "a layout is a str such as 'n c/16 h w c%16' or a stowage.Layout, not " + type_of(object));
}

std::vector<std::int64_t> physical_extents(const Mapping& mapping) {
  if (mapping.layout().is_image()) {
    return {mapping.extent(Space::y), mapping.extent(Space::x), mapping.extent(Space::lane)};
  }
  std::vector<std::int64_t> out;
  for (const Digit& digit : mapping.digits()) out.push_back(digit.e);
  return out;
}

void bind_layout(nb::module_& m) {
  find_numpy();
  bind_layout_class(m);
  bind_mapping_class(m);
}

}  // namespace stowage::python
