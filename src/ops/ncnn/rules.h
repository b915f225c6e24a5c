// SPDX-License-Identifier: Apache-2.0
// Import rules of ncnn's layers. The names stand in the records of the operators; the rules stand
// here, for a layer of ncnn is seldom one operator, and several work on blobs of any dims.
#pragma once

#include "graph/import_rule.h"

namespace stowage::ncnn {

// conv.cc
void convolution(ImportNode& node);
void convolution_depth_wise(ImportNode& node);
void convolution_1d(ImportNode& node);
void convolution_depth_wise_1d(ImportNode& node);
void convolution_3d(ImportNode& node);
void convolution_depth_wise_3d(ImportNode& node);
void deconvolution(ImportNode& node);
void deconvolution_depth_wise(ImportNode& node);
void deconvolution_1d(ImportNode& node);
void deconvolution_depth_wise_1d(ImportNode& node);

// pool.cc
void pooling(ImportNode& node);
void pooling_1d(ImportNode& node);

// products.cc
void inner_product(ImportNode& node);
void gemm(ImportNode& node);
void matmul(ImportNode& node);
void embed(ImportNode& node);

// recurrent.cc
void lstm(ImportNode& node);
void gru(ImportNode& node);
void rnn(ImportNode& node);

// attention.cc
void multi_head_attention(ImportNode& node);
void sdpa(ImportNode& node);
void rotary_embed(ImportNode& node);

// arithmetic.cc
void binary_op(ImportNode& node);
void eltwise(ImportNode& node);
void unary_op(ImportNode& node);
void scale(ImportNode& node);
void bias(ImportNode& node);
void power(ImportNode& node);
void exp(ImportNode& node);
void log(ImportNode& node);

// activations.cc
void relu(ImportNode& node);
void prelu(ImportNode& node);
void clip(ImportNode& node);
void elu(ImportNode& node);
void celu(ImportNode& node);
void selu(ImportNode& node);
void gelu(ImportNode& node);
void hard_sigmoid(ImportNode& node);
void hard_swish_layer(ImportNode& node);
void shrink(ImportNode& node);
void threshold(ImportNode& node);
void dropout(ImportNode& node);
void glu(ImportNode& node);
void softmax(ImportNode& node);

// shapes.cc
void split(ImportNode& node);
void noop(ImportNode& node);
void reshape(ImportNode& node);
void flatten(ImportNode& node);
void squeeze(ImportNode& node);
void expand_dims(ImportNode& node);
void permute(ImportNode& node);
void shuffle_channel(ImportNode& node);
void memory_data(ImportNode& node);

// cuts.cc
void concat(ImportNode& node);
void slice(ImportNode& node);
void crop(ImportNode& node);
void flip(ImportNode& node);
void tile(ImportNode& node);
void padding(ImportNode& node);

// pictures.cc
void interp(ImportNode& node);
void pixel_shuffle(ImportNode& node);
void reorg(ImportNode& node);

// norms.cc
void batch_norm(ImportNode& node);
void instance_norm(ImportNode& node);
void group_norm(ImportNode& node);
void layer_norm(ImportNode& node);
void rms_norm(ImportNode& node);
void mvn(ImportNode& node);
void normalize(ImportNode& node);
void lrn(ImportNode& node);

// reductions.cc
void reduction(ImportNode& node);
void arg_max(ImportNode& node);
void cumulative_sum(ImportNode& node);

// detection.cc
void prior_box(ImportNode& node);
void detection_output(ImportNode& node);
void yolo_detection_output(ImportNode& node);
void yolov3_detection_output(ImportNode& node);

}  // namespace stowage::ncnn
