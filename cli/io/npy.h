// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files, versions 1 to 3.
//
// bf16 has no NumPy dtype: it is written as '<u2', and read from '<u2' (or from the '|V2' of
// ml_dtypes) when the caller says so with `as`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/io/file.h"
#include "stowage/tensor.h"

namespace stowage::cli {

struct NpyHeader {
  std::string descr;  ///< "<f4"
  DType dtype = DType::f32;
  bool opaque = false;  ///< '|V2': two bytes without a meaning
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t data_offset = 0;
  std::int64_t data_bytes = 0;
};

/// Bytes that read_npy_header needs at most.
inline constexpr std::int64_t kNpyHeaderBytes = 1 << 16;

/// `head` is the start of a file of `file_bytes` bytes. Throws Error(bad_input) when it is no .npy
/// file or promises more than the file has, Error(unsupported) for a dtype that is no DType.
NpyHeader parse_npy_header(std::span<const std::byte> head, std::int64_t file_bytes);

/// The array, its axes named a, b, c, ...; in Fortran order the layout says so. Big-endian files
/// are swapped. `as` reads the scalars as another dtype of the same size.
Tensor read_npy(const std::string& path, std::optional<DType> as = std::nullopt);

/// Writes a C-order array of these extents; the caller commits.
void write_npy(OutputFile& file, DType dtype, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes);

/// The start of such a file, version 1.
std::string npy_header(DType dtype, std::span<const std::int64_t> shape);

}  // namespace stowage::cli
