// SPDX-License-Identifier: Apache-2.0
// Posts on the values of a tile, for the kernels that apply them. Included once a target.
#if defined(STOWAGE_KERNELS_POSTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_KERNELS_POSTS_INL_H_
#undef STOWAGE_KERNELS_POSTS_INL_H_
#else
#define STOWAGE_KERNELS_POSTS_INL_H_
#endif

#include <hwy/highway.h>

#include "base/index.h"
#include "kernels/math-inl.h"
#include "kernels/post.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {

/// Calls body(f) once, where f(x, slope) is the activation of a vector: `body` loops over the
/// values of a tile. `slope` is read for prelu only.
template <class Body>
HWY_INLINE void with_activation(const Activation& act, Body body) {
  const V a = hn::Set(kTag, act.a), b = hn::Set(kTag, act.b);
  switch (act.kind) {
    case Activation::Kind::none:
      return;
    case Activation::Kind::clip:
      return body([&](V x, V) HWY_ATTR { return clip(x, a, b); });
    case Activation::Kind::leaky:
      return body([&](V x, V) HWY_ATTR { return leak(kTag, x, a); });
    case Activation::Kind::prelu:
      return body([&](V x, V slope) HWY_ATTR { return leak(kTag, x, slope); });
    case Activation::Kind::sigmoid:
      return body([&](V x, V) HWY_ATTR { return sigmoid(kTag, x); });
    case Activation::Kind::tanh:
      return body([&](V x, V) HWY_ATTR { return tanh(kTag, x); });
    case Activation::Kind::hard_sigmoid:
      return body([&](V x, V) HWY_ATTR { return hard_sigmoid(kTag, x, a, b); });
    case Activation::Kind::hard_swish:
      return body([&](V x, V) HWY_ATTR { return hard_swish(kTag, x); });
    case Activation::Kind::silu:
      return body([&](V x, V) HWY_ATTR { return silu(kTag, x); });
    case Activation::Kind::gelu:
      return body([&](V x, V) HWY_ATTR { return gelu(kTag, x); });
    case Activation::Kind::gelu_tanh:
      return body([&](V x, V) HWY_ATTR { return gelu_tanh(kTag, x); });
    case Activation::Kind::mish:
      return body([&](V x, V) HWY_ATTR { return mish(kTag, x); });
    case Activation::Kind::elu:
      return body([&](V x, V) HWY_ATTR { return elu(kTag, x, a); });
    case Activation::Kind::softplus:
      return body([&](V x, V) HWY_ATTR { return softplus(kTag, x); });
  }
}

/// Vectors of values, in registers' order beside the result or where the result lies.
struct PostTile {
  float* values;
  const std::int64_t* pixel;  ///< of each pixel, in `values`
  std::int64_t pixel_block;   ///< between blocks of a pixel in them
  int pixels, blocks;
  const float* const* operands;  ///< of each post, for the first channel of the tile
  const std::int64_t* at;        ///< of each pixel, in operands that lie as the result does
  std::int64_t block;            ///< between blocks of a pixel in them
};

/// Where the pixels of a tile lie as [pixel][block][lane].
template <int P>
struct DensePixels {
  explicit DensePixels(int blocks) {
    for (int p = 0; p < P; ++p) at[p] = std::int64_t{p} * blocks * kLanes;
  }

  std::int64_t at[P];
};

/// One post: f(y, operand). An operand that is absent leaves the values alone.
template <class F>
HWY_INLINE void apply_post(const Post& post, const float* operand, const PostTile& t, F f) {
  if (post.input >= 0 && operand == nullptr) return;
  const bool whole = post.input >= 0 && post.broadcast == Post::Broadcast::none;
  for (int n = 0; n < t.blocks; ++n) {
    V o = hn::Zero(kTag);
    if (post.input >= 0 && post.broadcast == Post::Broadcast::scalar) o = hn::Set(kTag, *operand);
    if (post.input >= 0 && post.broadcast == Post::Broadcast::channel) {
      o = hn::LoadU(kTag, operand + n * kLanes);
    }
    for (int p = 0; p < t.pixels; ++p) {
      float* at = t.values + t.pixel[p] + n * t.pixel_block;
      if (whole) o = hn::LoadU(kTag, operand + t.at[p] + n * t.block);
      hn::StoreU(f(hn::LoadU(kTag, at), o), kTag, at);
    }
  }
}

/// All that are not done in registers.
inline HWY_ATTR void apply_posts(const BoundPosts& posts, const PostTile& tile) {
  for (int i = posts.in_registers; i < posts.count; ++i) {
    const Post& post = posts.list[idx(i)];
    const auto apply = [&](auto f) HWY_ATTR { apply_post(post, tile.operands[i], tile, f); };
    const V factor = hn::Set(kTag, post.factor);
    switch (post.kind) {
      case Post::Kind::add:
        apply([](V y, V o) HWY_ATTR { return hn::Add(y, o); });
        break;
      case Post::Kind::multiply:
        apply([](V y, V o) HWY_ATTR { return hn::Mul(y, o); });
        break;
      case Post::Kind::scale:
        apply([&](V y, V) HWY_ATTR { return hn::Mul(y, factor); });
        break;
      case Post::Kind::divide:
        apply([&](V y, V) HWY_ATTR { return hn::Div(y, factor); });
        break;
      case Post::Kind::activation:
        with_activation(post.activation, apply);
        break;
    }
  }
}

/// Results lie flat where the pixels of few channels stand one behind the other, and a vector holds
/// the channels of several. What belongs to each channel then is repeated for N of them, a pixel
/// first.
template <std::int64_t N>
HWY_INLINE void repeat_channels(const float* from, std::int64_t channels, float (&to)[N]) {
  for (std::int64_t i = 0; i < N; ++i) to[i] = from[i % channels];
}

/// Likewise the operands of posts that belong to channels; they lie in `repeated` from then on.
template <std::int64_t N>
HWY_INLINE void repeat_operands(const BoundPosts& posts, std::int64_t channels,
                                float (&repeated)[kMostPosts][N], const float** operands) {
  for (int i = 0; i < posts.count; ++i) {
    const Post& post = posts.list[idx(i)];
    if (operands[i] == nullptr || post.broadcast != Post::Broadcast::channel) continue;
    repeat_channels(operands[i], channels, repeated[i]);
    operands[i] = repeated[i];
  }
}

/// apply_posts on vectors of flat results, a pixel first, which begin at `at` in operands that lie
/// as the result does.
HWY_INLINE void apply_flat_posts(const BoundPosts& posts, float* values, int vectors,
                                 const float* const* operands, std::int64_t at) {
  const std::int64_t first = 0;
  apply_posts(posts, {values, &first, kLanes, 1, vectors, operands, &at, kLanes});
}

}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif
