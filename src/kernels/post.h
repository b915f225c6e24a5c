// SPDX-License-Identifier: Apache-2.0
// Posts: what a kernel does to its results, in f32, before it stores them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/archive.h"

namespace stowage {

struct KernelArgs;

/// A function of one element.
struct Activation {
  enum class Kind {
    none,
    clip,          ///< min(max(x, a), b): Relu is (0, inf), Relu6 (0, 6)
    leaky,         ///< x < 0 ? a * x : x
    prelu,         ///< x < 0 ? slope * x : x; the slopes are the operand of the post
    sigmoid,       ///< 1 / (1 + exp(-x))
    tanh,          ///
    hard_sigmoid,  ///< min(max(a * x + b, 0), 1)
    hard_swish,    ///< x * min(max(x / 6 + 0.5, 0), 1)
    silu,          ///< x * sigmoid(x)
    gelu,          ///< x * (1 + erf(x / sqrt(2))) / 2
    gelu_tanh,     ///< x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
    mish,          ///< x * tanh(softplus(x))
    elu,           ///< x < 0 ? a * (exp(x) - 1) : x
    softplus,      ///< log(1 + exp(x))
  } kind = Kind::none;
  float a = 0, b = 0;

  void fields(Archive& archive) { archive("kind", kind)("a", a)("b", b); }
};

/// One step: y is the result so far.
struct Post {
  enum class Kind {
    add,         ///< y + operand
    multiply,    ///< y * operand
    scale,       ///< y * factor
    divide,      ///< y / factor
    activation,  ///< activation(y)
  } kind = Kind::activation;

  /// How the operand stretches to the result.
  enum class Broadcast {
    none,     ///< it has the result's shape, and lies as the result does
    channel,  ///< one element for each index of OpDef::channel_axis
    scalar,   ///< one element
  } broadcast = Broadcast::none;

  int input = -1;  ///< the operand: an input of the node; -1 where there is none
  float factor = 1;
  Activation activation = {};

  void fields(Archive& a) {
    a("kind", kind)("broadcast", broadcast)("input", input);
    a("factor", factor)("activation", activation);
  }
};

/// In the order in which they apply.
using Posts = std::vector<Post>;

inline constexpr int kMostPosts = 6;

/// What `KernelDef::takes` of a kernel says that applies any list.
bool takes_any(std::span<const Post> posts) noexcept;

/// A list as kernels walk it. An addition of the result's shape and a clip that stand first are
/// done in registers, the others over the values of a finished tile.
struct BoundPosts {
  BoundPosts() = default;
  /// Throws Error(bad_input) when the list is longer than kMostPosts.
  explicit BoundPosts(const Posts& posts);

  /// Pointers to the operands, null where there are none: `result` elements into those that lie as
  /// the result does, `channel` into those of channels.
  void resolve(const KernelArgs& args, std::int64_t result, std::int64_t channel,
               const float** operands) const noexcept;
  /// Operands that lie further on than others by as much.
  void advance(const float* const* from, std::int64_t result, std::int64_t channel,
               const float** to) const noexcept;

  std::array<Post, kMostPosts> list;
  int count = 0;
  int in_registers = 0;  ///< so many at the front
  bool adds = false;     ///< post 0
  bool clips = false;
  float lo = 0, hi = 0;
};

/// Multiply-adds of a vector that take as long as the posts of one that are not for registers.
double posts_cost(const BoundPosts& posts) noexcept;

}  // namespace stowage
