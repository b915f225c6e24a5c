// SPDX-License-Identifier: Apache-2.0
#include "plan/details.h"

#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "base/index.h"
#include "base/text.h"

namespace stowage::plan {

namespace {

/// Elements of a list that are told.
constexpr std::size_t kMostElements = 16;
/// Letters of a string that are told.
constexpr std::size_t kMostLetters = 200;

/// The shortest text that reads back as the same number: "0.1", "6".
std::string number(float value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string words(std::int64_t value) { return std::to_string(value); }

std::string words(float value) { return number(value); }

std::string words(const std::string& value) {
  return value.size() <= kMostLetters ? value : value.substr(0, kMostLetters) + "...";
}

std::string words(const std::shared_ptr<const Tensor>& tensor) {
  if (tensor == nullptr) return "none";
  return text("tensor ", tensor->mapping().shape().extents());
}

template <class T>
std::string words(const std::vector<T>& list) {
  if (list.empty()) return "none";
  std::string out;
  for (std::size_t i = 0; i < std::min(list.size(), kMostElements); ++i) {
    if (i > 0) out += ", ";
    out += words(list[i]);
  }
  if (list.size() > kMostElements) out += text(", ... (", list.size(), ")");
  return out;
}

std::string words(const Activation& f) {
  using Kind = Activation::Kind;
  const auto with = [&](std::string_view name) {
    return text(name, "(", number(f.a), ", ", number(f.b), ")");
  };
  switch (f.kind) {
    case Kind::none:
      return "none";
    case Kind::clip:
      return f.a == 0 && std::isinf(f.b) && f.b > 0 ? "relu" : with("clip");
    case Kind::leaky:
      return text("leaky_relu(", number(f.a), ")");
    case Kind::prelu:
      return "prelu";
    case Kind::sigmoid:
      return "sigmoid";
    case Kind::tanh:
      return "tanh";
    case Kind::hard_sigmoid:
      return with("hard_sigmoid");
    case Kind::hard_swish:
      return "hard_swish";
    case Kind::silu:
      return "silu";
    case Kind::gelu:
      return "gelu";
    case Kind::gelu_tanh:
      return "gelu_tanh";
    case Kind::mish:
      return "mish";
    case Kind::elu:
      return text("elu(", number(f.a), ")");
    case Kind::softplus:
      return "softplus";
  }
  return "";
}

std::string words(const Graph& graph, const Node& node, const Post& post) {
  const std::string operand =
      post.input < 0 ? "" : text("'", words(graph.value(node.inputs[idx(post.input)]).name), "'");
  switch (post.kind) {
    case Post::Kind::add:
      return "+ " + operand;
    case Post::Kind::multiply:
      return "* " + operand;
    case Post::Kind::scale:
      return "* " + number(post.factor);
    case Post::Kind::divide:
      return "/ " + number(post.factor);
    case Post::Kind::activation:
      return text(words(post.activation), operand.empty() ? "" : " ", operand);
  }
  return "";
}

}  // namespace

std::vector<NodeReport::Detail> details_of(const Graph& graph, const Node& node) {
  std::map<std::string, std::string> values;
  for (const Attributes* attributes : {&node.attrs, &node.facts}) {
    for (const auto& [name, attribute] : attributes->map()) {
      values.insert_or_assign(
          name, std::visit([](const auto& value) { return words(value); }, attribute));
    }
  }
  std::vector<NodeReport::Detail> out;
  for (const auto& [name, value] : values) out.push_back({name, value});
  std::string posts;
  for (const Post& post : node.posts) {
    posts += text(posts.empty() ? "" : ", ", words(graph, node, post));
  }
  if (!posts.empty()) out.push_back({"posts", posts});
  return out;
}

}  // namespace stowage::plan
