// SPDX-License-Identifier: Apache-2.0
#include "kernels/post.h"

#include <algorithm>

#include "base/index.h"
#include "base/text.h"
#include "kernels/gemm/tiles.h"
#include "kernels/kernel.h"

namespace stowage {

bool takes_any(std::span<const Post>) noexcept { return true; }

BoundPosts::BoundPosts(const Posts& posts) : count(static_cast<int>(posts.size())) {
  if (count > kMostPosts) {
    fail(ErrorCode::bad_input, "a kernel with ", count, " posts; the limit is ", kMostPosts);
  }
  std::ranges::copy(posts, list.begin());
  adds = count > 0 && list[0].kind == Post::Kind::add && list[0].broadcast == Post::Broadcast::none;
  in_registers = adds ? 1 : 0;
  if (in_registers == count) return;
  const Post& next = posts[idx(in_registers)];
  if (next.kind != Post::Kind::activation || next.activation.kind != Activation::Kind::clip) return;
  clips = true;
  lo = next.activation.a;
  hi = next.activation.b;
  ++in_registers;
}

void BoundPosts::resolve(const KernelArgs& args, std::int64_t result, std::int64_t channel,
                         const float** operands) const noexcept {
  for (int i = 0; i < count; ++i) operands[i] = args.optional_input<float>(list[idx(i)].input);
  advance(operands, result, channel, operands);
}

void BoundPosts::advance(const float* const* from, std::int64_t result, std::int64_t channel,
                         const float** to) const noexcept {
  for (int i = 0; i < count; ++i) {
    to[i] = from[i];
    if (from[i] == nullptr) continue;
    const Post::Broadcast broadcast = list[idx(i)].broadcast;
    if (broadcast == Post::Broadcast::none) to[i] += result;
    if (broadcast == Post::Broadcast::channel) to[i] += channel;
  }
}

namespace {

/// Multiply-adds of 8 lanes that take as long as the activation of a vector.
double activation_cost(Activation::Kind kind) {
  switch (kind) {
    case Activation::Kind::none:
    case Activation::Kind::clip:
      return 0;
    case Activation::Kind::sigmoid:
    case Activation::Kind::tanh:
    case Activation::Kind::silu:
    case Activation::Kind::gelu:
    case Activation::Kind::gelu_tanh:
    case Activation::Kind::mish:
    case Activation::Kind::softplus:
      return 40;
    default:
      return 12;
  }
}

}  // namespace

double posts_cost(const BoundPosts& posts) noexcept {
  constexpr double kWalk = 4, kDivision = 8;
  double cost = 0;
  for (int i = posts.in_registers; i < posts.count; ++i) {
    const Post& post = posts.list[idx(i)];
    cost += kWalk;
    if (post.kind == Post::Kind::divide) cost += kDivision;
    if (post.kind == Post::Kind::activation) cost += activation_cost(post.activation.kind);
  }
  return in_multiply_adds(cost);
}

}  // namespace stowage
