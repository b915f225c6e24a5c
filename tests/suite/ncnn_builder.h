// SPDX-License-Identifier: Apache-2.0
// Files of ncnn for tests: a .param is its text; this makes the .bin. Numbers follow the formula of
// ncnn_reference.py.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/scalar.h"
#include "graph/graph.h"
#include "stowage/model.h"

namespace stowage {

class NcnnBin {
 public:
  std::string bytes;

  /// "t108", "r4", ...: see ncnn_reference.py.
  NcnnBin& segment(const std::string& s) {
    const int n = std::stoi(s.substr(1));
    switch (s[0]) {
      case 'b':
        word(1);
        floats(numbers(256, false));
        for (int i = 0; i < n; ++i) bytes += static_cast<char>((i * 29 + 3) % 256);
        break;
      case 'h':
        word(0x01306B47);
        for (const float v : numbers(n, false)) {
          const std::uint16_t half = f32_to_f16(v);
          append(&half, 2);
        }
        break;
      case 'k':
        word(0x01348B83);
        for (const float v : numbers(n, false)) {
          const auto upper = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16);
          append(&upper, 2);
        }
        break;
      case 't':
        word(0);
        [[fallthrough]];
      default:
        floats(numbers(n, s[0] == 'p'));
    }
    while (bytes.size() % 4 != 0) bytes += '\0';
    return *this;
  }

  NcnnBin& word(std::uint32_t v) {
    append(&v, 4);
    return *this;
  }

  NcnnBin& floats(const std::vector<float>& values) {
    append(values.data(), values.size() * sizeof(float));
    return *this;
  }

 private:
  void append(const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  }

  std::vector<float> numbers(int n, bool positive) {
    std::vector<float> out;
    for (int i = 0; i < n; ++i) {
      const float v = static_cast<float>(((next_ + i) * 3701 + 11) % 10007 - 5000) / 8192;
      out.push_back(positive ? std::fabs(v) + 0.25f : v);
    }
    next_ += n;
    return out;
  }

  int next_ = 0;
};

/// The elements of input `i` of a case.
inline void fill_ncnn_input(Tensor& t, int i) {
  int k = 0;
  for (float& x : t.as<float>())
    x = static_cast<float>((k++ * 5303 + 7 + 131 * i) % 9973 - 4800) / 4096;
}

inline std::span<const std::byte> as_file(const std::string& bytes) {
  return std::as_bytes(std::span(bytes.data(), bytes.size()));
}

/// "7767517", the counts, and the lines of the layers.
inline std::string ncnn_param(const std::vector<std::string>& layers, int blobs = 20) {
  std::string out =
      "7767517\n" + std::to_string(layers.size()) + " " + std::to_string(blobs) + "\n";
  for (const std::string& layer : layers) out += layer + "\n";
  return out;
}

}  // namespace stowage
