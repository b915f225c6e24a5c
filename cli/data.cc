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
#include "stowage/convert.h"
#include "stowage/inspect.h"

namespace stowage::cli {
namespace {

std::vector<std::byte> head_of(const std::string& path) {
  const InputFile file(path);
  std::vector<std::byte> head(
      static_cast<std::size_t>(std::min<std::int64_t>(file.size(), kPictureHead)));
  file.read(0, head);
  return head;
}

std::string numbers(const std::vector<float>& list) {
  std::string out;
  for (const float v : list) out += fmt::format("{}{:g}", out.empty() ? "" : ", ", v);
  return list.size() == 1 ? out : "[" + out + "]";
}

}  // namespace

InputData read_input(const std::string& name, const std::string& file) {
  InputData data{name, file, std::nullopt, std::nullopt};
  if (extension_of(file) == "pb") {
    InputFile exists(file);
    data.tensor = tensor_from_pb_file(file);
    return data;
  }
  const std::vector<std::byte> head = head_of(file);
  const std::string other = not_read(head);
  if (!other.empty()) fail(ErrorCode::bad_input, "'", file, "' is ", other);
  if (looks_like_picture(head)) {
    data.picture = read_picture(file);
  } else {
    data.tensor = read_npy(file);
    const Layout row_major = Layout::row_major(data.tensor->shape());
    if (data.tensor->layout() != row_major) data.tensor = convert(*data.tensor, row_major);
  }
  return data;
}

namespace {

/// The extents of an input that takes a picture.
std::vector<std::int64_t> picture_extents(const Picture& picture, const ModelInput& input,
                                          const Preprocess& how) {
  const std::optional<ImagePort> port = input.has_shape ? image_port(input.extents) : std::nullopt;
  if (!port.has_value()) {
    fail(ErrorCode::usage, "input '", input.name, "' of shape ", extents_text(input.extents),
         " takes no picture; its shape must be like [1, 3, H, W] or [1, H, W, 3]");
  }
  std::vector<std::int64_t> extents = input.extents;
  const PictureFit fit = picture_fit({picture.width, picture.height}, *port, how);
  extents[static_cast<std::size_t>(port->height_axis)] = fit.size.height;
  extents[static_cast<std::size_t>(port->width_axis)] = fit.size.width;
  if (extents[0] < 0) extents[0] = 1;
  return extents;
}

/// What to do about an array that does not fit.
std::string advice(const ModelOptions& options, const ModelInput& input, const SaidFormat& said,
                   std::span<const std::int64_t> extents) {
  const auto format =
      said.format == DataFormat::none ? fitting_format(input, extents) : std::nullopt;
  if (!format.has_value()) return "reshape the file, or give --shape";
  const std::string_view word = data_format_name(*format);
  return text("if the file is in ", word, ", ",
              options.deployed ? "write input_data_formats: " : "give --input-format ",
              options.deployed || input.name.empty() ? "" : input.name + "=", word);
}

std::vector<std::int64_t> array_extents(const ModelOptions& options, InputData& data,
                                        ModelInput& input, const SaidFormat& said) {
  const auto bound = [&]() {
    const std::span<const std::int64_t> extents = data.tensor->shape().extents();
    return in_model_order(input, said, extents);
  };
  auto extents = bound();
  const Shape shape = data.tensor->shape();
  if (!extents.has_value() && input.extents.size() == shape.extents().size() + 1) {
    std::vector<std::int64_t> with_batch = {1};
    with_batch.insert(with_batch.end(), shape.extents().begin(), shape.extents().end());
    data.tensor->reshape(Shape::unnamed(with_batch));
    extents = bound();
  }
  if (extents.has_value()) return *std::move(extents);
  if (input.hint) return {shape.extents().begin(), shape.extents().end()};
  fail(ErrorCode::bad_input, "'", data.file, "' has shape ", shape.extents(), " but input '",
       input.name, "' wants ", extents_text(input.extents), "; ",
       advice(options, input, said, shape.extents()));
}

}  // namespace

void bind_data(const ModelOptions& options, const Preprocess& how, ModelPorts& model,
               std::vector<InputData>& data, Shapes& shapes) {
  const Formats formats = input_formats(options, names_of(model.inputs));
  for (InputData& item : data) {
    ModelInput& own = *std::find_if(model.inputs.begin(), model.inputs.end(),
                                    [&](const ModelInput& i) { return i.name == item.name; });
    ModelInput input = own;
    const auto given = shapes.find(input.name);
    if (given != shapes.end()) {
      input.extents = given->second;
      input.has_shape = true;
      input.hint = false;
    }
    const auto said = formats.find(input.name);
    shapes[input.name] = item.picture.has_value()
                             ? picture_extents(*item.picture, input, how)
                             : array_extents(options, item, input,
                                             said == formats.end() ? SaidFormat{} : said->second);
    own.format = input.format;
  }
}

std::string picture_input(std::span<const ModelInput> inputs) {
  if (inputs.size() == 1 && !inputs[0].has_shape) return inputs[0].name;
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

std::string scale_words(const std::vector<float>& mean, const std::vector<float>& norm) {
  return text(", (x - ", numbers(mean), ") * ", numbers(norm));
}

/// Gives (x - mean) * norm; where they hold several numbers, one for each index of `channels`.
void give_scaled(Session& session, int index, const TensorView& view,
                 const std::vector<float>& mean, const std::vector<float>& norm, Axis channels) {
  const Port& port = session.inputs()[static_cast<std::size_t>(index)];
  if (std::max(mean.size(), norm.size()) <= 1 || channels == Axis("c")) {
    session.set_input(index, view, mean, norm);
    return;
  }
  // The session counts channels along the axis c: this input has none of that name.
  Tensor ready(port.dtype, port.shape);
  Conversion(view.dtype, view.mapping, ready.dtype(), ready.mapping(), {mean, norm, channels})
      .run(view.data, ready.data());
  session.set_input(index, ready.view());
}

std::string give_picture(Session& session, int index, const Picture& picture,
                         const Preprocess& how) {
  const Port& port = session.inputs()[static_cast<std::size_t>(index)];
  const std::optional<ImagePort> image = image_port(port.shape.extents());
  if (!image.has_value()) {
    fail(ErrorCode::usage, "input '", port.name, "' of shape ", port.shape.extents(),
         " takes no picture");
  }
  Preprocess scale = how;
  const bool scaled = port.dtype == DType::f32 || !how.mean.empty() || !how.norm.empty();
  if (scaled && how.mean.empty()) scale.mean = {0};
  if (scaled && how.norm.empty()) scale.norm = {1.0f / 255};
  const Mat fitted = fit_picture(picture, *image, scale, port.dtype);
  session.set_input(index, planes_view(fitted, port.dtype, port.shape, *image));
  const char* order = fitted.c == 1 ? "gray" : how.pixel == PixelOrder::bgr ? "bgr" : "rgb";
  const PictureSize size{picture.width, picture.height};
  return text(fit_words(size, picture_fit(size, *image, how), how), ", ", order,
              scaled ? scale_words(scale.mean, scale.norm) : ", as it is");
}

}  // namespace

namespace {

/// The axis of an array's channels, to which `mean` and `norm` must fit.
Axis channels_of(const Port& port, const std::vector<float>& mean, const std::vector<float>& norm) {
  int axis = -1;
  if (port.data_format != DataFormat::none) {
    axis = port.shape.index_of(Axis("c"));
  } else if (const auto image = image_port(port.shape.extents())) {
    axis = image->channel_axis;
  }
  for (const auto& [option, list] : {std::pair{"--mean", &mean}, std::pair{"--norm", &norm}}) {
    if (list->size() <= 1) continue;
    if (axis >= 0 && static_cast<std::int64_t>(list->size()) == port.shape[axis]) continue;
    fail(ErrorCode::usage, option, " has ", list->size(), " numbers, but input '", port.name,
         "' of shape ", port.shape.extents(), " has ",
         axis < 0 ? "no channels" : text(port.shape[axis], " channels"), "; give one number",
         axis < 0 ? "" : ", or one a channel");
  }
  return axis < 0 ? Axis() : port.shape.axis(axis);
}

}  // namespace

std::optional<std::string> scaled_array(const std::vector<InputData>& data, const Preprocess& how,
                                        std::span<const Port> ports) {
  const bool pictures = std::any_of(data.begin(), data.end(),
                                    [](const InputData& d) { return d.picture.has_value(); });
  if (pictures || (how.mean.empty() && how.norm.empty())) return std::nullopt;
  if (data.size() == 1) return data[0].name;
  std::vector<std::string> images;
  for (const Port& port : ports) {
    const bool image = port.data_format != DataFormat::none || image_port(port.shape.extents());
    if (image) images.push_back(port.name);
  }
  if (images.size() == 1) return images[0];
  fail(ErrorCode::usage, "--mean and --norm: ", images.empty() ? "none" : "several",
       " of the inputs could be an image; give arrays that are scaled already");
}

std::string give_input(Session& session, const InputData& data, const Preprocess& how,
                       DataFormat given, bool scaled) {
  const int index = session.input_index(data.name);
  const Port& port = session.inputs()[static_cast<std::size_t>(index)];
  if (data.picture.has_value()) return give_picture(session, index, *data.picture, how);
  const Tensor& tensor = *data.tensor;
  const std::vector<int> order = format_order(given, port.data_format, tensor.shape().rank());
  const TensorView view = view_as(tensor, port, order);
  const std::string what = text(dtype_name(tensor.dtype()), " ", tensor.shape().extents());
  if (!scaled) {
    session.set_input(index, view);
    return what;
  }
  const std::vector<float> mean = how.mean.empty() ? std::vector<float>{0} : how.mean;
  const std::vector<float> norm = how.norm.empty() ? std::vector<float>{1} : how.norm;
  give_scaled(session, index, view, mean, norm, channels_of(port, mean, norm));
  return what + scale_words(mean, norm);
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
