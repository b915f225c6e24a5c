// SPDX-License-Identifier: Apache-2.0
#include "opencl/cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "opencl/test_folder.h"
#include "stowage/error.h"

namespace stowage {
namespace {

std::vector<std::byte> bytes_of(std::string_view s) {
  std::vector<std::byte> out;
  for (const char c : s) out.push_back(static_cast<std::byte>(c));
  return out;
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary) << content;
}

TEST(ProgramCache, ReadsWhatWasWritten) {
  const TestFolder folder;
  const ProgramCache cache(folder.path() + "/a/b");  // made with what is above it
  EXPECT_TRUE(cache.read("key").empty());
  cache.write("key", bytes_of("binary"));
  cache.write("key of another", bytes_of("more"));
  EXPECT_EQ(cache.read("key"), bytes_of("binary"));
  EXPECT_EQ(ProgramCache(folder.path() + "/a/b").read("key of another"), bytes_of("more"));
  EXPECT_TRUE(cache.read("ke").empty());
  cache.write("key", bytes_of("a longer binary"));
  EXPECT_EQ(cache.read("key"), bytes_of("a longer binary"));
}

TEST(ProgramCache, KeepsNothingWithoutAFolder) {
  const ProgramCache cache("");
  cache.write("key", bytes_of("binary"));
  EXPECT_TRUE(cache.read("key").empty());
}

TEST(ProgramCache, IgnoresEveryDamage) {
  const TestFolder folder;
  const ProgramCache cache(folder.path());
  cache.write("key", bytes_of("binary"));
  const std::string path = cache.path("key"), whole = file_text(path);
  ASSERT_FALSE(whole.empty());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_text(path, damaged);
    EXPECT_TRUE(cache.read("key").empty()) << "byte " << i;
    write_text(path, whole.substr(0, i));
    EXPECT_TRUE(cache.read("key").empty()) << i << " bytes";
  }
  write_text(path, whole + "x");
  EXPECT_TRUE(cache.read("key").empty());
  cache.write("key", bytes_of("binary"));
  EXPECT_EQ(cache.read("key"), bytes_of("binary"));
}

TEST(ProgramCache, AFileOfAnotherKeyIsNotTaken) {
  const TestFolder folder;
  const ProgramCache cache(folder.path());
  cache.write("one", bytes_of("binary"));
  std::filesystem::copy_file(cache.path("one"), cache.path("two"));
  EXPECT_TRUE(cache.read("two").empty());
}

TEST(ProgramCache, WritersDoNotMix) {
  const TestFolder folder;
  const ProgramCache cache(folder.path());
  std::vector<std::thread> writers;
  constexpr std::size_t kBytes = 300'000;
  for (const char c : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&, c] {
      for (int i = 0; i < 20; ++i) {
        cache.write("key", bytes_of(std::string(kBytes, c)));
        const std::vector<std::byte> found = cache.read("key");
        ASSERT_FALSE(found.empty());
        EXPECT_TRUE(found == std::vector<std::byte>(kBytes, found.at(0)));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  // Nothing is left of their parts.
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST(ProgramCache, AFolderThatCannotBeMadeIsAnError) {
  const TestFolder folder;
  const std::string file = folder.path() + "/file";
  write_text(file, "");
  for (const std::string& path : {file, file + "/below"}) {
    try {
      const ProgramCache cache(path);
      ADD_FAILURE() << path;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::bad_input);
      EXPECT_NE(e.sentence().find("'" + path + "'"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace stowage
