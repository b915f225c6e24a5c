// SPDX-License-Identifier: Apache-2.0
// ONNX files of one node, written field by field, so that the tests of the command line need no
// other file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stowage::cli::test {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}

/// A length-delimited field: a message, a text, bytes.
inline std::string field(int number, std::string_view bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) +
         std::string(bytes);
}

inline std::string number_field(int number, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(number) << 3) +
         varint(static_cast<std::uint64_t>(value));
}

struct ModelPort {
  std::string name;
  std::vector<std::int64_t> extents;  ///< negative: symbolic
  int type = 1;                       ///< f32
};

inline std::string port_field(int number, const ModelPort& port) {
  std::string shape;
  for (std::size_t i = 0; i < port.extents.size(); ++i) {
    const std::int64_t e = port.extents[i];
    shape += field(1, e < 0 ? field(2, port.name + "_" + std::to_string(i)) : number_field(1, e));
  }
  const std::string type = field(1, number_field(1, port.type) + field(2, shape));
  return field(number, field(1, port.name) + field(2, type));
}

/// A model of one node that reads all inputs.
inline std::string model(std::string_view op, const std::vector<ModelPort>& inputs,
                         const ModelPort& output) {
  std::string node, graph;
  for (const ModelPort& input : inputs) node += field(1, input.name);
  node += field(2, output.name) + field(3, "the_node") + field(4, op);
  graph += field(1, node) + field(2, "a_graph");
  for (const ModelPort& input : inputs) graph += port_field(11, input);
  graph += port_field(12, output);
  return number_field(1, 8) + field(7, graph) + field(8, number_field(2, 13));
}

/// Relu, then a pooling over single pixels: what a batch of images is, for the pooling calls its
/// axes n, c, h and w.
inline std::string image_model(const ModelPort& input, const ModelPort& output) {
  const std::string one = number_field(8, 1);
  const std::string kernel = field(1, "kernel_shape") + one + one + number_field(20, 7);
  const std::string relu =
      field(1, input.name) + field(2, "rectified") + field(3, "the_node") + field(4, "Relu");
  const std::string pool = field(1, "rectified") + field(2, output.name) + field(3, "the_pool") +
                           field(4, "MaxPool") + field(5, kernel);
  const std::string graph = field(1, relu) + field(1, pool) + field(2, "a_graph") +
                            port_field(11, input) + port_field(12, output);
  return number_field(1, 8) + field(7, graph) + field(8, number_field(2, 13));
}

/// A TensorProto; `type` is that of T: 1 for f32, 7 for i64.
template <class T = float>
std::string tensor(std::string_view name, const std::vector<std::int64_t>& extents,
                   const std::vector<T>& values, int type = 1) {
  std::string out;
  for (const std::int64_t e : extents) out += number_field(1, e);
  return out + number_field(2, type) + field(8, name) +
         field(9, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
}

}  // namespace stowage::cli::test
