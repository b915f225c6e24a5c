// SPDX-License-Identifier: Apache-2.0
// The named layouts, one line each. Layout::parse accepts every name; words such as nChw16c are
// read by their form, whether they are listed here or not.
#include <array>

#include "stowage/layout.h"

namespace stowage {

namespace {

// clang-format off
constexpr std::array<NamedLayout, 79> kCatalog = {{
    {"W", "w", "argument buffer: biases, scales, one value a channel"},
    {"NC", "n c", "output of a fully connected layer"},
    {"NCHW", "n c h w", "activations of ONNX, ncnn and MACE's CPU"},
    {"NHWC", "n h w c", "activations of TFLite and MACE's GPU"},
    {"CHWN", "c h w n", "activations, batch innermost"},
    {"NCW", "n c w", "one spatial axis"},
    {"NWC", "n w c", "one spatial axis, channels last"},
    {"NCDHW", "n c d h w", "volumes"},
    {"NDHWC", "n d h w c", "volumes, channels last"},
    {"OIHW", "o i h w", "filter of a convolution in ONNX and on MACE's CPU"},
    {"HWIO", "h w i o", "filter of a convolution in TensorFlow"},
    {"OHWI", "o h w i", "filter of a convolution in TFLite"},
    {"HWOI", "h w o i", "filter of a convolution on MACE's GPU, older"},
    {"MIHW", "m i h w", "filter of a depthwise convolution on MACE's CPU"},
    {"HWIM", "h w i m", "filter of a depthwise convolution on MACE's GPU, older"},
    {"IHWM", "i h w m", "filter of a depthwise convolution, multiplier innermost"},
    {"OIDHW", "o i d h w", "filter of a 3-D convolution"},
    {"nChw4c", "n c/4 h w c%4", "blocks of 4; also NCHW4c, NC4HW4"},
    {"nChw8c", "n c/8 h w c%8", "blocks of 8, AVX2"},
    {"nChw16c", "n c/16 h w c%16", "blocks of 16, AVX-512"},
    {"nChw32c", "n c/32 h w c%32", "blocks of 32, int8"},
    {"nChw48c", "n c/48 h w c%48", "blocks of 48"},
    {"nChw6c", "n c/6 h w c%6", "blocks of 6: not a power of two"},
    {"PHWC4", "n c/4 h w c%4", "nChw4c as the GPU delegate of TFLite calls it"},
    {"b_fs_yx_fsv4", "n c/4 h w c%4", "nChw4c as OpenVINO calls it"},
    {"b_fs_yx_fsv16", "n c/16 h w c%16", "nChw16c as OpenVINO calls it"},
    {"b_fs_yx_fsv32", "n c/32 h w c%32", "nChw32c as OpenVINO calls it"},
    {"nCw16c", "n c/16 w c%16", "one spatial axis in blocks of 16"},
    {"nCdhw16c", "n c/16 d h w c%16", "volumes in blocks of 16"},
    {"Chwn4c", "c/4 h w n c%4", "blocks outermost, batch inside"},
    {"Cnhw4c", "c/4 n h w c%4", "MNN's C4NHW4: blocks outside the batch"},
    {"NHWC4", "n h w c~4", "channels last, rounded up to 4 with zeros"},
    {"Oihw4o", "o/4 i h w o%4", "filter, four outputs a vector"},
    {"Ohwi4o", "o/4 h w i o%4", "filter, four outputs a vector, inputs inside"},
    {"OIhw4i4o", "o/4 i/4 h w i%4 o%4", "filter in 4x4 tiles"},
    {"OIhw8i8o", "o/8 i/8 h w i%8 o%8", "filter in 8x8 tiles, AVX2"},
    {"OIhw16i16o", "o/16 i/16 h w i%16 o%16", "filter in 16x16 tiles, AVX-512"},
    {"OIhw4i16o4i", "o/16 i/16 h w i/4%4 o%16 i%4", "filter for int8 dot products (VNNI)"},
    {"OIhw8i16o2i", "o/16 i/16 h w i/2%8 o%16 i%2", "filter for bf16 dot products"},
    {"hwOi4o", "h w o/4 i o%4", "MACE's GPU buffer of a convolution filter"},
    {"mIhw4i", "m i/4 h w i%4", "MACE's GPU buffer of a depthwise filter"},
    {"image-channel", "y:(n h) x:(c/4 w) lane:c%4", "MACE channel-major: activations"},
    {"image-height", "y:(n h/4) x:(c w) lane:h%4", "MACE height-major: Winograd and MatMul results"},
    {"image-width", "y:(n h) x:(c w/4) lane:w%4", "MACE width-major"},
    {"image-filter", "y:(o/4 h w) x:i lane:o%4", "MACE convolution filter, newer: I texels wide"},
    {"image-filter-wide", "y:(o/4 h w) x:i~4 lane:o%4", "MACE convolution filter, older: RoundUp4(I) texels wide"},
    {"image-filter-height", "y:o/4 x:(h w i) lane:o%4", "MACE WEIGHT_HEIGHT: [H*W*I, (O+3)/4]"},
    {"image-filter-width", "y:o x:(h w i/4) lane:i%4", "MACE WEIGHT_WIDTH: lanes along the inputs"},
    {"image-depthwise", "y:i/4 x:(h w m) lane:i%4", "MACE depthwise filter; in MACE the multiplier M is 1"},
    {"image-argument", "y:() x:w/4 lane:w%4", "MACE argument: one row"},
    {"image-channel-pitch", "y:(n h) x:((c/4 w))~64 lane:c%4", "channel-major, rows of a multiple of 64 texels"},
    {"texture-nchw", "y:(n c/4 h) x:w lane:c%4", "TVM texture"},
    {"texture-nhwc", "y:(n h) x:(w c/4) lane:c%4", "TVM texture-nhwc: blocks beside each other"},
    {"texture-weight", "y:o/4 x:(i h w) lane:o%4", "TVM texture-weight"},
    {"ncnn-1d-pack1", "w w%1", "ncnn Mat, dims 1, elempack 1: row"},
    {"ncnn-1d-pack2", "w/2 w%2", "ncnn Mat, dims 1, elempack 2: row"},
    {"ncnn-1d-pack3", "w/3 w%3", "ncnn Mat, dims 1, elempack 3: row"},
    {"ncnn-1d-pack4", "w/4 w%4", "ncnn Mat, dims 1, elempack 4: row"},
    {"ncnn-1d-pack8", "w/8 w%8", "ncnn Mat, dims 1, elempack 8: row"},
    {"ncnn-1d-pack16", "w/16 w%16", "ncnn Mat, dims 1, elempack 16: row"},
    {"ncnn-2d-pack1", "h w h%1", "ncnn Mat, dims 2, elempack 1: matrix"},
    {"ncnn-2d-pack2", "h/2 w h%2", "ncnn Mat, dims 2, elempack 2: matrix"},
    {"ncnn-2d-pack3", "h/3 w h%3", "ncnn Mat, dims 2, elempack 3: matrix"},
    {"ncnn-2d-pack4", "h/4 w h%4", "ncnn Mat, dims 2, elempack 4: matrix"},
    {"ncnn-2d-pack8", "h/8 w h%8", "ncnn Mat, dims 2, elempack 8: matrix"},
    {"ncnn-2d-pack16", "h/16 w h%16", "ncnn Mat, dims 2, elempack 16: matrix"},
    {"ncnn-3d-pack1", "c (h w)~16B c%1", "ncnn Mat, dims 3, elempack 1: planes a multiple of 16 bytes apart"},
    {"ncnn-3d-pack2", "c/2 (h w)~16B c%2", "ncnn Mat, dims 3, elempack 2: planes a multiple of 16 bytes apart"},
    {"ncnn-3d-pack3", "c/3 (h w)~16B c%3", "ncnn Mat, dims 3, elempack 3: planes a multiple of 16 bytes apart"},
    {"ncnn-3d-pack4", "c/4 (h w)~16B c%4", "ncnn Mat, dims 3, elempack 4: planes a multiple of 16 bytes apart"},
    {"ncnn-3d-pack8", "c/8 (h w)~16B c%8", "ncnn Mat, dims 3, elempack 8: planes a multiple of 16 bytes apart"},
    {"ncnn-3d-pack16", "c/16 (h w)~16B c%16", "ncnn Mat, dims 3, elempack 16: planes a multiple of 16 bytes apart"},
    {"ncnn-4d-pack1", "c (d h w)~16B c%1", "ncnn Mat, dims 4, elempack 1: volumes a multiple of 16 bytes apart"},
    {"ncnn-4d-pack2", "c/2 (d h w)~16B c%2", "ncnn Mat, dims 4, elempack 2: volumes a multiple of 16 bytes apart"},
    {"ncnn-4d-pack3", "c/3 (d h w)~16B c%3", "ncnn Mat, dims 4, elempack 3: volumes a multiple of 16 bytes apart"},
    {"ncnn-4d-pack4", "c/4 (d h w)~16B c%4", "ncnn Mat, dims 4, elempack 4: volumes a multiple of 16 bytes apart"},
    {"ncnn-4d-pack8", "c/8 (d h w)~16B c%8", "ncnn Mat, dims 4, elempack 8: volumes a multiple of 16 bytes apart"},
    {"ncnn-4d-pack16", "c/16 (d h w)~16B c%16", "ncnn Mat, dims 4, elempack 16: volumes a multiple of 16 bytes apart"},
    {"ncnn-batch-pack4", "n (c/4 (h w)~16B c%4)~4096B", "batched ncnn Mats, samples a multiple of 4096 bytes apart"},
}};
// clang-format on

}  // namespace

std::span<const NamedLayout> layout_catalog() noexcept { return kCatalog; }

}  // namespace stowage
