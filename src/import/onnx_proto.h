// SPDX-License-Identifier: Apache-2.0
// The field numbers and enumerators of ONNX, from its generated messages.
#pragma once

#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#include <onnx/onnx_pb.h>
