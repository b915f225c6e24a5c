// SPDX-License-Identifier: Apache-2.0
// Eigen's transposition of matrices, one for each of a batch.
#include <Eigen/Core>

#include "bench/convert/permutation.h"

namespace stowage::bench {
namespace {

template <class T>
Move move_of(const Transposition& t) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return [t](const void* from, void* to) {
    const auto rows = static_cast<Eigen::Index>(t.rows),
               columns = static_cast<Eigen::Index>(t.columns);
    for (std::size_t i = 0; i < t.batch; ++i) {
      const std::size_t at = i * t.rows * t.columns;
      const Eigen::Map<const Matrix> src(static_cast<const T*>(from) + at, rows, columns);
      Eigen::Map<Matrix>(static_cast<T*>(to) + at, columns, rows) = src.transpose();
    }
  };
}

}  // namespace

Move make_eigen(const Case& c, ThreadPool& pool) {
  const auto t = transposition_of(c);
  if (!t || pool.threads() != 1) return {};
  switch (dtype_bytes(c.src)) {
    case 1:
      return move_of<std::uint8_t>(*t);
    case 2:
      return move_of<std::uint16_t>(*t);
    case 4:
      return move_of<float>(*t);
    default:
      return move_of<double>(*t);
  }
}

}  // namespace stowage::bench
