// SPDX-License-Identifier: Apache-2.0
// XNNPACK's channel shuffle, which is its transposition of two neighbouring groups of axes: the
// packaged version has no general one.
#include <pthreadpool.h>
#include <xnnpack.h>

#include <memory>

#include "bench/convert/permutation.h"

namespace stowage::bench {
Move make_xnnpack(const Case& c, ThreadPool& pool) {
  const auto t = transposition_of(c);
  const int bytes = dtype_bytes(c.src);
  if (!t || (bytes != 1 && bytes != 4) || xnn_initialize(nullptr) != xnn_status_success) return {};
  xnn_operator_t made = nullptr;
  const std::size_t row = t->rows * t->columns;
  const auto create =
      bytes == 1 ? xnn_create_channel_shuffle_nc_x8 : xnn_create_channel_shuffle_nc_x32;
  if (create(t->rows, t->columns, row, row, 0, &made) != xnn_status_success) return {};
  const std::shared_ptr<xnn_operator> op(made, xnn_delete_operator);
  static const std::unique_ptr<pthreadpool, void (*)(pthreadpool*)> threads(
      pthreadpool_create(static_cast<std::size_t>(pool.threads())), pthreadpool_destroy);
  return [op, bytes, batch = t->batch, threads = threads.get()](const void* src, void* dst) {
    const auto setup =
        bytes == 1 ? xnn_setup_channel_shuffle_nc_x8 : xnn_setup_channel_shuffle_nc_x32;
    setup(op.get(), batch, src, dst, threads);
    xnn_run_operator(op.get(), threads);
  };
}

}  // namespace stowage::bench
