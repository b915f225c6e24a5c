// SPDX-License-Identifier: Apache-2.0
// Partial loads and stores beside memory that nobody may touch, on every instruction set.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/first_lanes_test.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/first_lanes-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

int lanes() { return static_cast<int>(hn::Lanes(hn::ScalableTag<float>())); }

/// The first `n` of the lanes 1, 2, 3, ...
void store(float* to, std::int64_t n) {
  const hn::ScalableTag<float> d;
  store_first(d, hn::Iota(d, 1.0f), n, to);
}

void load(const float* from, std::int64_t n, float* all) {
  const hn::ScalableTag<float> d;
  hn::StoreU(load_first(d, from, n), d, all);
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/test_util.h"

namespace stowage {
namespace {

HWY_EXPORT(lanes);
HWY_EXPORT(store);
HWY_EXPORT(load);

/// A page between two that cannot be read or written.
class GuardedPage {
 public:
  GuardedPage() : bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* p = mmap(nullptr, 3 * bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    begin_ = static_cast<std::byte*>(p);
    mprotect(begin_ + bytes_, bytes_, PROT_READ | PROT_WRITE);
  }

  ~GuardedPage() {
    if (begin_ != nullptr) munmap(begin_, 3 * bytes_);
  }

  GuardedPage(const GuardedPage&) = delete;

  /// The last `n` floats of the page; null when there is no page.
  float* last(std::int64_t n) const {
    return begin_ == nullptr ? nullptr : reinterpret_cast<float*>(begin_ + 2 * bytes_) - n;
  }

 private:
  std::size_t bytes_;
  std::byte* begin_ = nullptr;
};

TEST(FirstLanes, NothingElseIsTouched) {
  const GuardedPage page;
  ASSERT_NE(page.last(0), nullptr);
  op_test::for_each_target([&] {
    const std::int64_t all = HWY_DYNAMIC_DISPATCH(lanes)();
    for (std::int64_t n = 0; n <= all; ++n) {
      SCOPED_TRACE(n);
      float* const at = page.last(n);
      at[-1] = -1;
      HWY_DYNAMIC_DISPATCH(store)(at, n);
      EXPECT_EQ(at[-1], -1);
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(at[i], static_cast<float>(i + 1));
      std::vector<float> got(static_cast<std::size_t>(all), -1.0f);
      HWY_DYNAMIC_DISPATCH(load)(at, n, got.data());
      for (std::int64_t i = 0; i < all; ++i) {
        EXPECT_EQ(got[static_cast<std::size_t>(i)], i < n ? static_cast<float>(i + 1) : 0.0f);
      }
    }
  });
}

}  // namespace
}  // namespace stowage
#endif
