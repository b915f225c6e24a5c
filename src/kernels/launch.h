// SPDX-License-Identifier: Apache-2.0
// A kernel as a device runs it. It is data, made from the parameters of a row (KernelDef::launch)
// and the mappings of its operands on any machine, with a device or without.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "kernels/kernel.h"
#include "tensor/format.h"

namespace stowage {

/// Elements of a texel: of an image, and of a row of texels in a buffer, which is read as a float4.
inline constexpr std::int64_t kTexel = 4;

/// Texels that hold so many elements.
constexpr std::int64_t texels_of(std::int64_t elements) { return ceil_div(elements, kTexel); }

/// An operand where it lies.
struct LaunchView {
  Mapping mapping;
  DType dtype = DType::f32;  ///< of the stored elements
  Place::Memory memory = Place::Memory::buffer;
};

/// What a launch is made from. Absent operands have no elements and rank 0.
struct LaunchArgs {
  std::span<const LaunchView> in, out;
  /// Bytes of inputs that are constants in host memory, from which tables are computed; null for
  /// all others. Without any, such tables are empty.
  std::span<const std::byte* const> constants = {};
};

/// The arguments of the kernel are those of each operand (see accessors.h), then the tables, then
/// the scalars, then the number of items in three dimensions, an int4 whose last element is 0.
struct Launch {
  struct Operand {
    std::string name;  ///< in the source: "x" makes ARG_x, READ_x, ...
    int index = 0;     ///< of the inputs or the outputs
    bool output = false;

    friend bool operator==(const Operand&, const Operand&) = default;
  };

  /// Read-only numbers in a buffer of their own: `__global const int* NAME`.
  struct Table {
    std::string name;
    /// Empty where it is computed from constants and LaunchArgs has none.
    std::variant<std::vector<std::int32_t>, std::vector<float>> data;
    std::size_t bytes = 0;  ///< of `data`, known in either case

    friend bool operator==(const Table&, const Table&) = default;
  };

  std::string source;             ///< stem of the .cl file, which has one kernel of that name
  std::vector<Operand> operands;  ///< in the order of the arguments
  std::vector<Table> tables;
  /// `const int NAME`, or float.
  std::vector<std::pair<std::string, std::variant<std::int32_t, float>>> scalars;
  std::vector<std::pair<std::string, std::string>> defines;  ///< "NAME" or "NAME(a)", and the text
  std::array<std::int64_t, 3> items{1, 1, 1};  ///< rounded up to whole groups by who runs it
  std::array<int, 3> group{16, 4, 1};          ///< at most; a device may have room for less
  /// The source shares work within this group, or its defines name it: no other may be tried.
  bool fixed_group = false;

  /// Appends a table that no constant decides.
  template <class T>
  void table(std::string name, std::vector<T> data) {
    const std::size_t bytes = data.size() * sizeof(T);
    tables.push_back({std::move(name), std::move(data), bytes});
  }

  /// Appends an int, which `value` fits into.
  void scalar(std::string name, std::int64_t value) {
    scalars.emplace_back(std::move(name), static_cast<std::int32_t>(value));
  }

  friend bool operator==(const Launch&, const Launch&) = default;
};

namespace kernel_detail {

template <class P, auto Make>
Launch launch(const void* params, const LaunchArgs& args) {
  Launch launch;
  Make(*static_cast<const P*>(params), args, launch);
  return launch;
}

}  // namespace kernel_detail

/// A kernel of a device: `Make(params, LaunchArgs, Launch&)` fills its Launch.
template <class P, auto Make>
constexpr KernelDef device_kernel_def(std::string_view name,
                                      bool (*takes)(std::span<const Post>) = nullptr) {
  return {.name = name,
          .fields = kernel_detail::fields<P>,
          .make = kernel_detail::make<P>,
          .takes = takes,
          .launch = kernel_detail::launch<P, Make>};
}

/// Everything before the source itself: the common part, accessors of all operands, declarations of
/// tables, defines. Equal text and source make equal programs. `check_bounds`: accesses outside of
/// operands are counted, for which the kernel takes one more argument before the items,
/// `__global int* bounds_`: a BoundsRow for each operand (accessors.h).
std::string launch_preamble(const Launch& launch, const LaunchArgs& args,
                            bool check_bounds = false);

/// The copy of a value from one place or layout of a device to another: elements keep their
/// coordinates, tails become zero. Input 0 to output 0.
Launch conversion_launch(const LaunchArgs& args);

}  // namespace stowage
