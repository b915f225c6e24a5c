// SPDX-License-Identifier: Apache-2.0
// stowage layout: what a layout says, alone or bound to a shape.
#include "stowage/layout.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "base/nearest.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/io/file.h"
#include "stowage/draw.h"
#include "stowage/mat.h"

namespace stowage::cli {
namespace {

/// Elements that --map lists at most.
constexpr std::int64_t kMaxMap = 1 << 20;

/// Channels of a CL_RGBA image.
constexpr std::int64_t kRgba = 4;

struct LayoutOptions {
  std::string layout, shape, svg, limits, pixel;
  std::vector<std::string> element;  // AXIS=INDEX
  std::optional<std::int64_t> cell;
  int element_bytes = 4;
  bool given = false;  ///< LAYOUT, perhaps empty
  bool json = false, map = false, list = false;
};

/// "nchw", or "batch channel" when a name has several letters.
std::string dims_text(std::span<const Axis> axes) {
  std::string letters, words;
  for (const Axis& axis : axes) {
    letters += axis.name();
    words += text(words.empty() ? "" : " ", axis.name());
  }
  return letters.size() == axes.size() ? letters : words;
}

Json position_of(const Mapping& mapping, std::span<const std::int64_t> x) {
  if (!mapping.layout().is_image()) return mapping.offset(x);
  return Json::array({mapping.coordinate(x, Space::y), mapping.coordinate(x, Space::x),
                      mapping.coordinate(x, Space::lane)});
}

/// Where each element lies, the elements in row-major order of the shape.
Json positions(const Mapping& mapping) {
  const Shape& shape = mapping.shape();
  if (shape.elements() > kMaxMap) {
    fail(ErrorCode::limit, "the map of ", shape.text(), " has ", shape.elements(),
         " positions; at most ", kMaxMap, " are listed; use a smaller --shape");
  }
  Json list = Json::array();
  std::vector<std::int64_t> x(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    list.push_back(position_of(mapping, x));
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (++x[static_cast<std::size_t>(d)] < shape[d]) break;
      x[static_cast<std::size_t>(d)] = 0;
    }
  }
  return list;
}

Json extents_json(const Mapping& mapping) {
  Json json = Json::object();
  if (mapping.layout().is_image()) {
    for (const Space space : {Space::y, Space::x, Space::lane}) {
      json[std::string(space_name(space))] = mapping.extent(space);
    }
  } else {
    json["mem"] = mapping.extent(Space::mem);
  }
  return json;
}

/// The numbers of "1,5" or "16384x16384"; `example` is what an error recommends.
std::vector<std::int64_t> numbers(std::string_view option, const std::string& word, char separator,
                                  std::string_view example) {
  std::vector<std::int64_t> out;
  const char *at = word.data(), *const end = at + word.size();
  do {
    std::int64_t number = 0;
    const auto [rest, problem] = std::from_chars(at, end, number);
    if (problem != std::errc() || number < 0 || (rest != end && *rest != separator)) {
      fail(ErrorCode::usage, option, " '", word, "' is not understood; write ", example);
    }
    out.push_back(number);
    at = rest == end ? nullptr : rest + 1;
  } while (at != nullptr);
  return out;
}

/// The element that --element names; an axis that is left out is 0.
std::vector<std::int64_t> element_of(const LayoutOptions& options, const Shape& shape) {
  if (shape.elements() == 0) fail(ErrorCode::usage, shape.text(), " has no element");
  std::vector<std::int64_t> x(static_cast<std::size_t>(shape.rank()), 0);
  std::vector<bool> named(x.size(), false);
  for (const std::string& piece : options.element) {
    const std::size_t equals = std::min(piece.find('='), piece.size());
    const std::string name = piece.substr(0, equals);
    const auto axes = shape.axes();
    const auto axis = std::ranges::find(axes, name, &Axis::name);
    if (axis == axes.end()) {
      fail(ErrorCode::usage, "--element names no axis of ", shape.text(), " with '", piece,
           "'; write c=5,h=1");
    }
    const auto i = static_cast<std::size_t>(axis - axes.begin());
    const char* end = piece.data() + piece.size();
    const char* begin = std::min(piece.data() + equals + 1, end);
    const auto [rest, problem] = std::from_chars(begin, end, x[i]);
    if (problem != std::errc() || rest != end || x[i] < 0 || x[i] >= shape.extents()[i]) {
      fail(ErrorCode::usage, "--element ", piece, " is not in ", shape.text());
    }
    if (named[i]) fail(ErrorCode::usage, "--element names '", name, "' twice");
    named[i] = true;
  }
  return x;
}

/// "n=0,c=5,h=1,w=2"
std::string element_text(const Shape& shape, std::span<const std::int64_t> x) {
  std::string out;
  for (std::size_t i = 0; i < x.size(); ++i) {
    out += text(i == 0 ? "" : ",", shape.axes()[i].name(), "=", x[i]);
  }
  return out.empty() ? "the only element" : out;
}

/// "y=1, x=5, lane=1", or "cell 37".
std::string position_text(const Mapping& mapping, std::span<const std::int64_t> x) {
  if (!mapping.layout().is_image()) return text("cell ", mapping.offset(x));
  return text("y=", mapping.coordinate(x, Space::y), ", x=", mapping.coordinate(x, Space::x),
              ", lane=", mapping.coordinate(x, Space::lane));
}

/// Cells of the linear view that --pixel or --cell asks for.
struct CellRange {
  std::int64_t begin = 0, end = 0;
};

CellRange cells_asked(const LayoutOptions& options, const Mapping& mapping) {
  const bool image = mapping.layout().is_image();
  if (options.cell) {
    if (image) fail(ErrorCode::usage, "--cell is for linear memory; an image has --pixel Y,X");
    if (*options.cell < 0 || *options.cell >= mapping.cells()) {
      fail(ErrorCode::usage, "there is no cell ", *options.cell, " of ", mapping.cells());
    }
    return {*options.cell, *options.cell + 1};
  }
  if (!image) fail(ErrorCode::usage, "--pixel is for images; linear memory has --cell N");
  constexpr Space kSpaces[] = {Space::y, Space::x, Space::lane};
  const auto pixel = numbers("--pixel", options.pixel, ',', "Y,X or Y,X,LANE");
  if (pixel.size() != 2 && pixel.size() != 3) {
    fail(ErrorCode::usage, "--pixel takes Y,X or Y,X,LANE, not '", options.pixel, "'");
  }
  std::int64_t at = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t extent = mapping.extent(kSpaces[i]);
    const std::int64_t value = i < pixel.size() ? pixel[i] : 0;
    if (value >= extent) {
      fail(ErrorCode::usage, "--pixel: ", space_name(kSpaces[i]), " ", value, " is not below ",
           extent);
    }
    at = at * extent + value;
  }
  const std::int64_t lanes = pixel.size() == 3 ? 1 : mapping.extent(Space::lane);
  if (lanes > kMaxMap) {
    fail(ErrorCode::limit, "a texel of ", lanes, " lanes; at most ", kMaxMap, " are listed");
  }
  return {at, at + lanes};
}

/// What a cell holds: its element, or "tail" or "gap".
std::string held(const Mapping& mapping, std::int64_t cell) {
  std::vector<std::int64_t> x(static_cast<std::size_t>(mapping.shape().rank()), 0);
  switch (mapping.inverse(cell, x)) {
    case Cell::data:
      return element_text(mapping.shape(), x);
    case Cell::tail:
      return "tail";
    case Cell::gap:
      return "gap";
  }
  return "";
}

/// Why the layout is no image of four channels within --limits; empty where it is one.
struct ImageReport {
  std::string not_rgba, too_large;
};

ImageReport image_report(const Mapping& mapping, const LayoutOptions& options) {
  ImageReport r;
  const std::int64_t lanes = mapping.extent(Space::lane);
  if (!mapping.layout().is_image()) {
    r.not_rgba = "it lies in linear memory";
  } else if (lanes != kRgba) {
    r.not_rgba = text("a texel has ", lanes, " lanes, not ", kRgba);
  } else if (mapping.element_bytes() != 1 && mapping.element_bytes() != 2 &&
             mapping.element_bytes() != 4) {
    r.not_rgba = text("no channel has ", mapping.element_bytes(), " bytes");
  }
  if (options.limits.empty()) return r;
  const auto limits = numbers("--limits", options.limits, 'x', "16384x16384");
  if (limits.size() != 2) {
    fail(ErrorCode::usage, "--limits ", options.limits, " is no width and height: 16384x16384");
  }
  const std::int64_t width = mapping.extent(Space::x), height = mapping.extent(Space::y);
  if (mapping.layout().is_image() && (width > limits[0] || height > limits[1])) {
    r.too_large = text(width, " x ", height, " texels are over ", limits[0], " x ", limits[1]);
  }
  return r;
}

/// The header of the Mat that lies so, where the catalogue has the layout as ncnn's.
std::optional<MatShape> mat_of(const Mapping& mapping) {
  const auto is_ncnn = [&](const NamedLayout& named) {
    return named.name.starts_with("ncnn") && Layout::parse(named.layout) == mapping.layout();
  };
  const auto catalog = layout_catalog();
  if (std::none_of(catalog.begin(), catalog.end(), is_ncnn)) return std::nullopt;
  std::optional<MatShape> shape = mat_shape(mapping);
  // The layout of a single plane leaves out the gap behind it, ncnn's cstep counts it.
  if (shape.has_value() && shape->dims < 3) {
    shape->cstep = 0;
    shape = shape->complete();
  }
  return shape;
}

Json layout_json(const Layout& layout, const Mapping* mapping, const LayoutOptions& options) {
  Json json;
  // An expression is printed as it was written, a word such as NCHW in the long form.
  const bool expression = options.layout.find_first_of(" /%:(~") != std::string::npos;
  json["layout"] = expression ? options.layout : layout.text();
  if (mapping == nullptr) {
    json["dims"] = dims_text(layout.axes());
    for (const char* key : {"shape", "element_bytes", "extents", "bytes", "cells", "bijective"}) {
      json[key] = nullptr;
    }
    return json;
  }
  const Mapping::CellCounts cells = mapping->count();
  json["dims"] = dims_text(mapping->shape().axes());
  json["shape"] = std::vector<std::int64_t>(mapping->shape().extents().begin(),
                                            mapping->shape().extents().end());
  json["element_bytes"] = mapping->element_bytes();
  json["extents"] = extents_json(*mapping);
  json["bytes"] = mapping->bytes();
  json["cells"]["data"] = cells.data;
  json["cells"]["tail"] = cells.tail;
  json["cells"]["gap"] = cells.gap;
  json["bijective"] = mapping->bijective();
  if (const std::optional<MatShape> mat = mat_of(*mapping)) {
    json["mat"] = {{"dims", mat->dims},
                   {"w", mat->w},
                   {"h", mat->h},
                   {"d", mat->d},
                   {"c", mat->c},
                   {"cstep", mat->cstep},
                   {"elemsize", mat->elemsize},
                   {"elempack", mat->elempack}};
    if (mat->n > 1) json["mat"].update({{"n", mat->n}, {"nstep", mat->nstep}});
  }
  if (!options.limits.empty()) {
    const ImageReport report = image_report(*mapping, options);
    json["cl_rgba"] = report.not_rgba.empty();
    json["within_limits"] = nullptr;
    if (mapping->layout().is_image()) json["within_limits"] = report.too_large.empty();
  }
  if (!options.element.empty()) {
    const std::vector<std::int64_t> x = element_of(options, mapping->shape());
    json["element"] = {{"at", x},
                       {"position", position_of(*mapping, x)},
                       {"byte", mapping->offset(x) * mapping->element_bytes()}};
  }
  if (options.cell || !options.pixel.empty()) {
    const CellRange range = cells_asked(options, *mapping);
    json["holds"] = Json::array();
    for (std::int64_t c = range.begin; c < range.end; ++c)
      json["holds"].push_back(held(*mapping, c));
  }
  if (options.map) json["positions"] = positions(*mapping);
  return json;
}

/// What --element, --pixel, --cell and --limits ask for.
void print_answers(std::ostream& out, const Mapping& mapping, const LayoutOptions& options) {
  const ImageReport report = image_report(mapping, options);
  if (mapping.layout().is_image() || !options.limits.empty()) {
    out << fmt::format("CL_RGBA   {}\n",
                       report.not_rgba.empty() ? "yes" : "no: " + report.not_rgba);
  }
  if (mapping.layout().is_image() && !options.limits.empty()) {
    out << fmt::format("limits    {}\n", report.too_large.empty() ? "kept" : report.too_large);
  }
  if (!options.element.empty()) {
    const std::vector<std::int64_t> x = element_of(options, mapping.shape());
    out << fmt::format("element   {}: {}, byte {} of {}\n", element_text(mapping.shape(), x),
                       position_text(mapping, x), mapping.offset(x) * mapping.element_bytes(),
                       mapping.bytes());
  }
  if (!options.cell && options.pixel.empty()) return;
  const CellRange range = cells_asked(options, mapping);
  for (std::int64_t c = range.begin; c < range.end; ++c) {
    const std::string where =
        options.cell ? text("cell ", c) : text("lane ", c % mapping.extent(Space::lane));
    out << fmt::format("{:<9} {}\n", where, held(mapping, c));
  }
}

/// "; did you mean NHWC?"
std::string meant_instead(std::string_view word) {
  std::vector<std::string_view> names;
  for (const NamedLayout& named : layout_catalog()) names.push_back(named.name);
  return did_you_mean(word, names);
}

/// The catalogue, a name a line.
void print_names(std::ostream& out, bool json) {
  Json all = Json::array();
  for (const NamedLayout& named : layout_catalog()) {
    all.push_back({{"name", named.name}, {"layout", named.layout}, {"note", named.note}});
    if (json) continue;
    out << fmt::format("{:<19}  {:<31}  {}\n", named.name, named.layout, named.note);
  }
  if (json) out << json_text(all) << "\n";
}

void print_text(std::ostream& out, const Layout& layout, const Mapping* mapping,
                const LayoutOptions& options) {
  const std::string spelling = layout.spelling();
  out << fmt::format("layout    {}\n", layout.text());
  const std::vector<Axis> axes = layout.axes();
  if (mapping == nullptr && axes.size() == 1 && axes[0].name().size() > 1) {
    out << "note      this is one axis" << meant_instead(axes[0].name())
        << "; 'stowage layout --list' prints the names of layouts\n";
  }
  if (spelling != layout.text()) out << fmt::format("known as  {}\n", spelling);
  for (const NamedLayout& named : layout_catalog()) {
    if (Layout::parse(named.layout) == layout && !named.note.empty()) {
      out << fmt::format("note      {}: {}\n", named.name, named.note);
    }
  }
  if (mapping == nullptr) {
    out << fmt::format("lies in   {}\n", layout.is_image() ? "an image" : "linear memory");
    out << "Give --shape n=1,c=6,h=2,w=3 to see cells, bytes and a picture.\n";
    return;
  }
  if (const std::optional<MatShape> mat = mat_of(*mapping)) {
    out << fmt::format(
        "Mat       dims {}, w {}, h {}, d {}, c {}, cstep {}, elemsize {}, elempack {}", mat->dims,
        mat->w, mat->h, mat->d, mat->c, mat->cstep, mat->elemsize, mat->elempack);
    if (mat->n > 1) out << fmt::format(", n {}, nstep {}", mat->n, mat->nstep);
    out << "\n";
  }
  print_answers(out, *mapping, options);
  if (options.element.empty() && options.pixel.empty() && !options.cell) {
    out << "\n" << draw_text(*mapping);
  }
}

/// An image as devices have it for values of fewer axes: one that the shape lacks has the extent 1,
/// and a vector is one along any axis: true where the layout has another now.
bool fit_image(Layout& layout, Shape& shape) {
  const std::vector<Axis> needed = layout.axes();
  if (needed.size() == 1 && shape.rank() == 1) {
    layout = layout.renamed(needed, shape.axes());
    return needed[0] != shape.axis(0);
  }
  std::vector<Axis> axes(shape.axes().begin(), shape.axes().end());
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  for (const Axis& axis : needed) {
    if (shape.index_of(axis) >= 0) continue;
    axes.push_back(axis);
    extents.push_back(1);
  }
  shape = Shape(axes, extents);
  return false;
}

int run(LayoutOptions options, std::ostream& out) {
  const std::pair<const char*, bool> of_elements[] = {{"--map", options.map},
                                                      {"--svg", !options.svg.empty()},
                                                      {"--limits", !options.limits.empty()},
                                                      {"--element", !options.element.empty()},
                                                      {"--pixel", !options.pixel.empty()},
                                                      {"--cell", options.cell.has_value()}};
  const auto* const said = std::ranges::find_if(of_elements, &std::pair<const char*, bool>::second);
  const char* name = said != std::end(of_elements) ? said->first
                     : !options.shape.empty()      ? "--shape"
                                                   : nullptr;
  if (options.list) {
    if (name != nullptr) fail(ErrorCode::usage, name, " is of one layout; give it without --list");
    print_names(out, options.json);
    return 0;
  }
  if (!options.given) {
    fail(ErrorCode::usage,
         "give a LAYOUT, or --list; 'stowage layout --help' tells what is understood");
  }
  if (name != nullptr && options.shape.empty())
    fail(ErrorCode::usage, name, " needs --shape n=1,c=6,h=2,w=3");
  if (options.element_bytes < 1 || options.element_bytes > 16) {
    fail(ErrorCode::usage, "--elem-bytes ", options.element_bytes,
         " is not possible; use 1, 2, 4 or 8");
  }
  if (options.map && !options.json) fail(ErrorCode::usage, "--map needs --json");
  Layout layout = Layout::parse(options.layout);
  std::unique_ptr<const Mapping> mapping;
  if (!options.shape.empty()) {
    Shape shape = Shape::parse(options.shape);
    if (layout.is_image() && fit_image(layout, shape)) options.layout = layout.text();
    mapping = std::make_unique<Mapping>(layout, shape, options.element_bytes);
  }
  if (!options.svg.empty()) {
    const std::string svg = draw_svg(*mapping);
    OutputFile file(options.svg);
    file.write(svg);
    file.commit();
  }
  if (options.json) {
    out << json_text(layout_json(layout, mapping.get(), options), options.map ? -1 : 2) << "\n";
  } else {
    print_text(out, layout, mapping.get(), options);
  }
  return 0;
}

}  // namespace

Command add_layout(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<LayoutOptions>();
  CLI::App* command = app.add_subcommand(
      "layout", "Show what a layout says: extents, bytes, padding, and where each element lies");
  CLI::Option* layout = command->add_option(
      "LAYOUT", options->layout, "Such as NCHW, nChw16c or 'y:(n h) x:(c/4 w) lane:c%4'");
  command->add_flag("--list", options->list, "Print the layouts that have a name")
      ->excludes(layout);
  command->add_option("--shape", options->shape, "Extents by axis, such as n=1,c=6,h=2,w=3")
      ->type_name("SHAPE");
  command->add_option("--elem-bytes", options->element_bytes, "Bytes of one element (default 4)")
      ->type_name("N");
  command->add_flag("--json", options->json, "Print JSON and nothing else");
  command->add_flag("--map", options->map, "With --json: the position of every element");
  command
      ->add_option("--element", options->element,
                   "Where this element lies; an axis that is left out is 0")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("c=5,h=1");
  CLI::Option* pixel = command
                           ->add_option("--pixel", options->pixel,
                                        "What a texel of an image holds, or one lane of it")
                           ->type_name("Y,X[,LANE]");
  command->add_option("--cell", options->cell, "What a cell of linear memory holds")
      ->type_name("N")
      ->excludes(pixel);
  command
      ->add_option("--limits", options->limits,
                   "Say whether an image fits into a device's largest width and height")
      ->type_name("WxH");
  command->add_option("--svg", options->svg, "Draw the cells into this file")->type_name("FILE");
  std::ostream& out = streams.out;
  return {command, [options, layout, &out] {
            options->given = layout->count() > 0;
            return run(*options, out);
          }};
}

}  // namespace stowage::cli
