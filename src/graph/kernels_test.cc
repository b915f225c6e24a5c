// SPDX-License-Identifier: Apache-2.0
// What every row of the kernel tables must hold.
#include <gtest/gtest.h>

#include <set>

#include "graph/op_def.h"
#include "stowage/error.h"

namespace stowage {
namespace {

TEST(Kernels, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const KernelDef* def : all_kernels()) {
    EXPECT_TRUE(names.insert(def->name).second) << def->name;
    EXPECT_EQ(find_kernel(def->name), def);
    EXPECT_TRUE(def->fields != nullptr && def->make != nullptr) << def->name;
    // Of the CPU, or of a device.
    EXPECT_EQ(def->bind != nullptr, def->launch == nullptr) << def->name;
    EXPECT_EQ(def->run != nullptr, def->launch == nullptr) << def->name;
    EXPECT_EQ(def->may_throw, def == &kReferenceKernel) << def->name;
  }
  EXPECT_GT(names.size(), 60u);
  EXPECT_EQ(find_kernel("no such kernel"), nullptr);
}

struct Numbers {
  std::int64_t a = 0, b = 0;

  void fields(Archive& archive) { archive("a", a)("b", b); }
};

void add(const Numbers& n, const KernelArgs& args) noexcept {
  args.output<std::int64_t>(0)[0] = n.a + n.b;
}

struct Sum {
  std::int64_t value = 0;
};

Sum sum_of(const Numbers& n, const BindArgs& args) {
  return {n.a + n.b + *args.constant<std::int64_t>(1)};
}

void store(const Sum& s, const KernelArgs& args) noexcept {
  args.output<std::int64_t>(0)[0] = s.value;
}

constexpr KernelDef kAdd = kernel_def<Numbers, add>("test_add");
constexpr KernelDef kBoundAdd = kernel_def<Numbers, sum_of, store>("test_bound_add");

std::int64_t result_of(const KernelCall& call, const BindArgs& args = {}) {
  std::int64_t y = -1;
  std::byte* out[] = {reinterpret_cast<std::byte*>(&y)};
  call.bind(args).run({{}, out});
  return y;
}

TEST(KernelCall, BindsAndRuns) {
  EXPECT_EQ(result_of({kAdd, Numbers{3, 4}}), 7);
  const std::int64_t ten = 10;
  const std::byte* constants[] = {nullptr, reinterpret_cast<const std::byte*>(&ten)};
  EXPECT_EQ(result_of({kBoundAdd, Numbers{3, 4}}, {constants}), 17);
}

TEST(KernelCall, IsComparedByKernelAndParameters) {
  const KernelCall call(kAdd, Numbers{3, 4}), same(kAdd, Numbers{3, 4});
  EXPECT_EQ(call, same);
  EXPECT_EQ(call, KernelCall(call));
  EXPECT_FALSE(call == KernelCall(kAdd, Numbers{3, 5}));
  EXPECT_FALSE(call == KernelCall(kBoundAdd, Numbers{3, 4}));
  EXPECT_EQ(call.text(), "test_add {a=3 b=4}");
  EXPECT_FALSE(KernelCall());
}

TEST(KernelCall, UnknownNamesAreRefused) {
  KernelCall call(kAdd, Numbers{3, 4});
  std::vector<std::byte> bytes;
  ByteWriter writer(bytes);
  writer("", call);
  ByteReader reader(bytes);
  EXPECT_THROW(reader("", call), Error);  // it is in no operator's record
}

/// Layouts, shapes and mappings are fields like numbers.
TEST(KernelCall, Mappings) {
  const Shape shape("nchw", {1, 6, 5, 7});
  for (const Mapping& mapping : {Mapping(Layout::parse("nChw4c"), shape, 4),
                                 Mapping(Layout::parse("image-channel"), shape, 2, 64),
                                 Mapping(Layout(), Shape(), 8), Mapping()}) {
    const auto bytes = bytes_of(mapping);
    Mapping read;
    ByteReader reader(bytes);
    reader("", read);
    EXPECT_TRUE(read.same_bytes(mapping));
    EXPECT_EQ(read.layout(), mapping.layout());
    EXPECT_EQ(read.shape(), mapping.shape());
    EXPECT_EQ(read.row_pitch(), mapping.row_pitch());
    EXPECT_EQ(bytes_of(read), bytes);
  }
}

}  // namespace
}  // namespace stowage
