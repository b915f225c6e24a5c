// SPDX-License-Identifier: Apache-2.0
// stowage layout: what a layout says, alone or bound to a shape.
#include "stowage/layout.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/io/file.h"
#include "layout/draw.h"

namespace stowage::cli {
namespace {

/// Elements that --map lists at most.
constexpr std::int64_t kMaxMap = 1 << 20;

struct LayoutOptions {
  std::string layout, shape, svg;
  int element_bytes = 4;
  bool json = false, map = false;
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
  if (options.map) json["positions"] = positions(*mapping);
  return json;
}

void print_text(std::ostream& out, const Layout& layout, const Mapping* mapping) {
  const std::string spelling = layout.spelling();
  out << fmt::format("layout    {}\n", layout.text());
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
  out << "\n" << draw_text(*mapping);
}

int run(const LayoutOptions& options, std::ostream& out) {
  if (options.element_bytes < 1 || options.element_bytes > 16) {
    fail(ErrorCode::usage, "--elem-bytes ", options.element_bytes,
         " is not possible; use 1, 2, 4 or 8");
  }
  if (options.shape.empty() && (options.map || !options.svg.empty())) {
    fail(ErrorCode::usage, options.map ? "--map" : "--svg", " needs --shape n=1,c=6,h=2,w=3");
  }
  if (options.map && !options.json) fail(ErrorCode::usage, "--map needs --json");
  const Layout layout = Layout::parse(options.layout);
  std::unique_ptr<const Mapping> mapping;
  if (!options.shape.empty()) {
    mapping = std::make_unique<Mapping>(layout, Shape::parse(options.shape), options.element_bytes);
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
    print_text(out, layout, mapping.get());
  }
  return 0;
}

}  // namespace

Command add_layout(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<LayoutOptions>();
  CLI::App* command = app.add_subcommand(
      "layout", "Show what a layout says: extents, bytes, padding, and where each element lies");
  command
      ->add_option("LAYOUT", options->layout,
                   "Such as NCHW, nChw16c or 'y:(n h) x:(c/4 w) lane:c%4'")
      ->required();
  command->add_option("--shape", options->shape, "Extents by axis, such as n=1,c=6,h=2,w=3")
      ->type_name("SHAPE");
  command->add_option("--elem-bytes", options->element_bytes, "Bytes of one element (default 4)")
      ->type_name("N");
  command->add_flag("--json", options->json, "Print JSON and nothing else");
  command->add_flag("--map", options->map, "With --json: the position of every element");
  command->add_option("--svg", options->svg, "Draw the cells into this file")->type_name("FILE");
  std::ostream& out = streams.out;
  return {command, [options, &out] { return run(*options, out); }};
}

}  // namespace stowage::cli
