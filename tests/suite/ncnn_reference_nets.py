# SPDX-License-Identifier: Apache-2.0
"""The mixes of layers of ncnn's benchmarks, small, for ncnn_reference.py."""

NETS = []


def case(*args):
    NETS.append(args)


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
case("attention_of_pictures", """Convolution q 1 1 x q 0=16 1=1 5=1 6=96
Split s 1 2 q q0 q1
Reshape v 1 1 q0 v 0=-1 1=8 2=2
Slice l 1 3 v a b c -23300=3,2,2,4 1=1
Split t 1 2 c c0 c1
Permute p 1 1 a p 0=1
MatMul m 2 1 p b m
BinaryOp n 1 1 m n 0=2 1=1 2=0.5
Softmax o 1 1 n o 0=2 1=1
MatMul u 2 1 c0 o u 0=1
Split w 1 2 q1 w0 w1
Reshape y 2 1 u w0 y 6="1w,1h,8"
Reshape z 2 1 c1 w1 z 6="1w,1h,8"
ConvolutionDepthWise d 1 1 z d 0=8 1=3 4=1 5=1 6=72 7=8
BinaryOp it 2 1 y d out 0=0""", "x=6,4,5", "t96 r16 t72 r8")
case("area_attention", """Convolution c 1 1 x c 0=16 1=1 5=1 6=96
Reshape f 1 1 c f 0=-1 1=16
Permute t 1 1 f t 0=1
Convolution d 1 1 y d 0=8 1=1 5=1 6=48
Split s 1 2 d d0 d1
Reshape g 1 1 d0 g 0=-1 1=8
Permute h 1 1 g h 0=1
Reshape i 1 1 t i 0=16 1=-1 2=2
Reshape j 1 1 h j 0=8 1=-1 2=2
Slice k 1 2 i k0 k1 -23300=2,8,8 1=2
Permute l 1 1 k0 l 0=1
Reshape m 1 1 l m 0=-1 1=4 11=2 2=2
Permute n 1 1 k1 n 0=1
Reshape o 1 1 n o 0=-1 1=4 11=2 2=2
Permute p 1 1 j p 0=1
Reshape q 1 1 p q 0=-1 1=4 11=2 2=2
Permute r 1 1 m r 0=1
MatMul u 2 1 r o u
BinaryOp v 1 1 u v 0=2 1=1 2=0.5
Split w 1 2 v w0 w1
Reduction a 1 1 w0 a 0=4 1=0 -23303=1,-1 4=1 5=1
BinaryOp b 2 1 w1 a b 0=1
UnaryOp e 1 1 b e 0=7
Split z 1 2 e e0 e1
Reduction aa 1 1 e0 aa 0=0 1=0 -23303=1,-1 4=1 5=1
BinaryOp ab 2 1 e1 aa ab 0=3
MatMul ac 2 1 q ab ac 0=1
Permute ad 1 1 ac ad 0=4
Reshape ae 2 1 ad d1 ae 6="8,1w,1h"
Permute it 1 1 ae out 0=4""", "x=6,4,5 y=6,4,5", "t96 r16 t48 r8")
