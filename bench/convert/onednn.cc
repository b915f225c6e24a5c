// SPDX-License-Identifier: Apache-2.0
// oneDNN's reorder, for layouts that are one of its memory descriptors.
#include <algorithm>
#include <dnnl.hpp>
#include <memory>
#include <optional>

#include "bench/convert/contender.h"

// oneDNN's threads are OpenMP's, where it was built so.
extern "C" void omp_set_num_threads(int) __attribute__((weak));

namespace stowage::bench {
namespace {

std::optional<dnnl::memory::data_type> type_of(DType dtype) {
  using T = dnnl::memory::data_type;
  switch (dtype) {
    case DType::f32:
      return T::f32;
    case DType::f16:
      return T::f16;
    case DType::bf16:
      return T::bf16;
    case DType::u8:
      return T::u8;
    case DType::i8:
      return T::s8;
    case DType::i32:
      return T::s32;
    default:
      return std::nullopt;
  }
}

/// The descriptor of a mapping: outer digits as strides, contiguous inner digits as blocks.
std::optional<dnnl::memory::desc> descriptor(const Mapping& m, DType dtype) {
  const auto type = type_of(dtype);
  if (!type || m.shape().rank() == 0) return std::nullopt;
  dnnl_memory_desc_t d{};
  d.ndims = m.shape().rank();
  d.format_kind = dnnl_blocked;
  d.data_type = static_cast<dnnl_data_type_t>(*type);
  auto& blocking = d.format_desc.blocking;
  std::array<Digit, kMaxDigits> digits;
  std::size_t count = 0;
  for (const Digit& x : m.linear_digits()) digits[count++] = x;
  std::sort(digits.begin(), digits.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Digit& a, const Digit& b) {
              return a.stride > b.stride || (a.stride == b.stride && a.q > b.q);
            });
  std::array<std::int64_t, kMaxRank> top{};
  for (std::size_t i = 0; i < count; ++i)
    top[static_cast<std::size_t>(digits[i].dim)] =
        std::max(top[static_cast<std::size_t>(digits[i].dim)], digits[i].q);
  for (int i = 0; i < d.ndims; ++i) {
    d.dims[i] = m.shape()[i];
    d.padded_dims[i] = m.padded(i);
    blocking.strides[i] = m.cells();
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Digit& x = digits[i];
    if (x.q == top[static_cast<std::size_t>(x.dim)]) {
      blocking.strides[x.dim] = x.stride;
      if (blocking.inner_nblks > 0 && x.e > 1) return std::nullopt;
    } else if (x.e > 1) {
      blocking.inner_blks[blocking.inner_nblks] = x.e;
      blocking.inner_idxs[blocking.inner_nblks++] = x.dim;
    }
  }
  return dnnl::memory::desc(d);
}

}  // namespace

Move make_onednn(const Case& c, ThreadPool& pool) {
  if (omp_set_num_threads != nullptr) omp_set_num_threads(pool.threads());
  const auto from = descriptor(c.source(), c.src), to = descriptor(c.destination(), c.dst);
  if (!from || !to) return {};
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  static dnnl::stream stream(engine);
  try {
    auto a = std::make_shared<dnnl::memory>(*from, engine, nullptr);
    auto b = std::make_shared<dnnl::memory>(*to, engine, nullptr);
    auto reorder = std::make_shared<dnnl::reorder>(*a, *b);
    return [=](const void* src, void* dst) {
      a->set_data_handle(const_cast<void*>(src));
      b->set_data_handle(dst);
      reorder->execute(stream, *a, *b);
      stream.wait();
    };
  } catch (const dnnl::error&) {
    return {};
  }
}

}  // namespace stowage::bench
