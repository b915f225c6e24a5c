// SPDX-License-Identifier: Apache-2.0
#include "bench/convert/contender.h"

namespace stowage::bench {
namespace {

constexpr std::string_view kNchw = "n c h w", kNhwc = "n h w c", k4c = "n c/4 h w c%4",
                           k8c = "n c/8 h w c%8", k16c = "n c/16 h w c%16",
                           kImage = "y:(n h) x:(c/4 w) lane:c%4";

Shape image(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  return {"nchw", {n, c, h, w}};
}

std::vector<Case> goals() {
  constexpr auto f32 = DType::f32, u8 = DType::u8, f16 = DType::f16;
  return {
      {"nchw-nhwc 64x112x112", kNchw, kNhwc, image(1, 64, 112, 112), f32, f32, 0.85},
      {"nchw-nhwc 256x56x56", kNchw, kNhwc, image(1, 256, 56, 56), f32, f32, 0.85},
      {"nhwc-nchw 64x112x112", kNhwc, kNchw, image(1, 64, 112, 112), f32, f32, 0.85},
      {"nchw-4c 64x112x112", kNchw, k4c, image(1, 64, 112, 112), f32, f32, 0.95},
      {"nchw-8c 64x112x112", kNchw, k8c, image(1, 64, 112, 112), f32, f32, 0.95},
      {"nchw-16c 64x112x112", kNchw, k16c, image(1, 64, 112, 112), f32, f32, 0.95},
      {"4c-nchw 64x112x112", k4c, kNchw, image(1, 64, 112, 112), f32, f32, 0},
      {"16c-nchw 64x112x112", k16c, kNchw, image(1, 64, 112, 112), f32, f32, 0},
      {"nchw-4c 30x113x111", kNchw, k4c, image(1, 30, 113, 111), f32, f32, 0.8},
      {"nchw-16c 30x113x111", kNchw, k16c, image(1, 30, 113, 111), f32, f32, 0.8},
      {"4c-16c 64x112x112", k4c, k16c, image(1, 64, 112, 112), f32, f32, 0.9},
      {"48c-32c 96x56x56", "n c/48 h w c%48", "n c/32 h w c%32", image(1, 96, 56, 56), f32, f32, 0},
      {"nhwc-nchw u8 64x112x112", kNhwc, kNchw, image(1, 64, 112, 112), u8, u8, 0.6},
      {"nchw-nhwc u8 64x112x112", kNchw, kNhwc, image(1, 64, 112, 112), u8, u8, 0},
      {"nchw-nhwc f16 64x112x112", kNchw, kNhwc, image(1, 64, 112, 112), f16, f16, 0.75},
      {"nhwc u8 - nchw f32 3x640x640", kNhwc, kNchw, image(1, 3, 640, 640), u8, f32, 0.7},
      {"nchw-8c 3x224x224", kNchw, k8c, image(1, 3, 224, 224), f32, f32, 0.7},
      {"oihw-OIhw16i16o 512x512x3x3",
       "o i h w",
       "o/16 i/16 h w i%16 o%16",
       {"oihw", {512, 512, 3, 3}},
       f32,
       f32,
       0.7},
      {"f32-f16 nchw 64x112x112", kNchw, kNchw, image(1, 64, 112, 112), f32, f16, 0},
      {"f32-u8 nchw-nhwc 64x112x112", kNchw, kNhwc, image(1, 64, 112, 112), f32, u8, 0},
      {"nhwc u8 - 4c f32 3x640x640", kNhwc, k4c, image(1, 3, 640, 640), u8, f32, 0},
      {"f16-f32 nchw-4c 30x113x111", kNchw, k4c, image(1, 30, 113, 111), f16, f32, 0},
      {"f32-u8 4c-nhwc 3x640x640", k4c, kNhwc, image(1, 3, 640, 640), f32, u8, 0},
      {"f32-f16 nchw-nhwc 64x112x112", kNchw, kNhwc, image(1, 64, 112, 112), f32, f16, 0},
      {"f16-f32 nhwc-nchw 64x112x112", kNhwc, kNchw, image(1, 64, 112, 112), f16, f32, 0},
      {"f32-f16 nchw-image 64x112x112", kNchw, kImage, image(1, 64, 112, 112), f32, f16, 0},
      {"f16-f32 image-nchw 64x112x112", kImage, kNchw, image(1, 64, 112, 112), f16, f32, 0},
      {"nchw-image 64x112x112", kNchw, kImage, image(1, 64, 112, 112), f32, f32, 0.8},
  };
}

std::vector<Case> channels() {
  std::vector<Case> out;
  for (const std::int64_t c : {1, 3, 5, 30, 33}) {
    for (const DType t : {DType::u8, DType::f32}) {
      out.push_back({"nchw-nhwc", kNchw, kNhwc, image(1, c, 113, 111), t, t});
      out.push_back({"nhwc-nchw", kNhwc, kNchw, image(1, c, 113, 111), t, t});
      out.push_back({"nchw-4c", kNchw, k4c, image(1, c, 113, 111), t, t});
      out.push_back({"nhwc-16c", kNhwc, k16c, image(1, c, 113, 111), t, t});
    }
  }
  return out;
}

std::vector<Case> sizes() {
  std::vector<Case> out;
  for (const std::int64_t side :
       {4, 8, 16, 32, 64, 128, 256, 512}) {  // 4 KiB to 64 MiB, strides powers of two
    const Shape shape = image(1, 64, side, side);
    out.push_back({"nchw-nhwc", kNchw, kNhwc, shape});
    out.push_back({"nhwc-nchw", kNhwc, kNchw, shape});
    out.push_back({"nchw-16c", kNchw, k16c, shape});
  }
  out.push_back({"nchw-nhwc", kNchw, kNhwc, image(8, 64, 56, 56)});
  out.push_back({"nhwc-8c", kNhwc, k8c, image(8, 64, 56, 56)});
  return out;
}

std::vector<Case> ranks() {
  return {
      {"2-D transpose", "a b", "b a", {"ab", {1000, 1003}}},
      {"2-D transpose", "a b", "b a", {"ab", {1024, 1024}}},
      {"3-D cab", "a b c", "c a b", {"abc", {100, 101, 102}}},
      {"3-D bac", "a b c", "b a c", {"abc", {100, 101, 102}}},
      {"4-D dcba", "a b c d", "d c b a", {"abcd", {31, 32, 33, 34}}},
      {"5-D ncdhw-ndhwc", "n c d h w", "n d h w c", {"ncdhw", {2, 32, 8, 28, 28}}},
      {"6-D pixel shuffle", "n c p q h w", "n c h p w q", {"ncpqhw", {1, 16, 2, 2, 64, 64}}},
  };
}

/// Packings of weights, and others whose runs are short on both sides or crowd the caches.
std::vector<Case> packings() {
  constexpr std::string_view kOihw = "o i h w", kO4 = "o/4 i/4 h w i%4 o%4",
                             kI4 = "o/4 i/4 h w o%4 i%4", kO8 = "o/8 i/8 h w i%8 o%8",
                             kO16 = "o/16 i/4 h w o%16 i%4", kMihw = "h w o/4 i o%4";
  constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {kOihw, kO4}, {kO4, kOihw}, {kI4, kO4},    {kO4, kO16},
      {kO8, kO16},  {kO16, kO8},  {kMihw, kOihw}};
  const Shape weights{"oihw", {128, 96, 3, 3}};
  std::vector<Case> out;
  for (const auto& [from, to] : kPairs) {
    for (const DType t : {DType::u8, DType::f16, DType::f32})
      out.push_back({"packing", from, to, weights, t, t});
  }
  out.push_back({"o4i4-oihw", kO4, kOihw, {"oihw", {128, 512, 5, 5}}, DType::f32, DType::u8});
  out.push_back({"nhwc-16c", kNhwc, k16c, image(1, 512, 16, 16), DType::f16, DType::f16});
  out.push_back({"nhwc-8c", kNhwc, k8c, image(1, 128, 32, 32)});
  out.push_back({"nhwc-4c", kNhwc, k4c, image(1, 192, 104, 105), DType::u8, DType::f16});
  out.push_back({"3-D cba", "a b c", "c b a", {"abc", {32, 256, 33}}, DType::u8, DType::u8});
  return out;
}

/// Channels that blocks do not divide, in tensors that the L2 holds.
std::vector<Case> ends() {
  constexpr std::pair<std::string_view, std::string_view> kPairs[] = {
      {k4c, k8c},    {k4c, k16c},   {k8c, k16c},    {kImage, k8c},   {kImage, k16c}, {k4c, kNhwc},
      {k4c, kImage}, {kImage, k4c}, {k16c, kImage}, {kNhwc, kImage}, {kImage, kNhwc}};
  std::vector<Case> out;
  for (const auto& [from, to] : kPairs) {
    for (const std::int64_t c : {5, 10, 30}) {
      for (const DType t : {DType::u8, DType::f32})
        out.push_back({"end", from, to, image(1, c, 56, 56), t, t});
    }
  }
  return out;
}

}  // namespace

std::size_t Case::bytes() const {
  const auto cells = destination().count();
  return static_cast<std::size_t>(shape.elements() * dtype_bytes(src) +
                                  (cells.data + cells.tail) * dtype_bytes(dst));
}

std::vector<Case> cases(std::string_view set) {
  if (set == "channels") return channels();
  if (set == "sizes") return sizes();
  if (set == "ranks") return ranks();
  if (set == "packings") return packings();
  if (set == "ends") return ends();
  return goals();
}

}  // namespace stowage::bench
