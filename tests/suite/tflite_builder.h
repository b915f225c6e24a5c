// SPDX-License-Identifier: Apache-2.0
// Small TFLite models, for tests.
#pragma once

#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tflite_generated.h"

namespace stowage {

class TfliteBuilder {
 public:
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<int> inputs, outputs;
  unsigned version = 3;

  TfliteBuilder() { buffers_.push_back(tfl::CreateBuffer(fbb)); }

  /// A computed tensor.
  int tensor(const std::string& name, const std::vector<int>& shape,
             tfl::TensorType type = tfl::TensorType_FLOAT32, const std::vector<int>& signature = {},
             bool variable = false) {
    return add(name, shape, type, 0, signature, variable);
  }

  int input(const std::string& name, const std::vector<int>& shape,
            tfl::TensorType type = tfl::TensorType_FLOAT32,
            const std::vector<int>& signature = {}) {
    inputs.push_back(tensor(name, shape, type, signature));
    return inputs.back();
  }

  int output(const std::string& name, const std::vector<int>& shape,
             tfl::TensorType type = tfl::TensorType_FLOAT32) {
    outputs.push_back(tensor(name, shape, type));
    return outputs.back();
  }

  /// Scales for the next tensors; none by default.
  void quantize(std::vector<float> scale, std::vector<std::int64_t> zero_point = {}, int axis = 0) {
    scale_ = std::move(scale);
    zero_point_ = std::move(zero_point);
    axis_ = axis;
  }

  template <class T>
  int constant(const std::string& name, const std::vector<int>& shape,
               const std::vector<T>& elements, tfl::TensorType type) {
    std::vector<std::uint8_t> bytes(elements.size() * sizeof(T));
    std::memcpy(bytes.data(), elements.data(), bytes.size());
    buffers_.push_back(tfl::CreateBufferDirect(fbb, &bytes));
    return add(name, shape, type, static_cast<unsigned>(buffers_.size() - 1), {}, false);
  }

  int floats(const std::string& name, const std::vector<int>& shape,
             const std::vector<float>& elements) {
    return constant(name, shape, elements, tfl::TensorType_FLOAT32);
  }

  int ints(const std::string& name, const std::vector<int>& elements) {
    return constant(name, {static_cast<int>(elements.size())}, elements, tfl::TensorType_INT32);
  }

  /// `options`: none, or tfl::CreateXOptions(b.fbb, ...).
  template <class Options = void>
  void op(int code, const std::vector<int>& in, const std::vector<int>& out,
          flatbuffers::Offset<Options> options = 0,
          tfl::BuiltinOptions type = tfl::BuiltinOptions_NONE) {
    codes_.push_back(
        tfl::CreateOperatorCode(fbb, static_cast<std::int8_t>(std::min(code, 127)), 0, 1, code));
    add_operator(static_cast<unsigned>(codes_.size() - 1), in, out, type, options.Union());
  }

  void custom(const std::string& name, const std::vector<int>& in, const std::vector<int>& out) {
    codes_.push_back(tfl::CreateOperatorCodeDirect(fbb, tfl::BuiltinOperator_CUSTOM, name.c_str(),
                                                   1, tfl::BuiltinOperator_CUSTOM));
    add_operator(static_cast<unsigned>(codes_.size() - 1), in, out, tfl::BuiltinOptions_NONE, 0);
  }

  void add_operator(unsigned code, const std::vector<int>& in, const std::vector<int>& out,
                    tfl::BuiltinOptions type, flatbuffers::Offset<void> options) {
    operators_.push_back(tfl::CreateOperatorDirect(fbb, code, &in, &out, type, options));
  }

  int add(const std::string& name, const std::vector<int>& shape, int type, unsigned buffer,
          const std::vector<int>& signature, bool variable) {
    flatbuffers::Offset<tfl::QuantizationParameters> q = 0;
    if (!scale_.empty()) {
      q = tfl::CreateQuantizationParametersDirect(fbb, &scale_, &zero_point_, 0, axis_);
    }
    tensors_.push_back(tfl::CreateTensorDirect(fbb, &shape, static_cast<std::int8_t>(type), buffer,
                                               name.c_str(), q, variable, 0,
                                               signature.empty() ? nullptr : &signature));
    return static_cast<int>(tensors_.size() - 1);
  }

  /// May be called once.
  std::string bytes() {
    const auto graph =
        tfl::CreateSubGraphDirect(fbb, &tensors_, &inputs, &outputs, &operators_, "g");
    const std::vector<flatbuffers::Offset<tfl::SubGraph>> graphs{graph};
    tfl::FinishModelBuffer(fbb,
                           tfl::CreateModelDirect(fbb, version, &codes_, &graphs, "", &buffers_));
    return {reinterpret_cast<const char*>(fbb.GetBufferPointer()), fbb.GetSize()};
  }

 private:
  std::vector<float> scale_;
  std::vector<std::int64_t> zero_point_;
  int axis_ = 0;
  std::vector<flatbuffers::Offset<tfl::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<tfl::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<tfl::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<tfl::Operator>> operators_;
};

}  // namespace stowage
