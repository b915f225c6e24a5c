// SPDX-License-Identifier: Apache-2.0
#include "cli/targets.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "cli/data.h"
#include "stowage/convert.h"

namespace stowage::cli {
namespace {

bool is_png(const std::string& file) { return extension_of(file) == "png"; }

Form form_of(const OutputWords& words, const std::string& file) {
  if (!is_png(file)) return Form::array;
  if (words.argmax) return Form::classes;
  return words.channel.has_value() ? Form::channel : Form::picture;
}

bool fits(Form form, const Port& port, DataFormat source) {
  if (form == Form::array) return true;
  return form == Form::picture ? is_picture(port.shape) : image_axes(port, source).has_value();
}

std::string ports_text(std::span<const Port> ports) {
  std::string all;
  for (const Port& port : ports) {
    all += text(all.empty() ? "" : ", ", "'", port.name, "' ", port.shape.extents());
  }
  return all;
}

/// Why an output cannot be written so, and how it can.
[[noreturn]] void refuse(const std::string& item, const Port& port, DataFormat source) {
  const std::optional<ImageAxes> axes = image_axes(port, source);
  const bool channels = axes.has_value() && axes->channel >= 0;
  fail(ErrorCode::usage, "--output '", item, "': output '", port.name, "' of shape ",
       port.shape.extents(), " is no picture, which is like [1, 3, H, W], [1, H, W, 3] or [H, W]; ",
       channels ? "--argmax writes the best class of each pixel, --channel K one channel, and a "
                  ".npy file holds all"
                : "a .npy file holds it");
}

/// NAME of NAME=FILE as an index; nothing where there is none.
std::optional<int> named_output(std::string_view option, const std::optional<std::string>& name,
                                std::span<const std::string> names) {
  if (!name.has_value()) return std::nullopt;
  const auto at = std::find(names.begin(), names.end(), *name);
  if (at == names.end()) {
    fail(ErrorCode::usage, option, " names '", *name, "', which is no output; the outputs are ",
         listed(names));
  }
  return static_cast<int>(at - names.begin());
}

/// The only output that takes the form.
int only_output(const std::string& item, Form form, std::span<const Port> ports,
                DataFormat source) {
  std::vector<int> fitting;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (fits(form, ports[i], source)) fitting.push_back(static_cast<int>(i));
  }
  if (fitting.size() == 1) return fitting[0];
  if (ports.size() == 1) refuse(item, ports[0], source);
  fail(ErrorCode::usage, "--output '", item, "': ", fitting.empty() ? "none" : "several",
       " of the outputs fit, ", ports_text(ports), "; use --output NAME=FILE or --output-dir");
}

}  // namespace

void check_output_words(const OutputWords& words) {
  parse_output_range(words.range);
  for (const std::string& file : words.files) {
    const std::string extension = extension_of(file);
    if (extension != "png" && extension != "npy") {
      fail(ErrorCode::usage, "--output '", file, "' must end in .npy or .png");
    }
  }
  if (words.argmax && words.channel.has_value()) {
    fail(ErrorCode::usage, "--argmax and --channel exclude each other");
  }
  if (words.argmax && !words.range.empty()) {
    fail(ErrorCode::usage, "--argmax writes classes; --output-range is of pictures");
  }
  const bool picture = std::any_of(words.files.begin(), words.files.end(), is_png);
  const char* option = picture                     ? nullptr
                       : words.argmax              ? "--argmax"
                       : words.channel.has_value() ? "--channel"
                       : !words.range.empty()      ? "--output-range"
                                                   : nullptr;
  if (option != nullptr) fail(ErrorCode::usage, option, " needs --output FILE.png");
  if (words.dir.has_value() && words.dir->empty()) fail(ErrorCode::usage, "--output-dir is empty");
}

std::vector<Target> open_outputs(const OutputWords& words, std::span<const Port> ports,
                                 DataFormat source) {
  const std::vector<std::string> names = names_of(ports);
  std::vector<Target> targets;
  for (const std::string& item : words.files) {
    const auto [name, file] = split_assignment(item, names);
    const Form form = form_of(words, file);
    const std::optional<int> named = named_output("--output", name, names);
    const int output = named.has_value() ? *named : only_output(item, form, ports, source);
    const Port& port = ports[static_cast<std::size_t>(output)];
    if (!fits(form, port, source)) refuse(item, port, source);
    const ImageAxes axes = image_axes(port, source).value_or(ImageAxes{});
    targets.push_back({output, form, axes, OutputFile(file)});
  }
  if (!words.dir.has_value()) return targets;
  std::error_code problem;
  std::filesystem::create_directories(*words.dir, problem);
  if (problem) {
    fail(ErrorCode::bad_input, "cannot make the folder '", *words.dir, "': ", problem.message());
  }
  const std::vector<std::string> files = safe_file_names(names);
  for (std::size_t i = 0; i < files.size(); ++i) {
    targets.push_back(
        {static_cast<int>(i), Form::array, {}, OutputFile(*words.dir + "/" + files[i] + ".npy")});
  }
  return targets;
}

std::vector<Expected> read_expected(const OutputWords& words, std::span<const Port> ports) {
  const std::vector<std::string> names = names_of(ports);
  std::vector<Expected> out;
  for (const std::string& item : words.expected) {
    const auto [name, file] = split_assignment(item, names);
    const std::optional<int> named = named_output("--expect", name, names);
    if (!named.has_value() && ports.size() != 1) {
      fail(ErrorCode::usage, "--expect '", item, "' must be NAME=FILE; the outputs are ",
           listed(names));
    }
    const int output = named.value_or(0);
    InputData data = read_input(names[static_cast<std::size_t>(output)], file);
    if (!data.tensor.has_value()) {
      fail(ErrorCode::usage, "--expect '", file, "' is a picture; give a .npy or .pb file");
    }
    Tensor tensor = *std::move(data.tensor);
    // numpy makes f64 of what is computed from Python's numbers.
    const DType dtype = ports[static_cast<std::size_t>(output)].dtype;
    if (tensor.dtype() == DType::f64 && dtype == DType::f32) {
      tensor = convert(tensor, dtype, tensor.layout());
    }
    out.push_back({output, file, std::move(tensor)});
  }
  return out;
}

}  // namespace stowage::cli
