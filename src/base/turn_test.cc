// SPDX-License-Identifier: Apache-2.0
#include "base/turn.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace stowage {
namespace {

TEST(Turn, LeavesACpuAndKeepsTheMask) {
  std::thread([] {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    for (int cpu : {current_cpu(), -1, 4096, 1 << 30}) leave_cpu(cpu);
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }).join();
}

TEST(Turn, StaysWhereThereIsNoOtherCpu) {
  std::thread([] {
    const int cpu = current_cpu();
    ASSERT_GE(cpu, 0);
    cpu_set_t one, after;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    leave_cpu(cpu);
    EXPECT_EQ(current_cpu(), cpu);
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&one, &after));
  }).join();
}

}  // namespace
}  // namespace stowage
