// SPDX-License-Identifier: Apache-2.0
// The option tables of TFLite as attributes: under ONNX's names where it has one for the same
// thing, else under the schema's.
#include "base/text.h"
#include "import/tflite_graph.h"

namespace stowage {

namespace {

std::string auto_pad(int padding) {
  if (padding == tfl::Padding_SAME) return "SAME_UPPER";
  if (padding == tfl::Padding_VALID) return "VALID";
  fail(ErrorCode::bad_input, "the padding ", padding, " is neither SAME nor VALID");
}

std::int64_t integer(std::int64_t v) { return v; }

void set_activation(int function, TfliteOptions& into) {
  FusedActivation& a = into.activation;
  const auto clip = [&](float lo, float hi) {
    a.op = "clip";
    a.attrs.set("min", lo);
    a.attrs.set("max", hi);
  };
  switch (function) {
    case tfl::ActivationFunction_NONE:
      break;
    case tfl::ActivationFunction_RELU:
      a.op = "relu";
      break;
    case tfl::ActivationFunction_RELU_N1_TO_1:
      clip(-1.0f, 1.0f);
      break;
    case tfl::ActivationFunction_RELU6:
      clip(0.0f, 6.0f);
      break;
    case tfl::ActivationFunction_TANH:
      a.op = "tanh";
      break;
    default:
      a.unsupported = text("the fused activation ", function);
  }
}

/// Convolutions of all kinds, and pools.
template <class Options>
void read_window(const Options& o, TfliteOptions& into) {
  into.attrs.set("strides", Ints{o.stride_h(), o.stride_w()});
  into.attrs.set("auto_pad", auto_pad(o.padding()));
  set_activation(o.fused_activation_function(), into);
}

template <class Options>
void read_dilated(const Options& o, TfliteOptions& into) {
  read_window(o, into);
  into.attrs.set("dilations", Ints{o.dilation_h_factor(), o.dilation_w_factor()});
}

void read(const tfl::Conv2DOptions& o, TfliteOptions& into) { read_dilated(o, into); }

void read(const tfl::DepthwiseConv2DOptions& o, TfliteOptions& into) { read_dilated(o, into); }

void read(const tfl::TransposeConvOptions& o, TfliteOptions& into) { read_window(o, into); }

void read(const tfl::Pool2DOptions& o, TfliteOptions& into) {
  read_window(o, into);
  into.attrs.set("kernel_shape", Ints{o.filter_height(), o.filter_width()});
}

void read(const tfl::FullyConnectedOptions& o, TfliteOptions& into) {
  into.attrs.set("weights_format", integer(o.weights_format()));
  into.attrs.set("keep_num_dims", integer(o.keep_num_dims()));
  set_activation(o.fused_activation_function(), into);
}

void read(const tfl::UnidirectionalSequenceLSTMOptions& o, TfliteOptions& into) {
  into.attrs.set("cell_clip", o.cell_clip());
  into.attrs.set("time_major", integer(o.time_major()));
  into.attrs.set("diagonal_recurrent_tensors", integer(o.diagonal_recurrent_tensors()));
  set_activation(o.fused_activation_function(), into);
}

void read(const tfl::SoftmaxOptions& o, TfliteOptions& into) { into.attrs.set("beta", o.beta()); }

void read(const tfl::ConcatenationOptions& o, TfliteOptions& into) {
  into.attrs.set("axis", integer(o.axis()));
  set_activation(o.fused_activation_function(), into);
}

void read(const tfl::AddOptions& o, TfliteOptions& into) {
  set_activation(o.fused_activation_function(), into);
}

void read(const tfl::SubOptions& o, TfliteOptions& into) {
  set_activation(o.fused_activation_function(), into);
}

void read(const tfl::MulOptions& o, TfliteOptions& into) {
  set_activation(o.fused_activation_function(), into);
}

void read(const tfl::DivOptions& o, TfliteOptions& into) {
  set_activation(o.fused_activation_function(), into);
}

template <class Options>
void read_resize(const Options& o, TfliteOptions& into) {
  into.attrs.set("align_corners", integer(o.align_corners()));
  into.attrs.set("half_pixel_centers", integer(o.half_pixel_centers()));
}

void read(const tfl::ResizeBilinearOptions& o, TfliteOptions& into) { read_resize(o, into); }

void read(const tfl::ResizeNearestNeighborOptions& o, TfliteOptions& into) { read_resize(o, into); }

void read(const tfl::ReshapeOptions& o, TfliteOptions& into) {
  if (o.new_shape() == nullptr) return;
  into.attrs.set("shape", Ints(o.new_shape()->begin(), o.new_shape()->end()));
}

void read(const tfl::SqueezeOptions& o, TfliteOptions& into) {
  if (o.squeeze_dims() == nullptr || o.squeeze_dims()->size() == 0) return;
  into.attrs.set("axes", Ints(o.squeeze_dims()->begin(), o.squeeze_dims()->end()));
}

void read(const tfl::SpaceToDepthOptions& o, TfliteOptions& into) {
  into.attrs.set("blocksize", integer(o.block_size()));
}

void read(const tfl::DepthToSpaceOptions& o, TfliteOptions& into) {
  into.attrs.set("blocksize", integer(o.block_size()));
}

void read(const tfl::ReducerOptions& o, TfliteOptions& into) {
  into.attrs.set("keepdims", integer(o.keep_dims()));
}

void read(const tfl::LeakyReluOptions& o, TfliteOptions& into) {
  into.attrs.set("alpha", o.alpha());
}

void read(const tfl::MirrorPadOptions& o, TfliteOptions& into) {
  into.attrs.set("mode", std::string(o.mode() == 0 ? "reflect" : "symmetric"));
}

void read(const tfl::GeluOptions& o, TfliteOptions& into) {
  into.attrs.set("approximate", std::string(o.approximate() ? "tanh" : "none"));
}

void read(const tfl::GatherOptions& o, TfliteOptions& into) {
  into.attrs.set("axis", integer(o.axis()));
  into.attrs.set("batch_dims", integer(o.batch_dims()));
}

void read(const tfl::StridedSliceOptions& o, TfliteOptions& into) {
  into.attrs.set("begin_mask", integer(o.begin_mask()));
  into.attrs.set("end_mask", integer(o.end_mask()));
  into.attrs.set("ellipsis_mask", integer(o.ellipsis_mask()));
  into.attrs.set("new_axis_mask", integer(o.new_axis_mask()));
  into.attrs.set("shrink_axis_mask", integer(o.shrink_axis_mask()));
  into.attrs.set("offset", integer(o.offset()));
}

void read(const tfl::PackOptions& o, TfliteOptions& into) {
  into.attrs.set("axis", integer(o.axis()));
}

void read(const tfl::UnpackOptions& o, TfliteOptions& into) {
  into.attrs.set("axis", integer(o.axis()));
}

void read(const tfl::BatchMatMulOptions& o, TfliteOptions& into) {
  into.attrs.set("adj_x", integer(o.adj_x()));
  into.attrs.set("adj_y", integer(o.adj_y()));
}

/// Reads the table if it is there and says so. Throws Error(bad_input) for another table.
template <class Options>
bool read_table(const tfl::Operator& from, TfliteOptions& into) {
  const auto* o = from.builtin_options_as<Options>();
  if (o != nullptr) read(*o, into);
  return o != nullptr;
}

struct Line {
  tfl::BuiltinOperator code;
  bool (*read)(const tfl::Operator&, TfliteOptions&);
  bool needed = true;  ///< else all options have their defaults when there is no table
};

constexpr Line kLines[] = {
    {tfl::BuiltinOperator_CONV_2D, read_table<tfl::Conv2DOptions>},
    {tfl::BuiltinOperator_DEPTHWISE_CONV_2D, read_table<tfl::DepthwiseConv2DOptions>},
    {tfl::BuiltinOperator_TRANSPOSE_CONV, read_table<tfl::TransposeConvOptions>},
    {tfl::BuiltinOperator_MAX_POOL_2D, read_table<tfl::Pool2DOptions>},
    {tfl::BuiltinOperator_AVERAGE_POOL_2D, read_table<tfl::Pool2DOptions>},
    {tfl::BuiltinOperator_FULLY_CONNECTED, read_table<tfl::FullyConnectedOptions>},
    {tfl::BuiltinOperator_UNIDIRECTIONAL_SEQUENCE_LSTM,
     read_table<tfl::UnidirectionalSequenceLSTMOptions>},
    {tfl::BuiltinOperator_SOFTMAX, read_table<tfl::SoftmaxOptions>},
    {tfl::BuiltinOperator_CONCATENATION, read_table<tfl::ConcatenationOptions>},
    {tfl::BuiltinOperator_ADD, read_table<tfl::AddOptions>, false},
    {tfl::BuiltinOperator_SUB, read_table<tfl::SubOptions>, false},
    {tfl::BuiltinOperator_MUL, read_table<tfl::MulOptions>, false},
    {tfl::BuiltinOperator_DIV, read_table<tfl::DivOptions>, false},
    {tfl::BuiltinOperator_RESIZE_BILINEAR, read_table<tfl::ResizeBilinearOptions>, false},
    {tfl::BuiltinOperator_RESIZE_NEAREST_NEIGHBOR, read_table<tfl::ResizeNearestNeighborOptions>,
     false},
    {tfl::BuiltinOperator_RESHAPE, read_table<tfl::ReshapeOptions>, false},
    {tfl::BuiltinOperator_SQUEEZE, read_table<tfl::SqueezeOptions>, false},
    {tfl::BuiltinOperator_SPACE_TO_DEPTH, read_table<tfl::SpaceToDepthOptions>},
    {tfl::BuiltinOperator_DEPTH_TO_SPACE, read_table<tfl::DepthToSpaceOptions>},
    {tfl::BuiltinOperator_MEAN, read_table<tfl::ReducerOptions>, false},
    {tfl::BuiltinOperator_SUM, read_table<tfl::ReducerOptions>, false},
    {tfl::BuiltinOperator_REDUCE_PROD, read_table<tfl::ReducerOptions>, false},
    {tfl::BuiltinOperator_REDUCE_MAX, read_table<tfl::ReducerOptions>, false},
    {tfl::BuiltinOperator_REDUCE_MIN, read_table<tfl::ReducerOptions>, false},
    {tfl::BuiltinOperator_LEAKY_RELU, read_table<tfl::LeakyReluOptions>},
    {tfl::BuiltinOperator_MIRROR_PAD, read_table<tfl::MirrorPadOptions>},
    {tfl::BuiltinOperator_GELU, read_table<tfl::GeluOptions>, false},
    {tfl::BuiltinOperator_GATHER, read_table<tfl::GatherOptions>, false},
    {tfl::BuiltinOperator_STRIDED_SLICE, read_table<tfl::StridedSliceOptions>},
    {tfl::BuiltinOperator_PACK, read_table<tfl::PackOptions>},
    {tfl::BuiltinOperator_UNPACK, read_table<tfl::UnpackOptions>},
    {tfl::BuiltinOperator_BATCH_MATMUL, read_table<tfl::BatchMatMulOptions>, false},
};

}  // namespace

TfliteOptions read_tflite_options(const TfliteOperator& op) {
  TfliteOptions into;
  for (const Line& line : kLines) {
    if (line.code != op.code || line.read(*op.table, into)) continue;
    if (line.needed || op.table->builtin_options() != nullptr) {
      fail(ErrorCode::bad_input, "it does not have the options of its operator");
    }
  }
  return into;
}

}  // namespace stowage
