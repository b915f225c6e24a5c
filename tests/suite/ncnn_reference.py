#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ncnn_cases.txt: small models of ncnn, one layer or a few each, with what ncnn computes.

    python3 -m venv v && v/bin/pip install ncnn numpy && v/bin/python tests/suite/ncnn_reference.py

Weights and inputs are fractions of small integers by a formula that the test repeats, so that the
file holds shapes and results alone. Weights are named by segments in the order of the .bin: tN is N
numbers behind a tag, rN is N without, pN likewise but positive, hN is N of 16 bits, kN is N of 16
bits that are the upper half of a float, bN is N indices of 256 numbers.
"""

import os
import struct
import tempfile

import ncnn
import numpy as np

import ncnn_reference_nets

CASES = []


def case(name, layers, inputs, weights=""):
    """`layers`: lines of a .param without Input; `inputs`: NAME=c,h,w ..."""
    CASES.append((name, [l.strip() for l in layers.strip().split("\n")], inputs.split(), weights.split()))


def one(name, layer, params, dims, weights="", outputs=1, inputs=1):
    """A case of one layer that reads x (y, z) and makes out (out1, ...)."""
    blobs = ["x", "y", "z", "u", "v"][:inputs]
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
        if kind == "k":
            bits = np.array(values, "<f4").view("<u4") >> 16
            out += struct.pack("<I", 0x01348B83) + bits.astype("<u2").tobytes() + bytes(-2 * n % 4)
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
        if words[0] != "Noop" or n_in == n_out:
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
one("deconv_group_wide", "DeconvolutionDepthWise", "0=2 1=4 3=2 4=1 6=128 7=2", "8,3,4", "t128")
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
one("attention_cache", "MultiHeadAttention", "0=8 1=2 2=64 7=1", "3,8 2,4,4 2,4,4", "t64 r8 t64 r8 t64 r8 t64 r8", 3, 3)
one("attention_cache_mask", "MultiHeadAttention", "0=8 1=2 2=64 5=1 7=1", "3,8 3,7 2,4,4 2,4,4",
    "t64 r8 t64 r8 t64 r8 t64 r8", 3, 4)
one("attention_cache_cross", "MultiHeadAttention", "0=8 1=2 2=48 3=4 4=5 7=1", "3,6 7,4 7,5 2,7,4 2,7,4",
    "t48 r8 t32 r8 t40 r8 t48 r6", 3, 5)
one("rotary", "RotaryEmbed", "0=0", "2,3,8 3,4 3,4", inputs=3)
one("rotary_pairs", "RotaryEmbed", "0=1", "2,3,8 3,4 3,4", inputs=3)
one("lstm", "LSTM", "0=3 1=60 2=0", "4,5", "t60 t12 t36")
one("lstm_reverse", "LSTM", "0=3 1=60 2=1", "4,5", "t60 t12 t36")
one("lstm_states", "LSTM", "0=3 1=60 2=0", "4,5 1,3 1,3", "t60 t12 t36", inputs=3, outputs=3)
one("lstm_both_states", "LSTM", "0=3 1=120 2=2", "4,5 2,3 2,3", "t120 t24 t72", inputs=3, outputs=3)
one("lstm_both", "LSTM", "0=3 1=120 2=2", "4,5", "t120 t24 t72")
one("lstm_half", "LSTM", "0=3 1=60 2=0", "4,5", "h60 h12 h36")
for k, way in enumerate(["", "_reverse", "_both"]):
    d = 2 if k == 2 else 1
    one(f"lstm_projection{way}", "LSTM", f"0=3 1={d * 100} 2={k} 3=5", "4,5", f"t{d * 100} t{d * 20} t{d * 60} t{d * 15}")
    one(f"lstm_projection{way}_states", "LSTM", f"0=3 1={d * 100} 2={k} 3=5", f"4,5 {d},3 {d},5",
        f"t{d * 100} t{d * 20} t{d * 60} t{d * 15}", inputs=3, outputs=3)
    one(f"gru{way}", "GRU", f"0=3 1={d * 45} 2={k}", "4,5", f"t{d * 45} t{d * 12} t{d * 27}")
    one(f"gru{way}_states", "GRU", f"0=3 1={d * 45} 2={k}", f"4,5 {d},3", f"t{d * 45} t{d * 12} t{d * 27}", 2, 2)
    one(f"gru{way}_wide", "GRU", f"0=37 1={d * 555} 2={k}", "4,5", f"t{d * 555} t{d * 148} t{d * 4107}")
    one(f"rnn{way}", "RNN", f"0=3 1={d * 15} 2={k}", "4,5", f"t{d * 15} t{d * 3} t{d * 9}")
    one(f"rnn{way}_states", "RNN", f"0=3 1={d * 15} 2={k}", f"4,5 {d},3", f"t{d * 15} t{d * 3} t{d * 9}", 2, 2)
one("lstm_gives_states", "LSTM", "0=3 1=60 2=0", "4,5", "t60 t12 t36", 3, 1)
one("lstm_takes_states", "LSTM", "0=3 1=60 2=1", "4,5 1,3 1,3", "t60 t12 t36", 1, 3)
one("gru_gives_states", "GRU", "0=3 1=90 2=2", "4,5", "t90 t24 t54", 2, 1)
one("rnn_takes_states", "RNN", "0=3 1=30 2=2", "4,5 2,3", "t30 t6 t18", 1, 2)
one("lstm_projection_wide", "LSTM", "0=70 1=820 2=0 3=41", "4,5", "t820 t164 t11480 t2870")

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
for k in [21, 27]:
    case(f"unary_{k}_near_zero", f"BinaryOp a 1 1 x a 0=2 1=1 2=0.0000005\nUnaryOp it 1 1 a out 0={k}", "x=3,4,5")
for k, name in [(10, "atan2"), (11, "ratan2"), (17, "remainder"), (18, "rremainder")]:
    one(f"binary_{name}", "BinaryOp", f"0={k}", "3,4,5 3,4,5", inputs=2)
    one(f"scalar_{name}", "BinaryOp", f"0={k} 1=1 2=0.3", "3,4,5")
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
case("noop_of_three", "ReLU a 1 1 x a\nAbsVal b 1 1 y b\nSigmoid c 1 1 z c\nNoop it 3 1 a b c out", "x=3,4 y=2,3,4 z=5")
one("flatten", "Flatten", "", "3,4,5")
one("reshape_1", "Reshape", "0=-1", "3,4,5")
one("reshape_2", "Reshape", "0=2 1=-1", "3,4,5")
one("reshape_3", "Reshape", "0=5 1=-1 2=2", "4,5,6")
one("reshape_keep", "Reshape", "0=0 1=-1", "3,4,5")
one("reshape_4", "Reshape", "0=2 1=3 11=2 2=-1", "4,5,6")
one("reshape_expression", "Reshape", '6="*(0w,2),-1"', "4,5,6")
one("reshape_expression_3", "Reshape", '6="0h,//(0w,3),*(0c,3)"', "4,5,6")
one("reshape_expression_0", "Reshape", '6="0,0,-1"', "4,5,6")
one("reshape_expression_4", "Reshape", '6="trunc(/(0w,2)),2,1,-1"', "4,5,6")
one("reshape_expression_other", "Reshape", '6="1w,1h,-1"', "4,5,6 2,3,10", inputs=2)
one("reshape_expression_vector", "Reshape", '6="-1"', "4,5,6")
one("reshape_expression_float", "Reshape", '6="round(*(0w,1.1)),ceil(*(0h,0.3)),-1"', "2,6,5")
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

for net in ncnn_reference_nets.NETS:
    case(*net)

# expressions and values that other files have:
one("crop_expression", "Crop", '19="1,//(0w,3)" 20="-1,0w" 21="1,2"', "4,5,6")
one("crop_expression_start", "Crop", '19="//(0c,2)" 20="0c" 21="0"', "4,5,6")
one("crop_expression_other", "Crop", '19="0,1" 20="1h,+(1w,1)" 21="-2,-1"', "4,5,6 2,3,4", inputs=2)
one("interp_expression", "Interp", '0=2 9="*(0w,2),+(0h,1)"', "3,4,5")
one("interp_expression_nearest", "Interp", '0=1 9="round(*(0w,1.5)),0h"', "3,4,5")
one("interp_expression_other", "Interp", '0=1 9="1w,1h"', "3,4,5 2,7,9", inputs=2)
one("interp_expression_one", "Interp", '0=2 9="*(0w,3)"', "4,5")
one("padding_channels", "Padding", "0=1 1=2 2=3 3=1 4=0 6=3", "3,4,5", "r3")
one("padding_channels_left", "Padding", "2=2 6=3", "3,4,5", "r3")
one("eltwise_empty_list", "Eltwise", "0=1 -23301=0", "3,4,5 3,4,5", inputs=2)

# weights, sizes and ties as ncnn has them:
one("conv_bfloat", "Convolution", "0=3 1=3 5=1 6=54", "2,5,6", "k54 r3")
one("inner_product_bfloat_odd", "InnerProduct", "0=3 1=1 2=15", "5", "k15 r3")
for mode, name in [(1, "nearest"), (2, "bilinear"), (3, "bicubic")]:
    for scale in ["1.05", "1.2", "1.7", "0.5", "3.3", "0.7"]:
        one(f"{name}_by_{scale.replace('.', '_')}", "Interp", f"0={mode} 1={scale} 2={scale}", "1,13,25")
        one(f"{name}_rows_by_{scale.replace('.', '_')}", "Interp", f"0={mode} 2={scale}", "2,49")
    one(f"{name}_copy_by_scale", "Interp", f"0={mode} 1=1.05 2=1.05", "2,9,10")
    one(f"{name}_one_axis", "Interp", f"0={mode} 1=1.7 2=1.05", "2,9,10")
    one(f"{name}_half_said", "Interp", f"0={mode} 1=1.7 2=1.7 4=7", "2,9,11")
    one(f"{name}_quotients", "Interp", f"0={mode} 3=91 4=49", "1,13,7")
    one(f"{name}_corners_by_scale", "Interp", f"0={mode} 1=1.7 2=1.3 6=1", "2,9,10")
for size in [2, 4]:
    one(f"lrn_{size}", "LRN", f"0=0 1={size} 2=0.7 3=0.6 4=2.0", "6,5,4")
    one(f"lrn_within_{size}", "LRN", f"0=1 1={size} 2=0.7 3=0.6 4=2.0", "6,5,4")
for dims, like in [("5,6", "4"), ("5,6", "1,2,3"), ("3,5,6", "4"), ("3,5,6", "2,3"), ("3,5,6", "2,2,2,3"),
                   ("3,4,5,6", "2,3"), ("3,4,5,6", "2,2,3"), ("3,4,5,6", "2,2,3,4"), ("6", "2,3,4")]:
    one(f"crop_of_{len(dims.split(','))}_like_{len(like.split(','))}", "Crop", "", f"{dims} {like}", inputs=2)
for name, gamma in [("LayerNorm", "r{0} r{0}"), ("RMSNorm", "r{0}")]:
    low = name.lower()
    for size in [5, 20, 60]:
        one(f"{low}_4d_{size}", name, f"0={size} 1=1e-3", "2,3,4,5", gamma.format(size))
        one(f"{low}_4d_{size}_plain", name, f"0={size} 2=0", "2,3,4,5")
    for size in [0, 7, 40]:
        one(f"{low}_3d_{size}_plain", name, f"0={size} 2=0", "2,4,5")
        one(f"{low}_4d_{size}_plain", name, f"0={size} 2=0", "2,3,4,5")
        one(f"{low}_2d_{size}_plain", name, f"0={size} 2=0", "4,5")
one("bias_rows", "Bias", "0=1", "4,5", "r1")
one("bias_rows_more", "Bias", "0=4", "4,5", "r4")
one("bias_vector", "Bias", "0=5", "5", "r5")
one("bias_4d", "Bias", "0=2", "2,3,4,5", "r2")
for k, name in enumerate(["sum", "asum", "sumsq", "mean", "max", "min", "prod", "l1", "l2"]):
    one(f"reduce_{name}_nothing", "Reduction", f"0={k} 1=0 5=1", "3,4,5")
    one(f"reduce_{name}_nothing_of_vector", "Reduction", f"0={k} 1=0 5=1", "5")
one("reduce_nothing_rows", "Reduction", "0=3 1=0 2=2.0 5=1", "4,5")
one("reduce_log_sum_exp_nothing", "Reduction", "0=10 1=0 5=1", "3,4,5")
one("reduce_all_with_axes", "Reduction", "0=3 1=1 -23303=1,1 5=1", "3,4,5")
for mode in [2, 3]:
    one(f"avg_same_stated_{mode}", "Pooling", f"0=1 1=4 2=2 3=1 5={mode}", "3,8,7")
    one(f"avg_same_stated_ends_{mode}", "Pooling", f"0=1 1=3 2=2 3=1 14=0 13=0 15=1 5={mode}", "3,8,7")
    one(f"avg_same_stated_include_{mode}", "Pooling", f"0=1 1=3 2=2 3=1 5={mode} 6=1", "3,8,7")
one("conv_dynamic_extra", "Convolution", "0=3 1=3 19=1", "2,5,6 3,2,3,3 3", inputs=3)
one("conv_dynamic_plain", "Convolution", "0=3 1=3 19=1", "2,5,6 3,2,3,3", inputs=2)
one("avg_adaptive_grow", "Pooling", "0=1 7=1 8=11 18=13", "2,5,8")
one("max_adaptive_grow", "Pooling", "0=0 7=1 8=11 18=13", "2,5,8")
one("avg_adaptive_uneven", "Pooling", "0=1 7=1 8=7 18=5", "3,23,17")
one("max_adaptive_uneven", "Pooling", "0=0 7=1 8=7 18=5", "3,23,17")
one("tile_4d", "Tile", "-23302=4,2,3,1,2", "2,2,3")
one("tile_rows", "Tile", "0=0 1=3", "2,5")
one("tile_long", "Tile", "0=0 1=50", "4")
one("conv_leaky_comma", "Convolution", "0=3 1=3 5=1 6=54 9=2 10=0.1,", "2,5,6", "t54 r3")
one("reduce_comma", "Reduction", "0=3 1=0 3=0, 5=1", "3,4,5")
one("slice_comma", "Slice", "0=-233,-233,", "6,2,3", outputs=2)
one("plus", "Power", "0=+2.0 1=+0.5 +2=1.0", "3,4,5")
for inter in [0, 1]:
    one(f"rotary_long_{inter}", "RotaryEmbed", f"0={inter}", "2,3,8 7,4 7,4", inputs=3)
one("rotary_full", "RotaryEmbed", "0=0", "2,3,8 3,8 3,8", inputs=3)
one("rotary_full_long", "RotaryEmbed", "0=0", "2,3,8 5,8 5,8", inputs=3)
one("rotary_wide_pairs", "RotaryEmbed", "0=1", "2,3,8 3,8 3,8", inputs=3)


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
