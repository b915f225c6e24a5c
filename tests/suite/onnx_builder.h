// SPDX-License-Identifier: Apache-2.0
// Small ONNX models for tests, built in memory and written to temporary files.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "import/onnx_proto.h"

namespace stowage {

/// A file that vanishes with the object.
class TempFile {
 public:
  explicit TempFile(const std::string& bytes) : path_(testing::TempDir() + "stowage_XXXXXX") {
    const int fd = mkstemp(path_.data());
    EXPECT_GE(fd, 0) << path_;
    if (fd >= 0) close(fd);
    write(bytes);
  }

  ~TempFile() { unlink(path_.c_str()); }

  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;

  const std::string& path() const { return path_; }

  void write(const std::string& bytes) const {
    unlink(path_.c_str());  // truncating makes some file systems wait for the disk
    std::ofstream out(path_, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string path_;
};

using OnnxInts = std::vector<std::int64_t>;

/// The elements as raw_data.
template <class T>
void set_raw(onnx::TensorProto& tensor, const std::vector<T>& elements) {
  tensor.set_raw_data(elements.data(), elements.size() * sizeof(T));
}

inline onnx::TensorProto onnx_tensor(std::string name, onnx::TensorProto::DataType type,
                                     const OnnxInts& dims) {
  onnx::TensorProto t;
  t.set_name(std::move(name));
  t.set_data_type(type);
  for (std::int64_t d : dims) t.add_dims(d);
  return t;
}

class OnnxBuilder {
 public:
  using Dim = std::variant<int, std::string>;  ///< "" has neither value nor name
  using Attribute = std::variant<std::int64_t, float, std::string, OnnxInts, std::vector<float>>;

  explicit OnnxBuilder(int opset = 13) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
    model.mutable_graph()->set_name("test");
  }

  onnx::GraphProto& graph() { return *model.mutable_graph(); }

  OnnxBuilder& input(const std::string& name, const std::vector<Dim>& dims,
                     onnx::TensorProto::DataType type = onnx::TensorProto::FLOAT) {
    onnx::ValueInfoProto& port = *graph().add_input();
    port.set_name(name);
    auto& tensor = *port.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const Dim& d : dims) {
      auto& dim = *tensor.mutable_shape()->add_dim();
      if (const int* value = std::get_if<int>(&d)) dim.set_dim_value(*value);
      if (const auto* param = std::get_if<std::string>(&d); param != nullptr && !param->empty()) {
        dim.set_dim_param(*param);
      }
    }
    return *this;
  }

  OnnxBuilder& output(const std::string& name) {
    onnx::ValueInfoProto& port = *graph().add_output();
    port.set_name(name);
    port.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    return *this;
  }

  OnnxBuilder& weights(const std::string& name, const OnnxInts& dims) {
    std::int64_t count = 1;
    for (std::int64_t d : dims) count *= d;
    std::vector<float> elements(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = 0.25f * static_cast<float>(i % 7);
    onnx::TensorProto& t = *graph().add_initializer();
    t = onnx_tensor(name, onnx::TensorProto::FLOAT, dims);
    set_raw(t, elements);
    return *this;
  }

  OnnxBuilder& ints(const std::string& name, const OnnxInts& elements) {
    onnx::TensorProto& t = *graph().add_initializer();
    t = onnx_tensor(name, onnx::TensorProto::INT64, {static_cast<std::int64_t>(elements.size())});
    set_raw(t, elements);
    return *this;
  }

  OnnxBuilder& node(const std::string& type, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs,
                    const std::vector<std::pair<std::string, Attribute>>& attributes = {}) {
    onnx::NodeProto& n = *graph().add_node();
    n.set_op_type(type);
    n.set_name("n_" + (outputs.empty() ? type : outputs[0]));
    for (const std::string& name : inputs) n.add_input(name);
    for (const std::string& name : outputs) n.add_output(name);
    for (const auto& [name, value] : attributes) set_attribute(*n.add_attribute(), name, value);
    return *this;
  }

  onnx::NodeProto& last_node() { return *graph().mutable_node(graph().node_size() - 1); }

  std::string bytes() const { return model.SerializeAsString(); }

  onnx::ModelProto model;

 private:
  static void set_attribute(onnx::AttributeProto& a, const std::string& name,
                            const Attribute& value) {
    a.set_name(name);
    if (const auto* i = std::get_if<std::int64_t>(&value)) {
      a.set_type(onnx::AttributeProto::INT);
      a.set_i(*i);
    } else if (const auto* f = std::get_if<float>(&value)) {
      a.set_type(onnx::AttributeProto::FLOAT);
      a.set_f(*f);
    } else if (const auto* s = std::get_if<std::string>(&value)) {
      a.set_type(onnx::AttributeProto::STRING);
      a.set_s(*s);
    } else if (const auto* ints = std::get_if<OnnxInts>(&value)) {
      a.set_type(onnx::AttributeProto::INTS);
      for (std::int64_t v : *ints) a.add_ints(v);
    } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
      a.set_type(onnx::AttributeProto::FLOATS);
      for (float v : *floats) a.add_floats(v);
    }
  }
};

}  // namespace stowage
