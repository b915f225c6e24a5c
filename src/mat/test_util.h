// SPDX-License-Identifier: Apache-2.0
// What tests of Mats share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "stowage/error.h"
#include "stowage/mat.h"

namespace stowage {

template <class F>
void expect_error(ErrorCode code, const std::string& part, F&& f) {
  try {
    f();
    ADD_FAILURE() << "no error: " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(e.sentence().find(part), std::string::npos) << e.what();
  }
}

/// 0, 1, 2, ... in the order of w, h, d, c, n; gaps hold -1.
inline Mat counted(const MatShape& shape) {
  Mat m(shape);
  float next = 0;
  const MatShape s = m;
  auto* const cells = static_cast<float*>(m.data);
  std::fill_n(cells, m.bytes() / 4, -1.0f);
  const auto lanes = std::size_t(s.elempack);
  for (int n = 0; n < s.n; ++n) {
    for (int c = 0; c < s.c; ++c) {
      for (std::size_t i = 0; i < s.plane() * lanes; ++i) {
        cells[(s.nstep * std::size_t(n) + s.cstep * std::size_t(c)) * lanes + i] = next++;
      }
    }
  }
  return m;
}

}  // namespace stowage
