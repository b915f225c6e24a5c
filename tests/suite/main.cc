// SPDX-License-Identifier: Apache-2.0
// Every test, with two options beside those of GoogleTest:
//
//   --instruction_set=AVX2            dispatch to these kernels only
//   --rooms=convert,ops,-ops/device   only tests in src/convert and src/ops, but src/ops/device
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/kernels.h"

namespace stowage {
namespace {

std::optional<std::int64_t> instruction_set(std::string_view name) {
  for (const std::int64_t target : conversion::instruction_sets()) {
    if (name == hwy::TargetName(target)) return target;
  }
  return std::nullopt;
}

/// A test that walks all instruction sets leaves dispatch to the best of them; the next one does
/// not.
class OneInstructionSet : public testing::EmptyTestEventListener {
 public:
  explicit OneInstructionSet(std::int64_t target) : target_(target) {}

  void OnTestStart(const testing::TestInfo&) override { conversion::use_instruction_set(target_); }

 private:
  std::int64_t target_;
};

std::vector<std::string> split(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

/// A filter of the suites that lie in src/ROOM, found by the files that they are in; empty where
/// there are none.
std::string suites_of(const std::vector<std::string>& rooms) {
  std::string wanted, others;
  const auto& tests = *testing::UnitTest::GetInstance();
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *tests.GetTestSuite(i);
    for (const std::string& room : rooms) {
      const bool out = room.starts_with('-');
      const std::string_view file = suite.GetTestInfo(0)->file();
      if (file.find("src/" + room.substr(out ? 1 : 0) + "/") != std::string_view::npos) {
        (out ? others : wanted) += std::string(suite.name()) + ".*:";
      }
    }
  }
  return wanted.empty() ? wanted : wanted + "-" + others;
}

}  // namespace
}  // namespace stowage

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto value = [&] { return argument.substr(argument.find('=') + 1); };
    if (argument.starts_with("--instruction_set=")) {
      const auto target = stowage::instruction_set(value());
      if (!target) {
        std::printf("skipped: this processor or this build has no %s\n",
                    std::string(value()).c_str());
        return 0;
      }
      testing::UnitTest::GetInstance()->listeners().Append(new stowage::OneInstructionSet(*target));
    } else if (argument.starts_with("--rooms=")) {
      const std::string filter = stowage::suites_of(stowage::split(value()));
      if (filter.empty()) {
        std::printf("no test lies in %s\n", std::string(value()).c_str());
        return 1;
      }
      GTEST_FLAG_SET(filter, filter);
    } else {
      std::printf("'%s' is no option of the tests\n", argv[i]);
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
