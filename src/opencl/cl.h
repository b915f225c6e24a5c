// SPDX-License-Identifier: Apache-2.0
// OpenCL 1.2 and its C++ bindings, without a link to libOpenCL: each function that is used has a
// forwarder to what the loader found. The functions and the bindings bear other names than those
// of OpenCL, so that a program may link libOpenCL and have the bindings in any version as well. A
// function that is missing here is an unresolved name of libOpenCL when a program is linked.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/cl.h>

#include <cstddef>

// clang-format off
#define STOWAGE_CL_FUNCTIONS(X)                                                                    \
  X(clGetPlatformIDs) X(clGetPlatformInfo) X(clGetDeviceIDs) X(clGetDeviceInfo)                    \
  X(clRetainDevice) X(clReleaseDevice) X(clCreateContext) X(clRetainContext) X(clReleaseContext)   \
  X(clGetContextInfo) X(clCreateCommandQueue) X(clRetainCommandQueue) X(clReleaseCommandQueue)     \
  X(clCreateBuffer) X(clCreateSubBuffer) X(clCreateImage) X(clRetainMemObject)                     \
  X(clReleaseMemObject) X(clCreateProgramWithSource) X(clCreateProgramWithBinary)                  \
  X(clRetainProgram) X(clReleaseProgram) X(clBuildProgram) X(clGetProgramInfo)                     \
  X(clGetProgramBuildInfo) X(clCreateKernel) X(clRetainKernel) X(clReleaseKernel)                  \
  X(clSetKernelArg) X(clGetKernelWorkGroupInfo) X(clEnqueueNDRangeKernel) X(clEnqueueReadBuffer)   \
  X(clEnqueueWriteBuffer) X(clEnqueueReadImage) X(clEnqueueWriteImage) X(clFlush) X(clFinish)      \
  X(clEnqueueFillBuffer) X(clEnqueueFillImage) X(clEnqueueMapBuffer) X(clEnqueueMapImage)          \
  X(clEnqueueUnmapMemObject) X(clGetMemObjectInfo) X(clGetImageInfo) X(clWaitForEvents)            \
  X(clGetEventInfo) X(clGetEventProfilingInfo) X(clRetainEvent) X(clReleaseEvent)

// clang-format on

namespace stowage::cl_api {

// The enumerators and the names are those of OpenCL: the macros below are not defined yet.
enum Function : std::size_t {

#define STOWAGE_CL_ITEM(name) k_##name,
  STOWAGE_CL_FUNCTIONS(STOWAGE_CL_ITEM)
#undef STOWAGE_CL_ITEM
      kFunctions
};

inline constexpr const char* kNames[] = {
#define STOWAGE_CL_ITEM(name) #name,
    STOWAGE_CL_FUNCTIONS(STOWAGE_CL_ITEM)
#undef STOWAGE_CL_ITEM
};

/// Filled by load_opencl(), before anything else of OpenCL is called.
extern void* functions[kFunctions];

template <Function F, class Signature>
struct Forward;

template <Function F, class R, class... A>
struct Forward<F, R(A...)> {
  static R call(A... a) { return reinterpret_cast<R (*)(A...)>(functions[F])(a...); }
};

}  // namespace stowage::cl_api

#define STOWAGE_CL_ITEM(name)             \
  inline constexpr auto& stowage_##name = \
      stowage::cl_api::Forward<stowage::cl_api::k_##name, decltype(::name)>::call;
STOWAGE_CL_FUNCTIONS(STOWAGE_CL_ITEM)
#undef STOWAGE_CL_ITEM

#define clGetPlatformIDs stowage_clGetPlatformIDs
#define clGetPlatformInfo stowage_clGetPlatformInfo
#define clGetDeviceIDs stowage_clGetDeviceIDs
#define clGetDeviceInfo stowage_clGetDeviceInfo
#define clRetainDevice stowage_clRetainDevice
#define clReleaseDevice stowage_clReleaseDevice
#define clCreateContext stowage_clCreateContext
#define clRetainContext stowage_clRetainContext
#define clReleaseContext stowage_clReleaseContext
#define clGetContextInfo stowage_clGetContextInfo
#define clCreateCommandQueue stowage_clCreateCommandQueue
#define clRetainCommandQueue stowage_clRetainCommandQueue
#define clReleaseCommandQueue stowage_clReleaseCommandQueue
#define clCreateBuffer stowage_clCreateBuffer
#define clCreateSubBuffer stowage_clCreateSubBuffer
#define clCreateImage stowage_clCreateImage
#define clRetainMemObject stowage_clRetainMemObject
#define clReleaseMemObject stowage_clReleaseMemObject
#define clCreateProgramWithSource stowage_clCreateProgramWithSource
#define clCreateProgramWithBinary stowage_clCreateProgramWithBinary
#define clRetainProgram stowage_clRetainProgram
#define clReleaseProgram stowage_clReleaseProgram
#define clBuildProgram stowage_clBuildProgram
#define clGetProgramInfo stowage_clGetProgramInfo
#define clGetProgramBuildInfo stowage_clGetProgramBuildInfo
#define clCreateKernel stowage_clCreateKernel
#define clRetainKernel stowage_clRetainKernel
#define clReleaseKernel stowage_clReleaseKernel
#define clSetKernelArg stowage_clSetKernelArg
#define clGetKernelWorkGroupInfo stowage_clGetKernelWorkGroupInfo
#define clEnqueueNDRangeKernel stowage_clEnqueueNDRangeKernel
#define clEnqueueReadBuffer stowage_clEnqueueReadBuffer
#define clEnqueueWriteBuffer stowage_clEnqueueWriteBuffer
#define clEnqueueFillBuffer stowage_clEnqueueFillBuffer
#define clEnqueueFillImage stowage_clEnqueueFillImage
#define clEnqueueMapBuffer stowage_clEnqueueMapBuffer
#define clEnqueueMapImage stowage_clEnqueueMapImage
#define clEnqueueUnmapMemObject stowage_clEnqueueUnmapMemObject
#define clEnqueueReadImage stowage_clEnqueueReadImage
#define clEnqueueWriteImage stowage_clEnqueueWriteImage
#define clFlush stowage_clFlush
#define clFinish stowage_clFinish
#define clWaitForEvents stowage_clWaitForEvents
#define clGetMemObjectInfo stowage_clGetMemObjectInfo
#define clGetImageInfo stowage_clGetImageInfo
#define clGetEventInfo stowage_clGetEventInfo
#define clGetEventProfilingInfo stowage_clGetEventProfilingInfo
#define clRetainEvent stowage_clRetainEvent
#define clReleaseEvent stowage_clReleaseEvent

#define cl stowage_cl
#include <CL/opencl.hpp>
#undef cl

namespace stowage {
namespace cl = ::stowage_cl;
}
