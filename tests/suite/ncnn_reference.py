#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ncnn_cases.txt: small models of ncnn, one layer or a few each, with what ncnn computes.

    python3 -m venv v && v/bin/pip install ncnn numpy && v/bin/python tests/suite/ncnn_reference.py

Weights and inputs are fractions of small integers by a formula that the test repeats, so that the
file holds shapes and results alone. Weights are named by segments in the order of the .bin: tN is N
numbers behind a tag, rN is N without, pN likewise but positive, hN is N of 16 bits, bN is N indices
of 256 numbers.
"""

import os
import struct
import tempfile

import ncnn
import numpy as np

CASES = []


def case(name, layers, inputs, weights=""):
    """`layers`: lines of a .param without Input; `inputs`: NAME=c,h,w ..."""
    CASES.append((name, [l.strip() for l in layers.strip().split("\n")], inputs.split(), weights.split()))


def one(name, layer, params, dims, weights="", outputs=1, inputs=1):
    """A case of one layer that reads x (y, z) and makes out (out1, ...)."""
    blobs = ["x", "y", "z"][:inputs]
    outs = ["out"] + [f"out{i}" for i in range(1, outputs)]
    line = f"{layer} it {inputs} {outputs} {' '.join(blobs)} {' '.join(outs)} {params}"
    given = dims.split()
    case(name, line, " ".join(f"{b}={d}" for b, d in zip(blobs, given)), weights)


class Numbers:
    """Exact in 32 bits, never twice the same for long."""

    def __init__(self):
        self.k = 0

    def weights(self, n, positive=False):
        out = [(((self.k + i) * 3701 + 11) % 10007 - 5000) / 8192 for i in range(n)]
        self.k += n
        return [abs(v) + 0.25 for v in out] if positive else out

    def input(self, n, i):
        return [((k * 5303 + 7 + 131 * i) % 9973 - 4800) / 4096 for k in range(n)]


def bin_of(segments):
    numbers = Numbers()
    out = b""
    for s in segments:
        kind, n = s[0], int(s[1:])
        if kind == "b":
            out += struct.pack("<I", 1) + struct.pack("<256f", *numbers.weights(256))
            out += bytes((i * 29 + 3) % 256 for i in range(n)) + bytes(-n % 4)
            continue
        values = numbers.weights(n, kind == "p")
        if kind == "h":
            out += struct.pack("<I", 0x01306B47) + np.array(values, "<f2").tobytes()
            out += bytes(-2 * n % 4)
            continue
        if kind == "t":
            out += struct.pack("<I", 0)
        out += np.array(values, "<f4").tobytes()
    return out


def run(layers, inputs, segments):
    names = [i.split("=")[0] for i in inputs]
    lines = [f"Input {n} 0 1 {n}" for n in names] + layers
    made = []
    read = set()
    for line in lines:
        words = line.split()
        n_in, n_out = int(words[2]), int(words[3])
        read.update(words[4:4 + n_in])
        made += words[4 + n_in:4 + n_in + n_out]
    param = "\n".join(["7767517", f"{len(lines)} {len(made)}"] + lines) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, f) for f in ("m.param", "m.bin")]
        open(files[0], "w").write(param)
        open(files[1], "wb").write(bin_of(segments))
        net = ncnn.Net()
        for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage",
                       "use_vulkan_compute", "use_winograd_convolution"):
            setattr(net.opt, option, False)
        net.opt.num_threads = 1
        if net.load_param(files[0]) != 0 or net.load_model(files[1]) != 0:
            return None
        extractor = net.create_extractor()
        keep = []
        for i, text in enumerate(inputs):
            dims = [int(d) for d in text.split("=")[1].split(",")]
            array = np.array(Numbers().input(int(np.prod(dims)), i), "f4").reshape(dims)
            mat = ncnn.Mat(array).clone()
            keep.append(mat)
            extractor.input(names[i], mat)
        outputs = []
        for blob in made:
            if blob in read:
                continue
            status, mat = extractor.extract(blob)
            if status != 0:
                return None
            outputs.append((blob, np.array(mat)))
        return param, outputs

# convolutions:
one("conv", "Convolution", "0=4 1=3 5=1 6=108", "3,6,7", "t108 r4")
one("conv_rect", "Convolution", "0=5 1=3 11=2 2=2 12=1 3=2 13=1 4=1 14=2 15=0 16=1 5=1 6=60", "2,9,8", "t60 r5")
one("conv_no_bias", "Convolution", "0=3 1=1 6=12", "4,5,5", "t12")
one("conv_same_upper", "Convolution", "0=3 1=3 3=2 4=-233 15=-233 14=-233 16=-233 5=1 6=54", "2,7,6", "t54 r3")
one("conv_same_lower", "Convolution", "0=3 1=4 4=-234 15=-234 14=-234 16=-234 5=1 6=96", "2,7,6", "t96 r3")
one("conv_pad_value", "Convolution", "0=3 1=3 4=1 18=2.5 5=1 6=54", "2,5,6", "t54 r3")
one("conv_relu", "Convolution", "0=3 1=3 5=1 6=54 9=1", "2,5,6", "t54 r3")
one("conv_leaky", "Convolution", "0=3 1=3 5=1 6=54 9=2 -23310=1,0.1", "2,5,6", "t54 r3")
one("conv_clip", "Convolution", "0=3 1=3 5=1 6=54 9=3 -23310=2,-0.5,1.5", "2,5,6", "t54 r3")
one("conv_sigmoid", "Convolution", "0=3 1=3 5=1 6=54 9=4", "2,5,6", "t54 r3")
one("conv_mish", "Convolution", "0=3 1=3 5=1 6=54 9=5", "2,5,6", "t54 r3")
one("conv_hard_swish", "Convolution", "0=3 1=3 5=1 6=54 9=6 -23310=2,1.666667e-01,0.5", "2,5,6", "t54 r3")
one("conv_half", "Convolution", "0=3 1=3 5=1 6=54", "2,5,6", "h54 r3")
one("conv_book", "Convolution", "0=3 1=3 5=1 6=54", "2,5,6", "b54 r3")
one("conv_of_vector", "Convolution", "0=3 1=1 5=1 6=18 9=1", "6", "t18 r3")
one("conv_dynamic", "Convolution", "0=3 1=3 5=1 19=1", "2,5,6 3,2,3,3 3", "", inputs=3)
one("depthwise", "ConvolutionDepthWise", "0=5 1=3 4=1 5=1 6=45 7=5", "5,6,7", "t45 r5")
one("group_conv", "ConvolutionDepthWise", "0=6 1=3 3=2 4=1 5=1 6=108 7=2", "4,6,7", "t108 r6")
one("conv1d_same", "Convolution1D", "0=4 1=3 3=2 4=-233 5=1 6=36", "3,9", "t36 r4")
one("conv1d", "Convolution1D", "0=4 1=3 3=2 4=1 5=1 6=36", "3,9", "t36 r4")
one("conv1d_dw", "ConvolutionDepthWise1D", "0=4 1=3 4=1 5=1 6=12 7=4", "4,9", "t12 r4")
one("conv3d", "Convolution3D", "0=3 1=3 11=2 21=2 4=1 14=0 24=1 5=1 6=72", "2,4,5,5", "t72 r3")
one("conv3d_dw", "ConvolutionDepthWise3D", "0=2 1=3 4=1 14=1 24=1 5=1 6=54 7=2", "2,4,5,5", "t54 r2")
one("deconv", "Deconvolution", "0=3 1=3 3=2 4=1 5=1 6=54", "2,4,5", "t54 r3")
one("deconv_out_pad", "Deconvolution", "0=3 1=3 11=4 3=2 4=1 14=0 18=1 5=1 6=72", "2,4,5", "t72 r3")
one("deconv_plain", "Deconvolution", "0=3 1=2 3=2 6=24", "2,4,5", "t24")
one("deconv_same", "Deconvolution", "0=3 1=3 3=2 4=-233 20=9 21=8 5=1 6=54", "2,4,5", "t54 r3")
one("deconv_same_lower", "Deconvolution", "0=3 1=4 3=2 4=-234 20=9 21=8 5=1 6=96", "2,4,5", "t96 r3")
one("deconv_leaky", "Deconvolution", "0=3 1=4 3=2 4=1 5=1 6=96 9=2 -23310=1,0.2", "2,4,5", "t96 r3")
one("deconv_dw", "DeconvolutionDepthWise", "0=3 1=3 3=2 4=1 5=1 6=27 7=3", "3,4,5", "t27 r3")
one("deconv_group", "DeconvolutionDepthWise", "0=6 1=3 3=2 5=1 6=108 7=2", "4,4,5", "t108 r6")
one("deconv1d", "Deconvolution1D", "0=3 1=3 3=2 4=1 5=1 6=18", "2,5", "t18 r3")
one("deconv1d_dw", "DeconvolutionDepthWise1D", "0=2 1=3 3=2 5=1 6=6 7=2", "2,5", "t6 r2")

# products:
one("inner_product", "InnerProduct", "0=4 1=1 2=120 9=1", "2,3,5", "t120 r4")
one("inner_product_rows", "InnerProduct", "0=4 1=1 2=24", "5,6", "t24 r4")
one("inner_product_one_row", "InnerProduct", "0=4 1=1 2=24", "1,6", "t24 r4")
one("inner_product_vector", "InnerProduct", "0=4 2=24 9=2 -23310=1,0.3", "6", "t24")
one("gemm_b", "Gemm", "0=0.5 1=2.0 3=1 5=1 6=1 8=4 9=6 10=4", "5,6", "t24 t4")
one("gemm_c_rows", "Gemm", "5=1 6=1 7=5 8=4 9=6 10=1", "5,6", "t24 t5")
one("gemm_none", "Gemm", "5=1 6=1 8=4 9=6 10=-1", "5,6", "t24")
one("gemm_dynamic", "Gemm", "2=1 0=1.5", "6,5 6,4 5,4", inputs=3)
one("gemm_a", "Gemm", "4=1 7=3 9=5", "5,4", "t15")
one("gemm_turned", "Gemm", "3=1 5=1 6=1 8=4 9=6 10=0 14=1", "5,6", "t24 t1")
one("gemm_n1m", "Gemm", "3=1 5=1 6=1 8=4 9=6 10=3 7=5 11=1", "5,6", "t24 t20")
one("matmul", "MatMul", "", "5,6 6,4", inputs=2)
one("matmul_b_turned", "MatMul", "0=1", "2,5,6 2,4,6", inputs=2)
one("matmul_wide", "MatMul", "", "3,5,6 6,4", inputs=2)
one("matmul_vectors", "MatMul", "", "6 6,4", inputs=2)
one("attention", "MultiHeadAttention", "0=8 1=2 2=64", "5,8", "t64 r8 t64 r8 t64 r8 t64 r8")
one("attention_cross", "MultiHeadAttention", "0=8 1=2 2=48 3=4 4=5 5=0", "5,6 7,4 7,5", "t48 r8 t32 r8 t40 r8 t48 r6", inputs=3)
one("attention_mask", "MultiHeadAttention", "0=8 1=2 2=64 5=1", "5,8 5,5", "t64 r8 t64 r8 t64 r8 t64 r8", inputs=2)
one("sdpa", "SDPA", "", "2,5,4 2,6,4 2,6,3", inputs=3)
one("sdpa_grouped", "SDPA", "6=0.25", "4,5,4 2,6,4 2,6,3", inputs=3)
one("rotary", "RotaryEmbed", "0=0", "2,3,8 3,4 3,4", inputs=3)
one("rotary_pairs", "RotaryEmbed", "0=1", "2,3,8 3,4 3,4", inputs=3)
one("lstm", "LSTM", "0=3 1=60 2=0", "4,5", "t60 t12 t36")
one("lstm_reverse", "LSTM", "0=3 1=60 2=1", "4,5", "t60 t12 t36")
one("lstm_states", "LSTM", "0=3 1=60 2=0", "4,5 1,3 1,3", "t60 t12 t36", inputs=3, outputs=3)
one("lstm_both_states", "LSTM", "0=3 1=120 2=2", "4,5 2,3 2,3", "t120 t24 t72", inputs=3, outputs=3)
one("lstm_both", "LSTM", "0=3 1=120 2=2", "4,5", "t120 t24 t72")

# pooling:
one("max_full", "Pooling", "0=0 1=3 2=2", "3,8,7")
one("max_full_pad", "Pooling", "0=0 1=3 2=2 3=1", "3,8,7")
one("max_valid", "Pooling", "0=0 1=3 2=2 3=1 5=1", "3,8,7")
one("avg_full", "Pooling", "0=1 1=3 2=2", "3,8,7")
one("avg_full_pad", "Pooling", "0=1 1=3 11=2 2=2 12=2 3=1", "3,8,7")
one("avg_include", "Pooling", "0=1 1=3 2=2 3=1 5=1 6=1", "3,8,7")
one("avg_include_full", "Pooling", "0=1 1=3 2=2 3=1 5=0 6=1", "3,8,7")
one("avg_valid_pad", "Pooling", "0=1 1=3 2=1 3=1 5=1", "3,6,7")
one("max_same", "Pooling", "0=0 1=3 2=2 5=2", "3,8,7")
one("avg_same", "Pooling", "0=1 1=3 2=2 5=2", "3,8,7")
one("avg_same_lower", "Pooling", "0=1 1=4 2=2 5=3", "3,8,7")
one("avg_global", "Pooling", "0=1 4=1", "5,4,3")
one("max_global", "Pooling", "0=0 4=1", "5,4,3")
one("avg_adaptive", "Pooling", "0=1 7=1 8=3", "2,7,8")
one("max_adaptive", "Pooling", "0=0 7=1 8=2 18=3", "2,7,8")
one("avg_adaptive_even", "Pooling", "0=1 7=1 8=4 18=2", "2,6,8")
one("avg_adaptive_keep", "Pooling", "0=1 7=1 8=1 18=-233", "2,6,8")
one("pool1d_same", "Pooling1D", "0=0 1=3 2=2 5=2", "3,8")
one("pool1d_adaptive", "Pooling1D", "0=1 7=1 8=3", "3,8")
one("pool1d", "Pooling1D", "0=0 1=3 2=2", "3,8")
one("pool1d_avg", "Pooling1D", "0=1 1=3 2=2 3=1 5=1", "3,8")
one("pool1d_global", "Pooling1D", "0=1 4=1", "3,8")

# arithmetic:
case("binary_div", "AbsVal a 1 1 y a\nBinaryOp b 1 1 a b 0=0 1=1 2=0.5\nBinaryOp it 2 1 x b out 0=3", "x=2,3,4 y=2,3,4")
for k, name in enumerate(["add", "sub", "mul", "div", "max", "min", "pow", "rsub", "rdiv", "rpow"]):
    if name not in ("div", "pow", "rpow"):
        one(f"binary_{name}", "BinaryOp", f"0={k}", "2,3,4 2,3,4", inputs=2)
    if name != "pow":
        one(f"scalar_{name}", "BinaryOp", f"0={k} 1=1 2=2.0", "3,4,5")
one("binary_rows", "BinaryOp", "0=0", "3,4,5 3,4", inputs=2)
one("binary_channels", "BinaryOp", "0=2", "3,4,5 3", inputs=2)
one("binary_along_w", "BinaryOp", "0=2", "3,4,5 5", inputs=2)
one("binary_vector_first", "BinaryOp", "0=1", "3 3,4,5", inputs=2)
one("binary_matrix_h", "BinaryOp", "0=1", "4,5 4", inputs=2)
one("binary_matrix_w", "BinaryOp", "0=1", "4,5 5", inputs=2)
one("binary_square_vector", "BinaryOp", "0=1", "4,4 4", inputs=2)
one("binary_ones", "BinaryOp", "0=0", "3,1,5 3,4,1", inputs=2)
one("binary_four_dims", "BinaryOp", "0=0", "2,3,4,5 2", inputs=2)
one("binary_four_three", "BinaryOp", "0=0", "2,3,4,5 2,3,4", inputs=2)
one("binary_one", "BinaryOp", "0=2", "3,4,5 1", inputs=2)
one("eltwise_sum", "Eltwise", "0=1", "3,4,5 3,4,5 3,4,5", inputs=3)
one("eltwise_weighted", "Eltwise", "0=1 -23301=2,0.5,-1.5", "3,4,5 3,4,5", inputs=2)
one("eltwise_prod", "Eltwise", "0=0", "3,4,5 3,4,5", inputs=2)
one("eltwise_max", "Eltwise", "0=2", "3,4,5 3,4,5 3,4,5", inputs=3)
for k in [0, 1, 2, 3, 4, 7, 9, 10, 11, 14, 15, 16, 18, 19, 20, 21, 22, 23]:
    one(f"unary_{k}", "UnaryOp", f"0={k}", "3,4,5")
for k in [5, 6, 8, 17, 27]:
    case(f"unary_{k}", f"AbsVal a 1 1 x a\nBinaryOp b 1 1 a b 0=0 1=1 2=0.5\nUnaryOp it 1 1 b out 0={k}", "x=3,4,5")
one("scale", "Scale", "0=3 1=1", "3,4,5", "r3 r3")
one("scale_given", "Scale", "0=-233", "3,4,5 3", inputs=2)
one("scale_rows", "Scale", "0=4 1=1", "4,5", "r4 r4")
one("bias", "Bias", "0=3", "3,4,5", "r3")
case("scalar_pow", "AbsVal a 1 1 x a\nBinaryOp it 1 1 a out 0=6 1=1 2=2.5", "x=3,4,5")
case("power", "AbsVal a 1 1 x a\nPower it 1 1 a out 0=1.5 1=2.0 2=0.25", "x=3,4,5")
one("exp", "Exp", "0=2.0 1=0.5 2=1.0", "3,4,5")
one("exp_e", "Exp", "", "3,4,5")
case("log", "AbsVal a 1 1 x a\nLog it 1 1 a out 0=2.0 1=0.5 2=1.0", "x=3,4,5")
# activations:
for name, params in [("ReLU", ""), ("ReLU", "0=0.25"), ("Clip", "0=-0.5 1=0.75"), ("Clip", ""), ("Sigmoid", ""),
                     ("TanH", ""), ("Swish", ""), ("Mish", ""), ("HardSigmoid", ""), ("HardSigmoid", "0=0.25 1=0.4"),
                     ("HardSwish", ""), ("HardSwish", "0=1.666667e-01 1=0.5"), ("ELU", ""), ("ELU", "0=1.0"),
                     ("SELU", ""), ("CELU", "0=0.5"), ("GELU", ""), ("GELU", "0=1"), ("Softplus", ""), ("Erf", ""),
                     ("BNLL", ""), ("AbsVal", ""), ("Threshold", "0=0.25"), ("Shrink", "0=0.125 1=0.4"),
                     ("Dropout", ""), ("Dropout", "0=0.5"), ("GLU", "0=1")]:
    tail = "" if not params else "_" + params.replace("=", "_").replace(" ", "_").replace(".", "_").replace("-", "m")
    one(f"{name.lower()}{tail}", name, params, "3,4,6")
one("prelu", "PReLU", "0=3", "3,4,5", "r3")
one("prelu_one", "PReLU", "0=1", "3,4,5", "r1")
one("prelu_vector", "PReLU", "0=6", "6", "r6")
one("prelu_rows", "PReLU", "0=4", "4,5", "r4")
for axis in (0, 1, 2, -1):
    one(f"softmax_{axis}".replace("-", "m"), "Softmax", f"0={axis} 1=1", "3,4,5")
one("softmax_rows", "Softmax", "0=1 1=1", "4,5")
one("softmax_vector", "Softmax", "0=0", "7")
# shapes:
one("split", "Split", "", "3,4,5", outputs=3)
one("noop", "Noop", "", "3,4,5")
one("flatten", "Flatten", "", "3,4,5")
one("reshape_1", "Reshape", "0=-1", "3,4,5")
one("reshape_2", "Reshape", "0=2 1=-1", "3,4,5")
one("reshape_3", "Reshape", "0=5 1=-1 2=2", "4,5,6")
one("reshape_keep", "Reshape", "0=0 1=-1", "3,4,5")
one("reshape_4", "Reshape", "0=2 1=3 11=2 2=-1", "4,5,6")
one("squeeze", "Squeeze", "0=1 1=1 2=1", "3,1,5")
one("squeeze_axes", "Squeeze", "-23303=1,0", "1,4,5")
one("squeeze_last", "Squeeze", "-23303=2,1,-1", "3,1,1")
one("expand_dims", "ExpandDims", "-23303=1,0", "4,5")
one("expand_dims_two", "ExpandDims", "-23303=2,0,2", "5")
one("expand_dims_last", "ExpandDims", "-23303=1,-1", "4,5")
for k in range(6):
    one(f"permute_{k}", "Permute", f"0={k}", "2,3,4")
one("permute_rows", "Permute", "0=1", "3,4")
for k in range(24):
    one(f"permute_4_{k}", "Permute", f"0={k}", "2,1,3,2")
one("shuffle", "ShuffleChannel", "0=2", "6,2,3")
one("shuffle_back", "ShuffleChannel", "0=2 1=1", "6,2,3")
one("shuffle_3", "ShuffleChannel", "0=3", "6,2,3")
case("memory_data", "MemoryData c 0 1 c 0=5 1=4 2=3\nBinaryOp it 2 1 x c out 0=0", "x=3,4,5", "r60")
case("memory_vector", "MemoryData c 0 1 c 0=3 21=0\nBinaryOp it 2 1 x c out 0=2", "x=3,4,5", "t3")
# cuts:
one("concat", "Concat", "", "3,4,5 2,4,5", inputs=2)
one("concat_1", "Concat", "0=1", "3,4,5 3,2,5", inputs=2)
one("concat_last", "Concat", "0=-1", "3,4,5 3,4,1", inputs=2)
one("concat_rows", "Concat", "0=0", "3,4 5,4", inputs=2)
one("slice_even", "Slice", "-23300=2,-233,-233", "6,2,3", outputs=2)
one("slice_sizes", "Slice", "-23300=3,1,2,-233 1=1", "2,6,3", outputs=3)
one("slice_cuts", "Slice", "-23302=2,1,-2 1=2", "2,2,6", outputs=3)
one("crop", "Crop", "0=1 1=2 2=1 3=3 4=2 5=2", "4,5,6")
one("crop_to_end", "Crop", "0=1 1=1 2=1 3=-233 4=-233 5=-233 6=1 7=1", "4,5,6")
one("crop_like", "Crop", "0=1 1=2", "3,5,6 3,2,3", inputs=2)
one("crop_numpy", "Crop", "-23309=2,1,-3 -23310=2,3,-233 -23311=2,0,2", "4,5,6")
one("crop_numpy_end", "Crop", "-23309=1,0 -23310=1,-1 -23311=1,1", "4,5,6")
one("flip", "Flip", "-23300=2,0,2", "3,2,4")
one("tile", "Tile", "0=1 1=2", "2,2,3")
one("tile_list", "Tile", "-23302=3,2,1,2", "2,2,3")
one("pad", "Padding", "0=1 1=2 2=1 3=0 5=1.5", "2,3,4")
one("pad_edge", "Padding", "0=1 1=2 2=1 3=1 4=1", "2,3,4")
one("pad_reflect", "Padding", "0=1 1=2 2=1 3=2 4=2", "2,3,4")
one("pad_channels", "Padding", "7=1 8=2 5=0.5", "2,3,4")
one("pad_rows", "Padding", "0=1 1=0 2=2 3=1", "3,4")
# pictures:
one("nearest", "Interp", "0=1 1=2.0 2=2.0", "2,3,4")
one("nearest_odd", "Interp", "0=1 1=1.5 2=2.5", "2,3,4")
one("nearest_size", "Interp", "0=1 3=5 4=7", "2,3,4")
one("bilinear", "Interp", "0=2 1=2.0 2=2.0", "2,3,4")
one("bilinear_size", "Interp", "0=2 3=5 4=7", "2,3,4")
one("bilinear_corners", "Interp", "0=2 3=5 4=7 6=1", "2,3,4")
one("bilinear_down", "Interp", "0=2 3=3 4=2", "2,7,6")
one("bicubic", "Interp", "0=3 3=7 4=9", "2,5,4")
one("bicubic_corners", "Interp", "0=3 3=7 4=9 6=1", "2,5,4")
one("interp_vector", "Interp", "0=2 3=2 4=3", "4")
one("interp_rows", "Interp", "0=2 3=1 4=7", "3,4")
one("interp_half_said", "Interp", "0=2 2=2.0 4=7", "2,3,4")
one("interp_like", "Interp", "0=2 5=1", "2,3,4 1,6,5", inputs=2)
one("pixel_shuffle", "PixelShuffle", "0=2", "8,2,3")
one("pixel_shuffle_1", "PixelShuffle", "0=2 1=1", "8,2,3")
one("reorg", "Reorg", "0=2", "2,4,6")
one("reorg_1", "Reorg", "0=2 1=1", "2,4,6")
# norms:
one("batch_norm", "BatchNorm", "0=3 1=1e-3", "3,4,5", "r3 r3 p3 r3")
one("batch_norm_rows", "BatchNorm", "0=4", "4,5", "r4 r4 p4 r4")
one("batch_norm_vector", "BatchNorm", "0=6", "6", "r6 r6 p6 r6")
one("instance_norm", "InstanceNorm", "0=3", "3,4,5", "r3 r3")
one("instance_norm_plain", "InstanceNorm", "0=3 1=1e-2 2=0", "3,4,5")
one("group_norm", "GroupNorm", "0=2 1=4 2=1e-3", "4,3,5", "r4 r4")
one("group_norm_plain", "GroupNorm", "0=2 1=4 3=0", "4,3,5")
one("layer_norm_rows", "LayerNorm", "0=6 1=1e-3", "4,6", "r6 r6")
one("layer_norm_image", "LayerNorm", "0=5 1=1e-3", "2,4,5", "r5 r5")
one("layer_norm_planes", "LayerNorm", "0=20 1=1e-3", "2,4,5", "r20 r20")
one("layer_norm_plain", "LayerNorm", "0=6 2=0", "4,6")
one("layer_norm_vector", "LayerNorm", "0=6", "6", "r6 r6")
one("rms_norm", "RMSNorm", "0=6 1=1e-3", "4,6", "r6")
one("rms_norm_planes", "RMSNorm", "0=20 1=1e-3", "2,4,5", "r20")
one("mvn", "MVN", "0=1", "3,4,5")
one("mvn_mean", "MVN", "0=0 1=1", "3,4,5")
one("mvn_across", "MVN", "0=1 1=1 2=1e-2", "3,4,5")
one("normalize", "Normalize", "1=0 3=3", "3,4,5", "r3")
one("normalize_spatial", "Normalize", "0=1 1=1 2=1e-3 3=1", "3,4,5", "r1")
one("normalize_planes", "Normalize", "0=1 4=0 9=1 3=3", "3,4,5", "r3")
one("normalize_max", "Normalize", "0=0 4=1 9=2 1=1 3=1", "3,4,5", "r1")
one("lrn", "LRN", "0=0 1=3 2=0.5 3=0.75 4=1.5", "5,3,4")
one("lrn_within", "LRN", "0=1 1=3 2=0.5 3=0.75 4=1.5", "3,5,4")
# reductions:
for k, name in enumerate(["sum", "asum", "sumsq", "mean", "max", "min", "prod", "l1", "l2"]):
    one(f"reduce_{name}", "Reduction", f"0={k} 1=0 -23303=2,1,2 5=1", "3,4,5")
    one(f"reduce_{name}_all", "Reduction", f"0={k} 1=1", "2,3,2")
one("reduce_keep", "Reduction", "0=3 1=0 2=2.0 -23303=2,1,2 4=1 5=1", "3,4,5")
one("reduce_channels", "Reduction", "0=3 1=0 -23303=1,0 5=1", "3,4,5")
one("reduce_last", "Reduction", "0=4 1=0 -23303=1,-1 5=1", "3,4,5")
one("reduce_rows", "Reduction", "0=0 1=0 -23303=1,0 5=1", "4,5")
case("reduce_log_sum", "AbsVal a 1 1 x a\nReduction it 1 1 a out 0=9 1=0 -23303=1,2 5=1", "x=3,4,5")
one("reduce_log_sum_exp", "Reduction", "0=10 1=0 -23303=1,2 5=1", "3,4,5")
one("cumulative", "CumulativeSum", "0=1", "3,4,5")
one("cumulative_rows", "CumulativeSum", "0=-1", "3,4")
# detection:
one("prior_box", "PriorBox", "-23300=1,20.0 -23301=1,40.0 -23302=2,2.0,3.0 9=64 10=48 11=16.0 12=16.0 13=0.5", "2,3,4")
one("prior_box_like", "PriorBox", "-23300=2,10.0,20.0 -23302=1,2.0 7=0 8=1 9=-233 10=-233 13=0.5", "2,3,4 3,48,64", inputs=2)
one("prior_box_relative", "PriorBox", "-23300=2,0.3,0.6 -23302=3,1.0,2.0,0.5 9=-233 10=-233 13=0.5", "2,3,4")

# Scores as a network would have them, few above the threshold.
case("detections", """PriorBox p 1 1 x p -23300=1,20.0 -23301=1,40.0 -23302=2,2.0,3.0 9=64 10=48 11=16.0 12=16.0 13=0.5
MemoryData l 0 1 l 0=288
MemoryData s 0 1 s 0=216
DetectionOutput it 3 1 l s p out 0=3 1=0.3 2=20 3=12 4=0.4""", "x=2,3,4", "r288 r216")
case("detections_few", """PriorBox p 1 1 x p -23300=1,20.0 -23301=1,40.0 -23302=2,2.0,3.0 9=64 10=48 11=16.0 12=16.0 13=0.5
MemoryData l 0 1 l 0=288
MemoryData s 0 1 s 0=216
DetectionOutput it 3 1 l s p out 0=3 1=0.1 2=4 4=0.6""", "x=2,3,4", "r288 r216")
one("yolo_v2", "YoloDetectionOutput", "0=3 1=2 2=0.25 3=0.3 -23304=4,1.5,2.0,3.0,1.0", "16,4,5")
one("yolo_v3", "Yolov3DetectionOutput", "0=3 1=2 2=0.35 3=0.3 -23304=8,10.0,13.0,16.0,30.0,33.0,23.0,30.0,61.0 "
    "-23305=4,1077936128,1073741824,1065353216,0 -23306=2,32.0,16.0", "16,2,3 16,4,6", inputs=2)

# the mixes of layers of ncnn's benchmarks, small:
case("squeezenet", """Convolution c 1 1 x c 0=4 1=3 3=2 5=1 6=108
ReLU r 1 1 c r
Pooling p 1 1 r p 0=0 1=3 2=2
Convolution s 1 1 p s 0=3 1=1 5=1 6=12 9=1
Split t 1 2 s s0 s1
Convolution a 1 1 s0 a 0=4 1=1 5=1 6=12 9=1
Convolution b 1 1 s1 b 0=4 1=3 4=1 5=1 6=108 9=1
Concat k 2 1 a b k
Dropout d 1 1 k d
Convolution e 1 1 d e 0=5 1=1 4=1 5=1 6=40 9=1
Pooling g 1 1 e g 0=1 4=1
Softmax o 1 1 g out 0=0""", "x=3,17,19", "t108 r4 t12 r3 t12 r4 t108 r4 t40 r5")
case("mobilenet_v3", """Convolution c 1 1 x c 0=8 1=3 3=2 4=1 5=1 6=216
HardSwish h 1 1 c h 0=1.666667e-01 1=0.5
Split s 1 2 h h0 h1
ConvolutionDepthWise d 1 1 h0 d 0=8 1=5 4=2 5=1 6=200 7=8
Split t 1 2 d d0 d1
Pooling p 1 1 d0 p 0=1 4=1
InnerProduct f 1 1 p f 0=4 1=1 2=32 9=1
InnerProduct g 1 1 f g 0=8 1=1 2=32
HardSigmoid q 1 1 g q 0=1.666667e-01 1=0.5
BinaryOp m 2 1 d1 q m 0=2
Convolution e 1 1 m e 0=8 1=1 5=1 6=64
BinaryOp a 2 1 e h1 out 0=0""", "x=3,12,14", "t216 r8 t200 r8 t32 r4 t32 r8 t64 r8")
case("efficientnet", """Convolution c 1 1 x c 0=6 1=3 3=2 4=-233 5=1 6=162
Swish h 1 1 c h
Split s 1 2 h h0 h1
Reduction p 1 1 h0 p 0=3 1=0 -23303=2,1,2 4=1 5=1
Convolution f 1 1 p f 0=3 1=1 5=1 6=18
Swish u 1 1 f u
Convolution g 1 1 u g 0=6 1=1 5=1 6=18 9=4
BinaryOp m 2 1 h1 g m 0=2
Convolution e 1 1 m e 0=4 1=1 5=1 6=24
Reduction q 1 1 e q 0=3 1=0 -23303=2,1,2 5=1
InnerProduct o 1 1 q out 0=5 1=1 2=20""", "x=3,11,13", "t162 r6 t18 r3 t18 r6 t24 r4 t20 r5")
case("shufflenet", """Split s0 1 2 x x0 x1
ConvolutionDepthWise c 1 1 x0 c 0=6 1=1 5=1 6=12 7=3 9=1
ShuffleChannel s 1 1 c s 0=3
ConvolutionDepthWise d 1 1 s d 0=6 1=3 3=2 4=1 5=1 6=54 7=6
ConvolutionDepthWise e 1 1 d e 0=6 1=1 5=1 6=12 7=3
Pooling p 1 1 x1 p 0=1 1=3 2=2 3=1 5=1
Concat k 2 1 p e k
ReLU r 1 1 k out""", "x=6,9,11", "t12 r6 t54 r6 t12 r6")
case("shufflenet_v2", """Slice l 1 2 x a b -23300=2,-233,-233
Convolution c 1 1 b c 0=4 1=1 5=1 6=16 9=1
ConvolutionDepthWise d 1 1 c d 0=4 1=3 4=1 5=1 6=36 7=4
Convolution e 1 1 d e 0=4 1=1 5=1 6=16 9=1
Concat k 2 1 a e k
ShuffleChannel s 1 1 k out 0=2""", "x=8,7,6", "t16 r4 t36 r4 t16 r4")
case("googlenet", """Convolution c 1 1 x c 0=6 1=3 5=1 6=162 9=1
Pooling p 1 1 c p 0=0 1=3 2=2
LRN n 1 1 p n 0=0 1=5 2=0.0001 3=0.75
Split s 1 3 n n0 n1 n2
Convolution a 1 1 n0 a 0=3 1=1 5=1 6=18 9=1
Convolution b 1 1 n1 b 0=2 1=5 4=2 5=1 6=300 9=1
Pooling q 1 1 n2 q 0=0 1=3 2=1 3=1
Concat k 3 1 a b q k
Pooling g 1 1 k g 0=1 1=3 2=1
Flatten f 1 1 g f
InnerProduct i 1 1 f i 0=4 1=1 2=176
Softmax o 1 1 i out 0=0""", "x=3,11,11", "t162 r6 t18 r3 t300 r2 t176 r4")
case("resnet", """Convolution c 1 1 x c 0=4 1=3 3=2 4=1 5=0 6=108
BatchNorm n 1 1 c n 0=4 1=1e-5
Scale k 1 1 n k 0=4 1=1
ReLU r 1 1 k r
Split s 1 2 r r0 r1
Convolution a 1 1 r0 a 0=4 1=3 4=1 5=1 6=144 9=1
Eltwise e 2 1 a r1 e 0=1
ReLU q 1 1 e q
Pooling g 1 1 q g 0=1 4=1
InnerProduct i 1 1 g out 0=3 1=1 2=12""", "x=3,13,11", "t108 r4 r4 p4 r4 r4 r4 t144 r4 t12 r3")
case("blazeface", """Padding p 1 1 x p 0=0 1=1 2=0 3=1
Convolution c 1 1 p c 0=4 1=3 3=2 5=1 6=108 9=1
Split s 1 2 c c0 c1
ConvolutionDepthWise d 1 1 c0 d 0=4 1=3 4=1 5=1 6=36 7=4
Convolution e 1 1 d e 0=6 1=1 5=1 6=24
Padding q 1 1 c1 q 8=2
BinaryOp a 2 1 e q a 0=0
ReLU r 1 1 a r
Permute t 1 1 r t 0=3
Reshape h 1 1 t out 0=2 1=-1""", "x=3,12,10", "t108 r4 t36 r4 t24 r6")
case("ssd", """Split s 1 4 x x0 x1 x2 x3
Convolution l 1 1 x0 l 0=16 1=3 4=1 5=1 6=432
Permute lp 1 1 l lp 0=3
Flatten lf 1 1 lp lf
Convolution c 1 1 x1 c 0=12 1=3 4=1 5=1 6=324
Permute cp 1 1 c cp 0=3
Flatten cf 1 1 cp cf
PriorBox p 2 1 x2 i p -23300=1,20.0 -23301=1,40.0 -23302=1,2.0 9=-233 10=-233 13=0.5
Noop n 1 1 x3 unread
Concat lk 1 1 lf lk
Reshape cr 1 1 cf cr 0=3 1=-1
Softmax cs 1 1 cr cs 0=1 1=1
Flatten cz 1 1 cs cz
Concat pk 1 1 p pk 0=1
DetectionOutput o 3 1 lk cz pk out 0=3 1=0.45 2=50 3=30 4=0.5""", "x=3,5,4 i=3,64,48", "t432 r16 t324 r12")
case("yolo", """Convolution c 1 1 x c 0=16 1=3 3=2 4=1 5=1 6=432 9=2 -23310=1,0.1
Split s 1 2 c c0 c1
Convolution a 1 1 c0 a 0=16 1=1 5=1 6=256
Interp u 1 1 c1 u 0=1 1=2.0 2=2.0
Split t 1 2 u u0 u1
Convolution b 1 1 u0 b 0=16 1=1 5=1 6=256
Noop n 1 1 u1 unread
Yolov3DetectionOutput o 2 1 a b out 0=3 1=2 2=0.6 3=0.35 -23304=8,10.0,13.0,16.0,30.0,33.0,23.0,30.0,61.0 -23305=4,1077936128,1073741824,1065353216,0 -23306=2,32.0,16.0""",
     "x=3,8,6", "t432 r16 t256 r16 t256 r16")
case("nanodet", """Convolution c 1 1 x c 0=4 1=3 3=2 4=1 5=1 6=108 9=2 -23310=1,0.1
Interp u 1 1 c u 0=2 1=2.0 2=2.0
ConvolutionDepthWise d 1 1 u d 0=4 1=3 4=1 5=1 6=36 7=4
Convolution e 1 1 d e 0=7 1=1 5=1 6=28
Slice s 1 2 e s0 s1 -23300=2,3,-233
Sigmoid g 1 1 s0 g
Reshape a 1 1 g a 0=-1 1=3
Permute b 1 1 a cls 0=1
Reshape f 1 1 s1 f 0=-1 1=4
Permute h 1 1 f dis 0=1""", "x=3,8,10", "t108 r4 t36 r4 t28 r7")
case("vision_transformer", """Convolution c 1 1 x c 0=8 1=4 3=4 5=1 6=384
Reshape r 1 1 c r 0=-1 1=8
Permute t 1 1 r t 0=1
MemoryData m 0 1 m 0=8 1=1
Concat k 2 1 m t k
MemoryData p 0 1 p 0=8 1=7
BinaryOp a 2 1 k p a 0=0
Split s 1 2 a a0 a1
LayerNorm n 1 1 a0 n 0=8 1=1e-6
MultiHeadAttention h 1 1 n h 0=8 1=2 2=64
BinaryOp b 2 1 h a1 b 0=0
Split u 1 2 b b0 b1
LayerNorm v 1 1 b0 v 0=8 1=1e-6
InnerProduct f 1 1 v f 0=16 1=1 2=128
GELU g 1 1 f g
InnerProduct i 1 1 g i 0=8 1=1 2=128
BinaryOp d 2 1 i b1 d 0=0
Crop e 1 1 d e -23309=1,0 -23310=1,1 -23311=1,0
InnerProduct o 1 1 e out 0=5 1=1 2=40""", "x=3,8,12",
     "t384 r8 r8 r56 r8 r8 t64 r8 t64 r8 t64 r8 t64 r8 r8 r8 t128 r16 t128 r8 t40 r5")
case("language_model", """Split s 1 2 x x0 x1
RMSNorm n 1 1 x0 n 0=8 1=1e-5
Split t 1 3 n n0 n1 n2
Gemm q 1 1 n0 q 3=1 5=1 6=1 8=8 9=8 10=-1
Gemm k 1 1 n1 k 3=1 5=1 6=1 8=4 9=8 10=-1
Gemm v 1 1 n2 v 3=1 5=1 6=1 8=4 9=8 10=-1
Reshape qr 1 1 q qr 0=4 1=2 2=5
Permute qp 1 1 qr qp 0=2
Reshape kr 1 1 k kr 0=4 1=1 2=5
Permute kp 1 1 kr kp 0=2
Reshape vr 1 1 v vr 0=4 1=1 2=5
Permute vp 1 1 vr vp 0=2
RotaryEmbed e 3 1 qp cos sin e
SDPA a 3 1 e kp vp a
Permute ap 1 1 a ap 0=2
Reshape ar 1 1 ap ar 0=8 1=5
Gemm o 1 1 ar o 3=1 5=1 6=1 8=8 9=8 10=-1
BinaryOp b 2 1 o x1 out 0=0""", "x=5,8 cos=5,2 sin=5,2", "r8 t64 t32 t32 t64")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "ncnn_cases.txt"), "w") as f:
        f.write(f"# Written by ncnn_reference.py with ncnn {ncnn.__version__}.\n")
        for name, layers, inputs, segments in CASES:
            result = run(layers, inputs, segments)
            if result is None:
                print("ncnn refuses", name)
                continue
            param, outputs = result
            if any(not np.all(np.isfinite(a)) for _, a in outputs):
                print("not finite:", name)
                continue
            f.write(f"case {name}\n{param}end\n")
            f.write("".join(f"in {i.replace('=', ' ')}\n" for i in inputs))
            f.write("".join(f"weights {s}\n" for s in segments))
            for blob, array in outputs:
                dims = ",".join(str(d) for d in array.shape)
                f.write(f"out {blob} {dims} {' '.join(f'{v:.7g}' for v in array.flatten())}\n")


main()
