// SPDX-License-Identifier: Apache-2.0
// Man pages: complete, and such that man prints them.
#include "cli/manual.h"

#include <algorithm>
#include <cstdlib>
#include <regex>

#include "base/text.h"
#include "cli/test_cli.h"
#include "stowage/version.h"

namespace stowage::cli {
namespace {

/// A page as it is read: without fonts and escapes.
std::string plain(std::string page) {
  page = std::regex_replace(page, std::regex(R"(\\f[BIR]|\\&)"), "");
  page = std::regex_replace(page, std::regex(R"(\\-)"), "-");
  return std::regex_replace(page, std::regex(R"(\\\(aq)"), "'");
}

TEST(Manual, APageForEachCommandWithAllOptions) {
  const TestFolder folder;
  ASSERT_EQ(stowage({"--share", folder.root()}).code, 0);
  const TestFolder& pages = folder;
  const std::string whole = plain(pages.read("man/man1/stowage.1"));
  int commands = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path("man/man1"))) {
    const std::string name = entry.path().stem().string();
    const std::string page = plain(pages.read("man/man1/" + name + ".1"));
    SCOPED_TRACE(name);
    EXPECT_NE(page.find(text("\"Stowage ", STOWAGE_VERSION, "\"")), std::string::npos);
    for (const char* part : {".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH EXIT STATUS"}) {
      EXPECT_NE(page.find(part), std::string::npos) << part;
    }
    std::vector<std::string> words = {"--help"};
    if (name != "stowage") {
      ++commands;
      EXPECT_NE(whole.find(name + "(1)"), std::string::npos);
      words.insert(words.begin(), name.substr(name.find('-') + 1));
    }
    const std::string help = stowage(words).out;
    const std::regex option("(^|[ ,])(--[a-z][a-z-]+)");
    int options = 0;
    for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at) {
      EXPECT_NE(page.find((*at)[2]), std::string::npos) << (*at)[2];
      ++options;
    }
    EXPECT_GT(options, 1);
  }
  EXPECT_GE(commands, 10);
}

TEST(Manual, PagesFormatWithoutWarnings) {
  const TestFolder folder;
  ASSERT_EQ(stowage({"--share", folder.root()}).code, 0);
  const char* const checkers[] = {"groff -man -ww -Tutf8 -z", "mandoc -Tlint -W warning"};
  int tried = 0;
  for (const std::string checker : checkers) {
    const std::string program = checker.substr(0, checker.find(' '));
    if (std::system(("command -v " + program + " >/dev/null").c_str()) != 0) continue;
    ++tried;
    // The pages have no date: that of a build would make each build another.
    const std::string command = text(checker, " ", folder.path("man/man1"),
                                     "/*.1 2>&1 | grep -v 'missing date' >", folder.path("said"));
    EXPECT_NE(std::system(command.c_str()), -1);
    EXPECT_EQ(folder.read("said"), "");
  }
  if (tried == 0) GTEST_SKIP() << "skipped: neither groff nor mandoc is installed";
}

}  // namespace
}  // namespace stowage::cli
