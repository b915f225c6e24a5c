// SPDX-License-Identifier: Apache-2.0
#include "cli/io/file.h"

#include "cli/test_files.h"

namespace stowage::cli {
namespace {

TEST(InputFile, RefusesWhatIsNoFile) {
  const TestFolder folder;
  expect_error([&] { InputFile f(folder.path("none")); }, ErrorCode::bad_input, "No such file");
  expect_error([&] { InputFile f(folder.root()); }, ErrorCode::bad_input, "directory");
  expect_error([&] { InputFile f(""); }, ErrorCode::bad_input, "empty");
  expect_error([&] { InputFile f("/dev/null"); }, ErrorCode::bad_input, "not a regular file");
}

TEST(InputFile, ReadsNoFurtherThanTheEnd) {
  const TestFolder folder;
  const InputFile file(folder.write("f", "abcdef"));
  std::vector<std::byte> into(4);
  file.read(2, into);
  EXPECT_EQ(into[0], std::byte{'c'});
  expect_error([&] { file.read(3, into); }, ErrorCode::bad_input, "cut short");
  expect_error([&] { read_file(file.path(), 5); }, ErrorCode::limit, "at most 5");
}

TEST(OutputFile, AppearsOnlyWhenCommitted) {
  const TestFolder folder;
  folder.write("f", "old");
  {
    OutputFile file(folder.path("f"));
    file.write("new text");
    EXPECT_EQ(folder.read("f"), "old");
  }
  EXPECT_EQ(folder.read("f"), "old");
  EXPECT_EQ(folder.list().size(), 1u);
  OutputFile file(folder.path("f"));
  file.write("new text");
  file.commit();
  EXPECT_EQ(folder.read("f"), "new text");
  EXPECT_EQ(folder.list().size(), 1u);
}

TEST(OutputFile, ReplacesWhatALinkNames) {
  const TestFolder folder;
  folder.write("f", "old");
  std::filesystem::create_symlink("f", folder.path("link"));
  OutputFile file(folder.path("link"));
  file.write("new");
  file.commit();
  EXPECT_EQ(folder.read("f"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path("link")));
}

TEST(OutputFile, RefusesEarly) {
  const TestFolder folder;
  expect_error([&] { OutputFile f(folder.path("no/such/place")); }, ErrorCode::bad_input,
               "cannot write");
  expect_error([&] { OutputFile f(folder.root()); }, ErrorCode::bad_input, "directory");
  expect_error([&] { OutputFile f(""); }, ErrorCode::bad_input, "empty");
  OutputFile nowhere("/dev/null");
  nowhere.write("into the void");
  nowhere.commit();
}

TEST(SafeFileName, NeverLeavesTheFolder) {
  const std::pair<std::string, std::string> cases[] = {
      {"prob", "prob"},
      {"a/b:0", "a_b_0"},
      {"../../etc/passwd", "_._.._etc_passwd"},
      {"", "output"},
      {".", "_"},
      {"..", "_."},
      {"a\nb\\c", "a_b_c"},
      {"x.1-y_Z", "x.1-y_Z"},
      {"\xc3\xa4", "__"},
  };
  for (const auto& [name, safe] : cases) {
    EXPECT_EQ(safe_file_name(name), safe) << name;
  }
  EXPECT_LE(safe_file_name(std::string(5000, 'a')).size(), 255u - 40u);
}

TEST(SafeFileName, NamesOfOutputsDiffer) {
  const std::vector<std::string> names = {"a/b", "a:b", "A_b", "a_b_2"};
  EXPECT_EQ(safe_file_names(names), (std::vector<std::string>{"a_b", "a_b_2", "A_b_3", "a_b_2_2"}));
}

TEST(ExtensionOf, IsLowerCase) {
  EXPECT_EQ(extension_of("a/b.PNG"), "png");
  EXPECT_EQ(extension_of("a.d/b"), "");
  EXPECT_EQ(extension_of("b"), "");
}

}  // namespace
}  // namespace stowage::cli
