// SPDX-License-Identifier: Apache-2.0
// What every function of the C interface begins and ends with: no exception leaves it, pointers are
// checked, structures are read by their size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "stowage/error.h"
#include "stowage/stowage_c.h"

namespace stowage::c {

/// Keeps the exception that is being handled as the thread's last error; its status.
stowage_status failed() noexcept;

/// The only place where exceptions become statuses.
template <class F>
stowage_status guarded(F&& f) noexcept {
  try {
    f();
    return STOWAGE_OK;
  } catch (...) {
    return failed();
  }
}

[[noreturn]] void fail_null(std::string_view what);
[[noreturn]] void fail_size(std::string_view what, std::size_t size);
[[noreturn]] void fail_unknown_fields(std::string_view what);

/// What a pointer that must not be null points to.
template <class T>
T& given(T* pointer, std::string_view what) {
  if (pointer == nullptr) fail_null(what);
  return *pointer;
}

/// A text for stowage_free_text.
char* copy_text(std::string_view text);

/// Throws Error(usage) where there is no number `index` among `count` of them.
void expect_index(std::size_t index, std::size_t count, std::string_view what);

/// Bytes of the first version of a structure, which every caller has.
template <class T>
extern const std::size_t kFirstBytes;
template <>
inline constexpr std::size_t kFirstBytes<stowage_view> = offsetof(stowage_view, row_pitch) + 8;
template <>
inline constexpr std::size_t kFirstBytes<stowage_scalar_map> = offsetof(stowage_scalar_map, axis) +
                                                               sizeof(char*);
template <>
inline constexpr std::size_t kFirstBytes<stowage_model_input> =
    offsetof(stowage_model_input, symbols) + STOWAGE_MAX_RANK * sizeof(char*);
template <>
inline constexpr std::size_t kFirstBytes<stowage_step> = offsetof(stowage_step, kernel) +
                                                         sizeof(char*);
template <>
inline constexpr std::size_t kFirstBytes<stowage_port> = offsetof(stowage_port, data_format) + 4;
template <>
inline constexpr std::size_t kFirstBytes<stowage_port_format> = offsetof(stowage_port_format,
                                                                         copied_bytes) +
                                                                sizeof(std::size_t);
template <>
inline constexpr std::size_t kFirstBytes<stowage_mapping_info> = offsetof(stowage_mapping_info,
                                                                          gap_cells) +
                                                                 8;
template <>
inline constexpr std::size_t kFirstBytes<stowage_place> = offsetof(stowage_place, lane) + 8;

/// More is no structure, but a size that nobody set.
inline constexpr std::size_t kMostStructBytes = 4096;

template <class T>
void expect_size(const T& value, std::string_view what) {
  if (value.size < kFirstBytes<T> || value.size > kMostStructBytes) fail_size(what, value.size);
}

/// A structure of any version as this one; fields that the caller's does not have are zero.
template <class T>
T read(const T* pointer, std::string_view what) {
  const T& from = given(pointer, what);
  expect_size(from, what);
  const auto* bytes = reinterpret_cast<const unsigned char*>(pointer);
  const auto set = [](unsigned char byte) { return byte != 0; };
  if (from.size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + from.size, set)) {
    fail_unknown_fields(what);
  }
  T out{};
  std::memcpy(&out, pointer, std::min(from.size, sizeof(T)));
  return out;
}

/// Fills as much of a structure as the caller's version of it has, and what is beyond with zeros.
template <class T>
void write(T* pointer, T value, std::string_view what) {
  const std::size_t size = given(pointer, what).size;
  expect_size(*pointer, what);
  value.size = size;
  std::memcpy(static_cast<void*>(pointer), &value, std::min(size, sizeof(T)));
  if (size > sizeof(T)) {
    std::memset(reinterpret_cast<unsigned char*>(pointer) + sizeof(T), 0, size - sizeof(T));
  }
}

}  // namespace stowage::c
