// SPDX-License-Identifier: Apache-2.0
// What every kernel is compared with: the operator's reference, then the posts.
#include <algorithm>
#include <cmath>

#include "base/index.h"
#include "base/text.h"
#include "graph/op_def.h"

namespace stowage {

namespace {

/// std::min and std::max return their first operand when one is NaN.
double clip(double x, double lo, double hi) { return std::min(std::max(x, lo), hi); }

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

double activate(const Activation& act, double x, double slope) {
  const double a = static_cast<double>(act.a), b = static_cast<double>(act.b);
  switch (act.kind) {
    case Activation::Kind::none:
      break;
    case Activation::Kind::clip:
      return clip(x, a, b);
    case Activation::Kind::leaky:
      return x < 0 ? a * x : x;
    case Activation::Kind::prelu:
      return x < 0 ? slope * x : x;
    case Activation::Kind::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::Kind::tanh:
      return std::tanh(x);
    case Activation::Kind::hard_sigmoid:
      return clip(a * x + b, 0, 1);
    case Activation::Kind::hard_swish:
      return x * clip(x / 6 + 0.5, 0, 1);
    case Activation::Kind::silu:
      return x * (1 / (1 + std::exp(-x)));
    case Activation::Kind::gelu:
      return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::Kind::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::Kind::mish:
      return x * std::tanh(softplus(x));
    case Activation::Kind::elu:
      return x < 0 ? a * std::expm1(x) : x;
    case Activation::Kind::softplus:
      return softplus(x);
  }
  return x;
}

/// Which element of its operand a post reads for element i of the result.
class OperandIndex {
 public:
  OperandIndex(const Post& post, const Shape& result, int channel_axis)
      : broadcast_(post.broadcast) {
    if (broadcast_ != Post::Broadcast::channel) return;
    const int axis = channel_axis < 0 ? channel_axis + result.rank() : channel_axis;
    channels_ = result[axis];
    for (int i = axis + 1; i < result.rank(); ++i) run_ *= result[i];
  }

  std::int64_t at(std::int64_t i) const {
    if (broadcast_ == Post::Broadcast::none) return i;
    return broadcast_ == Post::Broadcast::scalar ? 0 : i / run_ % channels_;
  }

 private:
  Post::Broadcast broadcast_;
  std::int64_t channels_ = 1, run_ = 1;  ///< elements of one channel lie in runs
};

/// y is rounded to a float after every post, as it is where each is a node of its own.
float apply(const Post& post, float y, float operand) {
  switch (post.kind) {
    case Post::Kind::add:
      return y + operand;
    case Post::Kind::multiply:
      return y * operand;
    case Post::Kind::scale:
      return y * post.factor;
    case Post::Kind::divide:
      return y / post.factor;
    case Post::Kind::activation:
      return static_cast<float>(
          activate(post.activation, static_cast<double>(y), static_cast<double>(operand)));
  }
  return y;
}

}  // namespace

ReferenceViews::ReferenceViews(const NodeRef& node) {
  const auto add = [&](const std::vector<ValueId>& values, auto& list) {
    for (ValueId v : values) {
      if (v == kNoValue) {
        list.emplace_back(DType::f32, Shape(), Layout(), nullptr);
      } else {
        const Value& value = node.graph().value(v);
        list.emplace_back(value.dtype, value.shape, Layout::row_major(value.shape), nullptr);
      }
    }
  };
  add(node.node().inputs, in);
  add(node.node().outputs, out);
}

void run_reference(const NodeRef& node, std::span<const TensorView> in,
                   std::span<const MutableTensorView> out) {
  // The operator sees its own inputs: what posts read stands behind them.
  node.node().op->reference({node, in.first(idx(node.input_count())), out});
  const Posts& posts = node.node().posts;
  if (posts.empty()) return;
  const MutableTensorView& y = out[0];
  if (y.dtype != DType::f32) {
    fail(ErrorCode::internal, "posts on ", dtype_name(y.dtype), "; this is a bug in Stowage");
  }
  const Shape& shape = y.mapping.shape();
  auto* data = reinterpret_cast<float*>(y.data);
  for (const Post& post : posts) {
    const auto* operand =
        post.input < 0 ? nullptr : reinterpret_cast<const float*>(in[idx(post.input)].data);
    if (post.input >= 0 && operand == nullptr) continue;
    const OperandIndex index(post, shape, node.node().op->channel_axis);
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      data[i] = apply(post, data[i], operand == nullptr ? 0.0f : operand[index.at(i)]);
    }
  }
}

namespace {

/// A node by itself: all that its reference may ask for.
struct ReferenceParams {
  struct Operand {
    bool there = false;
    DType dtype = DType::f32;
    Shape shape;

    void fields(Archive& a) { a("there", there)("dtype", dtype)("shape", shape); }
  };

  const OpDef* op = nullptr;
  Attributes attrs, facts;
  Posts posts;
  std::vector<Operand> in, out;

  void fields(Archive& a) {
    std::string name(op == nullptr ? "" : op->name);
    a("op", name)("attrs", attrs)("facts", facts)("posts", posts)("in", in)("out", out);
    if (!a.reading()) return;
    op = find_op(name);
    if (op == nullptr) fail(ErrorCode::bad_input, "there is no operator '", name, "'");
  }
};

/// The node in a graph of its own, and views of what it is called with.
struct BoundReference {
  std::unique_ptr<Graph> graph;
  ReferenceViews views;
};

ReferenceParams reference_params(const NodeRef& node) {
  ReferenceParams p{node.node().op, node.attrs(), node.facts(), node.node().posts, {}, {}};
  const auto add = [&](const std::vector<ValueId>& values, auto& list) {
    for (const ValueId v : values) {
      auto& operand = list.emplace_back();
      if (v == kNoValue) continue;
      const Value& value = node.graph().value(v);
      operand = {true, value.dtype, value.shape};
    }
  };
  add(node.node().inputs, p.in);
  add(node.node().outputs, p.out);
  return p;
}

/// Small constants may say what to do (axes, sizes); large ones are data only.
constexpr std::size_t kKnownBytes = 4096;

BoundReference bind_reference(const ReferenceParams& p, const BindArgs& args) {
  auto graph = std::make_unique<Graph>();
  Node node;
  node.op = p.op;
  node.attrs = p.attrs;
  node.facts = p.facts;
  node.posts = p.posts;
  for (std::size_t i = 0; i < p.in.size(); ++i) {
    node.inputs.push_back(kNoValue);
    if (!p.in[i].there) continue;
    Value value;
    value.dtype = p.in[i].dtype;
    value.shape = p.in[i].shape;
    const auto* known = args.constant<std::byte>(i);
    const Mapping mapping(Layout::row_major(value.shape), value.shape, dtype_bytes(value.dtype));
    if (known != nullptr && mapping.bytes() <= kKnownBytes) {
      auto constant = std::make_shared<Tensor>(value.dtype, value.shape);
      std::copy_n(known, mapping.bytes(), constant->data());
      value.constant = std::move(constant);
    }
    node.inputs.back() = graph->add_value(std::move(value));
  }
  for (const auto& operand : p.out) {
    node.outputs.push_back(kNoValue);
    if (!operand.there) continue;
    Value value;
    value.dtype = operand.dtype;
    value.shape = operand.shape;
    node.outputs.back() = graph->add_value(std::move(value));
  }
  const NodeId id = graph->add_node(std::move(node));
  ReferenceViews views(NodeRef(*graph, id));
  return {std::move(graph), std::move(views)};
}

std::shared_ptr<void> make_bound_reference(const void* params, const BindArgs& args) {
  return std::make_shared<BoundReference>(
      bind_reference(*static_cast<const ReferenceParams*>(params), args));
}

void run_bound_reference(void* bound, const KernelArgs& args) {
  auto& b = *static_cast<BoundReference*>(bound);
  for (std::size_t k = 0; k < b.views.in.size(); ++k) b.views.in[k].data = args.in[k];
  for (std::size_t k = 0; k < b.views.out.size(); ++k) b.views.out[k].data = args.out[k];
  run_reference(NodeRef(*b.graph, NodeId(0)), b.views.in, b.views.out);
}

}  // namespace

constexpr KernelDef kReferenceKernel{.name = "reference",
                                     .fields = kernel_detail::fields<ReferenceParams>,
                                     .make = kernel_detail::make<ReferenceParams>,
                                     .bind = make_bound_reference,
                                     .run = run_bound_reference,
                                     .may_throw = true};

KernelCall reference_call(const NodeRef& node) {
  return {kReferenceKernel, reference_params(node)};
}

}  // namespace stowage
