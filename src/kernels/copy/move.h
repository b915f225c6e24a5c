// SPDX-License-Identifier: Apache-2.0
// Moves on a device: every element of the result is an element of an input, or a constant.
#pragma once

#include <vector>

#include "kernels/launch.h"

namespace stowage {

/// Where the element of a result with coordinates i comes from.
struct MoveParams {
  struct Term {
    int axis = 0;               ///< of the result
    std::int64_t q = 1, m = 0;  ///< the digit i[axis] / q mod m; m = 0: no modulus
    std::int64_t factor = 1;    ///< times this

    void fields(Archive& a) { a("axis", axis)("q", q)("m", m)("factor", factor); }
  };

  /// A coordinate of the input: begin and the sum of its terms, or the entry of a table there.
  struct Coordinate {
    std::int64_t begin = 0;
    std::vector<Term> terms;
    std::vector<std::int64_t> table;

    void fields(Archive& a) { a("begin", begin)("terms", terms)("table", table); }
  };

  /// What a coordinate outside of the input stands for.
  enum class Outside {
    never,    ///< there is none
    fill,     ///< a constant
    edge,     ///< the nearest inside
    reflect,  ///< its mirror image, less than an extent away; the edge is not repeated
  };

  std::vector<Coordinate> input;  ///< one an axis of input 0
  Outside outside = Outside::never;
  float fill = 0;

  void fields(Archive& a) { a("input", input)("outside", outside)("fill", fill); }
};

void launch_move(const MoveParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kMove = device_kernel_def<MoveParams, launch_move>("cl_move");

/// Inputs behind each other along an axis.
struct JoinParams {
  int axis = 0;
  int inputs = 1;  ///< the first

  void fields(Archive& a) { a("axis", axis)("inputs", inputs); }
};

/// For OpDef::device_kernels.
inline constexpr const KernelDef* kMoveKernels[] = {&kMove};

void launch_join(const JoinParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kJoin = device_kernel_def<JoinParams, launch_join>("cl_concat");

/// The opposite.
struct CutParams {
  int axis = 0;
  std::vector<int> outputs;  ///< that somebody wants
  std::vector<std::int64_t> begins;

  void fields(Archive& a) { a("axis", axis)("outputs", outputs)("begins", begins); }
};

void launch_cut(const CutParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kCut = device_kernel_def<CutParams, launch_cut>("cl_split");

}  // namespace stowage
