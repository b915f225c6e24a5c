// SPDX-License-Identifier: Apache-2.0
#include "cli/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "base/trail.h"
#include "cli/io/file.h"
#include "cli/io/npy.h"
#include "import/onnx_tensor.h"
#include "stowage/convert.h"

namespace stowage::cli {
namespace {

constexpr std::int64_t kMaxLabelFile = 16 << 20;

std::vector<std::byte> head_of(const std::string& path) {
  const InputFile file(path);
  std::vector<std::byte> head(static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 8)));
  file.read(0, head);
  return head;
}

bool fits(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& wanted) {
  return std::equal(extents.begin(), extents.end(), wanted.begin(), wanted.end(),
                    [](std::int64_t have, std::int64_t want) { return want < 0 || want == have; });
}

/// `shape` with its axes in another order.
Shape permuted(const Shape& shape, const std::vector<int>& order) {
  std::vector<Axis> axes;
  std::vector<std::int64_t> extents;
  for (const int i : order) {
    axes.push_back(shape.axis(i));
    extents.push_back(shape[i]);
  }
  return Shape(axes, extents);
}

std::string numbers(const std::vector<float>& list) {
  std::string out;
  for (const float v : list) out += fmt::format("{}{:g}", out.empty() ? "" : ", ", v);
  return list.size() == 1 ? out : "[" + out + "]";
}

/// The indices of the largest `count` scores, the best first; what is no number comes last.
std::vector<std::size_t> best(const std::vector<double>& values, int count) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto better = [&](std::size_t a, std::size_t b) {
    const double x = values[a], y = values[b];
    if (std::isnan(x) != std::isnan(y)) return std::isnan(y);
    if (x != y && !std::isnan(x)) return x > y;
    return a < b;
  };
  const auto kept = std::min<std::size_t>(order.size(), static_cast<std::size_t>(count));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    better);
  order.resize(kept);
  return order;
}

}  // namespace

InputData read_input(const std::string& name, const std::string& file) {
  InputData data{name, file, std::nullopt, std::nullopt};
  if (extension_of(file) == "pb") {
    InputFile exists(file);
    data.tensor = tensor_from_pb_file(file);
  } else if (looks_like_picture(head_of(file))) {
    data.picture = read_picture(file);
  } else {
    data.tensor = read_npy(file);
    const Layout row_major = Layout::row_major(data.tensor->shape());
    if (data.tensor->layout() != row_major) data.tensor = convert(*data.tensor, row_major);
  }
  return data;
}

std::vector<std::int64_t> bind_extents(InputData& data, const ModelInput& input,
                                       const std::vector<int>& order) {
  if (data.picture.has_value()) {
    const std::optional<ImagePort> port =
        input.has_shape ? image_port(input.extents) : std::nullopt;
    if (!port.has_value()) {
      fail(ErrorCode::usage, "input '", input.name, "' of shape ", extents_text(input.extents),
           " takes no picture; its shape must be like [1, 3, H, W] or [1, H, W, 3]");
    }
    std::vector<std::int64_t> extents = input.extents;
    if (port->height == 0)
      extents[static_cast<std::size_t>(port->height_axis)] = data.picture->height;
    if (port->width == 0) extents[static_cast<std::size_t>(port->width_axis)] = data.picture->width;
    if (extents[0] < 0) extents[0] = 1;
    return extents;
  }
  const Shape& shape = data.tensor->shape();
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  if (!input.has_shape) return extents;
  if (extents.size() == order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      extents[static_cast<std::size_t>(order[i])] = shape[static_cast<int>(i)];
    }
  }
  if (fits(extents, input.extents)) return extents;
  std::vector<std::int64_t> with_batch = extents;
  with_batch.insert(with_batch.begin(), 1);
  if (order.size() == shape.extents().size() && fits(with_batch, input.extents)) {
    data.tensor->reshape(unnamed_shape(with_batch));
    return with_batch;
  }
  fail(ErrorCode::bad_input, "'", data.file, "' has shape ", shape.extents(), " but input '",
       input.name, "' wants ", extents_text(input.extents), "; reshape the file, or give --shape");
}

Shapes bind_shapes(const ModelOptions& options, const ModelDoors& model, const Formats& formats,
                   std::vector<InputData>& data) {
  const std::vector<ModelInput>& inputs = model.inputs;
  Shapes shapes = parse_shapes(options.shapes, inputs);
  for (InputData& item : data) {
    ModelInput input = *std::find_if(inputs.begin(), inputs.end(),
                                     [&](const ModelInput& i) { return i.name == item.name; });
    const auto given = shapes.find(input.name);
    if (given != shapes.end()) {
      input.extents = given->second;
      input.has_shape = true;
    }
    const auto format = formats.find(input.name);
    const bool as_is = format == formats.end() || !item.tensor.has_value();
    const std::vector<int> order =
        format_order(as_is ? DataFormat::none : format->second, model.source,
                     item.tensor.has_value() ? item.tensor->shape().rank() : 0, input.name);
    shapes[input.name] = bind_extents(item, input, order);
  }
  return shapes;
}

std::string picture_input(std::span<const ModelInput> inputs) {
  for (const std::size_t rank : {4, 3}) {
    for (const ModelInput& input : inputs) {
      if (input.extents.size() == rank && image_port(input.extents).has_value()) return input.name;
    }
  }
  std::string shapes;
  for (const ModelInput& input : inputs) {
    shapes += text(shapes.empty() ? "" : ", ", "'", input.name, "' ", extents_text(input.extents));
  }
  fail(ErrorCode::usage, "no input takes a picture; the model wants ", shapes,
       "; use --input NAME=FILE");
}

namespace {

std::string give_picture(Session& session, int index, const Picture& picture,
                         const Preprocess& how) {
  const Port& port = session.inputs()[static_cast<std::size_t>(index)];
  const std::optional<ImagePort> image = image_port(port.shape.extents());
  if (!image.has_value()) {
    fail(ErrorCode::usage, "input '", port.name, "' of shape ", port.shape.extents(),
         " takes no picture");
  }
  const Picture fitted = fit_picture(picture, *image, how);
  const TensorView view = picture_view(fitted, port.shape, *image);
  std::vector<float> mean = how.mean, norm = how.norm;
  const bool scaled = port.dtype == DType::f32 || !mean.empty() || !norm.empty();
  if (scaled && mean.empty()) mean = {0};
  if (scaled && norm.empty()) norm = {1.0f / 255};
  const Axis channels = port.shape.axis(image->channel_axis);
  if (std::max(mean.size(), norm.size()) > 1 && channels != Axis("c")) {
    // The session counts channels along the axis c: this input has none of that name.
    Tensor ready(port.dtype, port.shape);
    Conversion(view.dtype, view.mapping, ready.dtype(), ready.mapping(), {mean, norm, channels})
        .run(view.data, ready.data());
    session.set_input(index, ready.view());
  } else {
    session.set_input(index, view, mean, norm);
  }
  const bool fits_already = picture.width == fitted.width && picture.height == fitted.height;
  const char* order = fitted.channels == 1 ? "gray" : how.pixel == PixelOrder::bgr ? "bgr" : "rgb";
  return text(picture.width, " x ", picture.height,
              fits_already ? ""
                           : text(how.fit == ResizeFit::letterbox ? " letterboxed" : " stretched",
                                  " to ", fitted.width, " x ", fitted.height),
              ", ", order,
              scaled ? text(", (x - ", numbers(mean), ") * ", numbers(norm)) : ", as it is");
}

}  // namespace

std::string give_input(Session& session, const InputData& data, const Preprocess& how,
                       DataFormat given, DataFormat model) {
  const int index = session.input_index(data.name);
  const Port& port = session.inputs()[static_cast<std::size_t>(index)];
  if (data.tensor.has_value()) {
    const Tensor& tensor = *data.tensor;
    const std::vector<int> order = format_order(given, model, tensor.shape().rank(), data.name);
    session.set_input(index, view_as(tensor, port, order));
    return text(dtype_name(tensor.dtype()), " ", tensor.shape().extents());
  }
  return give_picture(session, index, *data.picture, how);
}

Tensor take_output(const Session& session, int output, DataFormat wanted, DataFormat model) {
  Tensor tensor = session.output(output);
  const Port& port = session.outputs()[static_cast<std::size_t>(output)];
  const std::vector<int> order = format_order(wanted, model, port.shape.rank(), port.name);
  if (std::is_sorted(order.begin(), order.end())) return tensor;
  const Shape shape = permuted(tensor.shape(), order);
  Tensor out(tensor.dtype(), shape);
  Conversion(tensor.dtype(), tensor.mapping(), out.dtype(), out.mapping())
      .run(tensor.data(), out.data());
  return out;
}

OutputRange parse_output_range(std::string_view word) {
  if (word.empty() || word == "auto") return OutputRange::automatic;
  if (word == "0..1") return OutputRange::unit;
  if (word == "0..255") return OutputRange::byte;
  fail(ErrorCode::usage, "--output-range '", word, "' is unknown; choose 0..1, 0..255 or auto");
}

Picture output_picture(const Tensor& output, OutputRange range, bool bgr, const std::string& name) {
  std::vector<std::int64_t> extents(output.shape().extents().begin(),
                                    output.shape().extents().end());
  Tensor tensor = output;
  if (extents.size() == 2) extents.insert(extents.begin(), 1);
  const std::optional<ImagePort> port = image_port(extents);
  if (!port.has_value()) {
    fail(ErrorCode::usage, "output '", name, "' of shape ", output.shape().extents(),
         " is no picture; it must be like [1, 3, H, W], [1, H, W, 3] or [H, W]; use a .npy file");
  }
  tensor.reshape(unnamed_shape(extents));
  if (range == OutputRange::automatic) {
    const std::vector<double> values = values_of(tensor);
    const bool large = std::any_of(values.begin(), values.end(), [](double v) { return v > 1.5; });
    range = large ? OutputRange::byte : OutputRange::unit;
  }
  Picture picture = new_picture(port->width, port->height);
  picture.channels = port->channels;
  picture.pixels.resize(static_cast<std::size_t>(tensor.shape().elements()));
  const TensorView view = picture_view(picture, tensor.shape(), *port);
  const float norm[] = {range == OutputRange::unit ? 255.0f : 1.0f};
  ScalarMap map;
  map.norm = norm;
  Conversion(tensor.dtype(), tensor.mapping(), view.dtype, view.mapping, map)
      .run(tensor.data(), picture.pixels.data());
  if (bgr) swap_red_blue(picture);
  return picture;
}

bool is_classification(const Port& port) {
  int long_axes = 0;
  for (int i = 0; i < port.shape.rank(); ++i) long_axes += port.shape[i] > 1;
  return long_axes == 1;
}

std::vector<std::string> top_lines(const Tensor& scores, int count,
                                   const std::vector<std::string>& labels) {
  const std::vector<double> values = values_of(scores);
  std::vector<std::string> lines;
  for (const std::size_t i : best(values, count)) {
    const std::string label = i < labels.size() ? "  " + labels[i] : "";
    lines.push_back(fmt::format("{} = {:.6f}{}", i, values[i], label));
  }
  return lines;
}

std::vector<std::string> read_labels(const std::string& file) {
  const Trail trail("reading", file);
  const std::vector<std::byte> bytes = read_file(file, kMaxLabelFile);
  std::vector<std::string> labels(1);
  for (const std::byte b : bytes) {
    const char c = static_cast<char>(b);
    if (c == '\n') {
      labels.emplace_back();
    } else if (static_cast<unsigned char>(c) >= 32 || c == '\t') {
      labels.back() += c == '\t' ? ' ' : c;
    }
  }
  if (labels.back().empty()) labels.pop_back();
  if (labels.empty()) fail(ErrorCode::bad_input, "the file of labels is empty; write one a line");
  return labels;
}

std::string summary(const Tensor& tensor) {
  double least = INFINITY, most = -INFINITY, sum = 0;
  std::int64_t numbers = 0, others = 0;
  for (const double v : values_of(tensor)) {
    if (!std::isfinite(v)) {
      ++others;
      continue;
    }
    ++numbers;
    least = std::min(least, v);
    most = std::max(most, v);
    sum += v;
  }
  std::string out = numbers == 0 ? "no numbers"
                                 : fmt::format("min {:g}  max {:g}  mean {:g}", least, most,
                                               sum / static_cast<double>(numbers));
  if (others > 0) out += fmt::format("  ({} are infinite or no number)", others);
  return out;
}

namespace {

template <class T>
std::vector<double> widened(const Tensor& tensor) {
  const std::span<const T> cells = tensor.as<T>();
  return {cells.begin(), cells.end()};
}

}  // namespace

std::vector<double> values_of(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::f16:
    case DType::bf16:
      return widened<float>(convert(tensor, DType::f32, tensor.layout()));
    case DType::f32:
      return widened<float>(tensor);
    case DType::f64:
      return widened<double>(tensor);
    case DType::u8:
    case DType::boolean:
      return widened<std::uint8_t>(tensor);
    case DType::i8:
      return widened<std::int8_t>(tensor);
    case DType::u16:
      return widened<std::uint16_t>(tensor);
    case DType::i16:
      return widened<std::int16_t>(tensor);
    case DType::u32:
      return widened<std::uint32_t>(tensor);
    case DType::i32:
      return widened<std::int32_t>(tensor);
    case DType::u64:
      return widened<std::uint64_t>(tensor);
    case DType::i64:
      return widened<std::int64_t>(tensor);
  }
  return {};
}

}  // namespace stowage::cli
