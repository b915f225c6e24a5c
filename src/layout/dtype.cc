// SPDX-License-Identifier: Apache-2.0
// Scalar types: one row each.
#include <array>

#include "base/text.h"
#include "stowage/layout.h"

namespace stowage {

namespace {

struct Row {
  std::string_view name;
  int bytes;
};

// In the order of the enumerators.
constexpr std::array<Row, 13> kRows = {{{"f32", 4},
                                        {"f16", 2},
                                        {"bf16", 2},
                                        {"f64", 8},
                                        {"u8", 1},
                                        {"i8", 1},
                                        {"u16", 2},
                                        {"i16", 2},
                                        {"u32", 4},
                                        {"i32", 4},
                                        {"u64", 8},
                                        {"i64", 8},
                                        {"bool", 1}}};
static_assert(kRows.size() == static_cast<std::size_t>(DType::boolean) + 1);

const Row& row(DType dtype) noexcept { return kRows[static_cast<std::size_t>(dtype)]; }

}  // namespace

int dtype_bytes(DType dtype) noexcept { return row(dtype).bytes; }

std::string_view dtype_name(DType dtype) noexcept { return row(dtype).name; }

DType parse_dtype(std::string_view name) {
  std::string names;
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (kRows[i].name == name) return static_cast<DType>(i);
    if (i > 0) names += ", ";
    names += kRows[i].name;
  }
  fail(ErrorCode::usage, "'", name.substr(0, 40), "' is not a scalar type; there are ", names);
}

}  // namespace stowage
