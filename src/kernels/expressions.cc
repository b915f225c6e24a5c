// SPDX-License-Identifier: Apache-2.0
#include "kernels/expressions.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "base/index.h"
#include "base/text.h"
#include "kernels/accessors.h"

namespace stowage {

namespace {

std::string literal(float value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  // Its bits: exact, and the same in every locale.
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "as_float(0x%08xu)", std::bit_cast<std::uint32_t>(value));
  return buffer;
}

/// Comparisons keep NaN, where fmin and fmax drop it.
std::string clip_text(std::string_view x, float a, float b) {
  return text("clip_(", x, ", ", constant_text(a), ", ", constant_text(b), ")");
}

std::string sigmoid_text(std::string_view x) { return text("(1.0f / (1.0f + exp(-(", x, "))))"); }

std::string softplus_text(std::string_view x) {
  return text("(fmax(", x, ", 0.0f) + log1p(exp(-fabs(", x, "))))");
}

std::string hard_sigmoid_text(std::string_view x, float a, float b) {
  return clip_text(text("((", x, ") * ", literal(a), " + ", literal(b), ")"), 0, 1);
}

std::string elu_text(std::string_view x, float a) {
  return text("choose_((", x, ") < 0.0f, ", literal(a), " * expm1(", x, "), ", x, ")");
}

std::string gelu_text(std::string_view x) {
  return text("(0.5f * (", x, ") * (1.0f + erf((", x, ") * 0.70710678118654752f)))");
}

std::string gelu_tanh_text(std::string_view x) {
  return text("(0.5f * (", x, ") * (1.0f + tanh(0.79788456080286536f * ((", x, ") + 0.044715f * (",
              x, ") * (", x, ") * (", x, ")))))");
}

std::string mish_text(std::string_view x) {
  return text("((", x, ") * tanh(", softplus_text(x), "))");
}

/// An element that is the same for all lanes.
std::string splat(const std::string& element, const ResultPlace& place) {
  return place.texel < 0 ? element : text("((float4)(", element, "))");
}

std::string call(std::string_view macro, std::string_view name,
                 const std::vector<std::string>& at) {
  std::string out = text(macro, "_", name, "(");
  for (std::size_t i = 0; i < at.size(); ++i) out += text(i == 0 ? "" : ", ", at[i]);
  return out + ")";
}

/// The operand whose axis a lies at `from[a]` of the result; -1: it is read at 0.
std::string read_text(std::string_view name, const LaunchView& operand, const ResultPlace& place,
                      const std::vector<int>& from) {
  const Shape& shape = operand.mapping.shape();
  const int own = texel_axis(operand.mapping);
  std::vector<std::string> at;
  int lanes = -1;  // the operand's axis along which the lanes of the result go
  for (int a = 0; a < shape.rank(); ++a) {
    at.push_back(from[idx(a)] < 0 ? "0" : place.at[idx(from[idx(a)])]);
    if (from[idx(a)] >= 0 && from[idx(a)] == place.texel) lanes = a;
  }
  if (lanes >= 0 && lanes == own) return call("READ", name, at);
  if (lanes < 0) return splat(call("AT", name, at), place);
  // Lanes of the result are elements that lie elsewhere; behind the last there is nothing to read.
  std::string out;
  const std::string texel = at[idx(lanes)];
  for (int k = 0; k < kTexel; ++k) {
    at[idx(lanes)] =
        text("min(", kTexel, " * (", texel, ") + ", k, ", ", name, "_e.s", lanes, " - 1)");
    out += text(k == 0 ? "((float4)(" : ", ", call("AT", name, at));
  }
  return out + "))";
}

std::string post_text(const Post& post, const std::string& operand) {
  switch (post.kind) {
    case Post::Kind::add:
      return text("v + ", operand);
    case Post::Kind::multiply:
      return text("v * ", operand);
    case Post::Kind::scale:
      return text("v * ", literal(post.factor));
    case Post::Kind::divide:
      return text("v / ", literal(post.factor));
    case Post::Kind::activation:
      if (post.activation.kind == Activation::Kind::prelu) {
        return text("choose_(v < 0.0f, v * ", operand, ", v)");
      }
      return activation_text(post.activation, "v");
  }
  return "v";
}

}  // namespace

std::string constant_text(float value) { return text("((VECTOR_y)(", literal(value), "))"); }

std::string function_text(Fn fn, float a, float b, std::string_view x, std::string_view y) {
  switch (fn) {
    case Fn::clip:
      return clip_text(x, a, b);
    case Fn::leaky_relu:
      return text("choose_((", x, ") < 0.0f, (", x, ") * ", literal(a), ", ", x, ")");
    case Fn::neg:
      return text("(-(", x, "))");
    case Fn::abs:
      return text("fabs(", x, ")");
    case Fn::sign:
      return text("choose_(isnan(", x, "), ", x, ", sign(", x, "))");
    case Fn::sigmoid:
      return sigmoid_text(x);
    case Fn::tanh:
    case Fn::exp:
    case Fn::log:
    case Fn::expm1:
    case Fn::log1p:
    case Fn::sqrt:
    case Fn::floor:
    case Fn::ceil:
    case Fn::erf: {
      const char* name = fn == Fn::tanh    ? "tanh"
                         : fn == Fn::exp   ? "exp"
                         : fn == Fn::log   ? "log"
                         : fn == Fn::expm1 ? "expm1"
                         : fn == Fn::log1p ? "log1p"
                         : fn == Fn::sqrt  ? "sqrt"
                         : fn == Fn::floor ? "floor"
                         : fn == Fn::ceil  ? "ceil"
                                           : "erf";
      return text(name, "(", x, ")");
    }
    case Fn::round:
      return text("rint(", x, ")");
    case Fn::reciprocal:
      return text("(1.0f / (", x, "))");
    case Fn::softplus:
      return softplus_text(x);
    case Fn::softsign:
      return text("((", x, ") / (1.0f + fabs(", x, ")))");
    case Fn::elu:
      return elu_text(x, a);
    case Fn::selu:
      return text("(", literal(b), " * ", elu_text(x, a), ")");
    case Fn::hard_sigmoid:
      return hard_sigmoid_text(x, a, b);
    case Fn::hard_swish:
      return text("((", x, ") * ", hard_sigmoid_text(x, 1.0f / 6, 0.5f), ")");
    case Fn::mish:
      return mish_text(x);
    case Fn::swish:
      return text("((", x, ") * ", sigmoid_text(text("((", x, ") * ", literal(a), ")")), ")");
    case Fn::gelu:
      return gelu_text(x);
    case Fn::gelu_tanh:
      return gelu_tanh_text(x);
    case Fn::thresholded_relu:
      return text("choose_((", x, ") <= ", literal(a), ", ", constant_text(0), ", ", x, ")");
    case Fn::square:
      return text("((", x, ") * (", x, "))");
    case Fn::scale:
      return text("((", x, ") * ", literal(a), ")");
    case Fn::add:
      return text("((", x, ") + (", y, "))");
    case Fn::sub:
      return text("((", x, ") - (", y, "))");
    case Fn::mul:
      return text("((", x, ") * (", y, "))");
    case Fn::div:
      return text("((", x, ") / (", y, "))");
    case Fn::min:
      return text("choose_((", x, ") < (", y, ") || isnan(", x, "), ", x, ", ", y, ")");
    case Fn::max:
      return text("choose_((", x, ") > (", y, ") || isnan(", x, "), ", x, ", ", y, ")");
    case Fn::prelu:
      return text("choose_((", x, ") < 0.0f, (", x, ") * (", y, "), ", x, ")");
    case Fn::affine:
    case Fn::affine_clip:
      break;
  }
  fail(ErrorCode::internal, "a function that devices do not know; this is a bug in Stowage");
}

std::string activation_text(const Activation& activation, std::string_view x) {
  using Kind = Activation::Kind;
  const float a = activation.a, b = activation.b;
  switch (activation.kind) {
    case Kind::clip:
      return clip_text(x, a, b);
    case Kind::leaky:
      return function_text(Fn::leaky_relu, a, b, x, "");
    case Kind::sigmoid:
      return sigmoid_text(x);
    case Kind::tanh:
      return text("tanh(", x, ")");
    case Kind::hard_sigmoid:
      return hard_sigmoid_text(x, a, b);
    case Kind::hard_swish:
      return function_text(Fn::hard_swish, 0, 0, x, "");
    case Kind::silu:
      return text("((", x, ") * ", sigmoid_text(x), ")");
    case Kind::gelu:
      return gelu_text(x);
    case Kind::gelu_tanh:
      return gelu_tanh_text(x);
    case Kind::mish:
      return mish_text(x);
    case Kind::elu:
      return elu_text(x, a);
    case Kind::softplus:
      return softplus_text(x);
    case Kind::none:
    case Kind::prelu:
      break;
  }
  return std::string(x);
}

ResultPlace decoded_place(const LaunchView& y) {
  ResultPlace place{y.mapping.shape(), texel_axis(y.mapping), {}};
  for (int i = 0; i < place.shape.rank(); ++i) place.at.push_back(text("y_", i));
  return place;
}

std::string broadcast_text(std::string_view name, const LaunchView& operand,
                           const ResultPlace& place) {
  const Shape& shape = operand.mapping.shape();
  const int shift = place.shape.rank() - shape.rank();
  std::vector<int> from;
  for (int a = 0; a < shape.rank(); ++a) {
    const int at = a + shift;
    from.push_back(at >= 0 && shape[a] == place.shape[at] && shape[a] != 1 ? at : -1);
  }
  return read_text(name, operand, place, from);
}

void add_posts(Launch& launch, const LaunchArgs& args, const Posts& posts, const ResultPlace& place,
               int channel) {
  std::string body;
  for (std::size_t i = 0; i < posts.size(); ++i) {
    const Post& post = posts[i];
    std::string operand;
    if (post.input >= 0) {
      const std::string name = text("p", i);
      launch.operands.push_back({name, post.input, false});
      const LaunchView& view = args.in[idx(post.input)];
      const Shape& shape = view.mapping.shape();
      if (post.broadcast == Post::Broadcast::none) {
        operand = broadcast_text(name, view, place);
      } else {
        std::vector<int> from(idx(shape.rank()), -1);
        for (int a = 0; a < shape.rank(); ++a) {
          if (shape[a] > 1 && post.broadcast == Post::Broadcast::channel) from[idx(a)] = channel;
        }
        operand = read_text(name, view, place, from);
      }
    }
    body += text(" v = ", post_text(post, operand), ";");
  }
  launch.defines.push_back({"POSTS(v)", body.empty() ? "" : text("do {", body, " } while (0)")});
}

}  // namespace stowage
