// SPDX-License-Identifier: Apache-2.0
// stowage convert: a physical array from one layout into another.
#include "stowage/convert.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <vector>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/io/file.h"
#include "cli/io/npy.h"
#include "cli/rates.h"

namespace stowage::cli {
namespace {

using Extents = std::vector<std::int64_t>;

struct ConvertOptions {
  std::string in, out, from, to, shape, dtype, from_dtype, rates;
  bool explain = false;
};

/// The array that holds a tensor of this mapping: flat, or [y, x, lane].
Extents physical_extents(const Mapping& mapping) {
  if (!mapping.layout().is_image()) return {mapping.cells()};
  return {mapping.extent(Space::y), mapping.extent(Space::x), mapping.extent(Space::lane)};
}

/// The extents in the order of the layout's axes, when it only puts axes in an order.
std::optional<Extents> axis_extents(const Mapping& mapping) {
  const Shape& shape = mapping.shape();
  const std::vector<Axis> axes = mapping.layout().axes();
  if (axes.size() != static_cast<std::size_t>(shape.rank()) ||
      mapping.layout() != Layout::row_major(axes)) {
    return std::nullopt;
  }
  Extents extents;
  for (const Axis& axis : axes) extents.push_back(shape[shape.index_of(axis)]);
  return extents;
}

void check_extents(const Tensor& array, const Mapping& mapping, const std::string& path) {
  const Extents physical = physical_extents(mapping);
  const std::optional<Extents> logical = axis_extents(mapping);
  const std::span<const std::int64_t> have = array.shape().extents();
  const auto same = [&](const Extents& want) {
    return std::equal(have.begin(), have.end(), want.begin(), want.end());
  };
  if (same(physical) || (logical.has_value() && same(*logical))) return;
  fail(ErrorCode::bad_input, "'", path, "' has shape ", have, " but ", mapping.shape().text(),
       " in layout ", mapping.layout().text(), " takes ", std::span<const std::int64_t>(physical),
       logical.has_value() ? text(" or ", std::span<const std::int64_t>(*logical)) : "",
       "; check --from and --shape");
}

/// What lies in a file must be what its name says.
void check_extension(std::string_view what, const std::string& path) {
  const std::string extension = extension_of(path);
  if (extension.empty() || extension == "npy") return;
  fail(ErrorCode::usage, what, " '", path, "' must be a .npy file, the only kind that convert ",
       "knows; 'stowage run' takes pictures and .pb, too");
}

/// How it is done, and how fast the planner takes it to be and it is: one thread, warm caches.
void explain(const Conversion& conversion, const Tensor& from, Tensor& to, const Rates& rates,
             std::ostream& out) {
  out << conversion.explain();
  if (conversion.is_alias() || conversion.bytes_moved() == 0) return;
  double best = std::numeric_limits<double>::infinity();
  const auto begin = std::chrono::steady_clock::now();
  for (auto now = begin; now - begin < std::chrono::milliseconds(200);) {
    conversion.run(from.data(), to.data());
    const auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double, std::nano>(end - now).count());
    now = end;
  }
  const double predicted = conversion.speed() == Conversion::Speed::copy ? rates.copy_gb_per_s
                           : conversion.speed() == Conversion::Speed::shuffle
                               ? rates.shuffle_gb_per_s
                               : rates.generic_gb_per_s;
  out << fmt::format("{} bytes read and written: {:.1f} GB/s predicted, {:.1f} GB/s measured\n",
                     conversion.bytes_moved(), predicted,
                     static_cast<double>(conversion.bytes_moved()) / best);
}

int run(const ConvertOptions& options, std::ostream& out) {
  check_extension("OUT", options.out);
  const Shape shape = Shape::parse(options.shape);
  const Layout from = Layout::parse(options.from), to = Layout::parse(options.to);
  std::optional<DType> as, wanted;
  if (!options.dtype.empty()) wanted = parse_dtype(options.dtype);
  if (!options.from_dtype.empty()) as = parse_dtype(options.from_dtype);
  Tensor array = read_npy(options.in, as);
  // '<u2' is how bf16 is written, so that is what it is when bf16 is asked for.
  if (!as.has_value() && wanted == DType::bf16 && array.dtype() == DType::u16) {
    array = read_npy(options.in, DType::bf16);
  }
  if (array.layout() != Layout::row_major(array.shape())) {
    array = convert(array, Layout::row_major(array.shape()));
  }
  const Mapping src(from, shape, dtype_bytes(array.dtype()));
  check_extents(array, src, options.in);
  Tensor result(wanted.value_or(array.dtype()), shape, to);
  const MachineRates machine = load_rates(options.rates);
  set_conversion_tuning(machine.conversions);
  const Conversion conversion(array.dtype(), src, result.dtype(), result.mapping());
  conversion.run(array.data(), result.data());
  OutputFile file(options.out);
  write_npy(file, result.dtype(), physical_extents(result.mapping()),
            {result.data(), result.bytes()});
  file.commit();
  out << fmt::format("{} {} -> {} {}, {} bytes, by {}\n", dtype_name(array.dtype()), from.text(),
                     dtype_name(result.dtype()), to.text(), result.bytes(), conversion.kernel());
  if (options.explain) explain(conversion, array, result, machine.rates, out);
  return 0;
}

}  // namespace

Command add_convert(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<ConvertOptions>();
  CLI::App* command = app.add_subcommand(
      "convert", "Move an array from one memory layout into another, byte for byte as it lies");
  command->footer(
      "Arrays are physical: flat for memory layouts, [y, x, lane] for images. Where a layout only\n"
      "puts axes in an order, an array of that order is read too. Padding is written as zero.\n"
      "bf16 has no NumPy type and is kept as '<u2'.");
  command->add_option("IN", options->in, "The array, a .npy file")->required();
  command->add_option("OUT", options->out, "The result, a .npy file")->required();
  command->add_option("--from", options->from, "Layout of the input")
      ->required()
      ->type_name("LAYOUT");
  command->add_option("--to", options->to, "Layout of the output")->required()->type_name("LAYOUT");
  command->add_option("--shape", options->shape, "Logical extents, such as n=1,c=3,h=4,w=5")
      ->required()
      ->type_name("SHAPE");
  command->add_option("--dtype", options->dtype, "Scalar type of the output (default: the input's)")
      ->type_name("TYPE");
  command
      ->add_option("--from-dtype", options->from_dtype,
                   "What the input's scalars are, when its header cannot say (bf16)")
      ->type_name("TYPE");
  command->add_flag("--explain", options->explain,
                    "Tell how it was done, and how fast it was expected to be and is");
  command
      ->add_option("--rates", options->rates,
                   "What 'stowage calibrate' measured (default: the file it writes); the built-in "
                   "choices where there is none, or with 'default'")
      ->type_name("FILE");
  std::ostream& out = streams.out;
  return {command, [options, &out] { return run(*options, out); }};
}

}  // namespace stowage::cli
