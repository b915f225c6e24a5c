// SPDX-License-Identifier: Apache-2.0
// Completion, as the shells carry it out.
#include "cli/completion.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/text.h"
#include "cli/test_cli.h"

namespace stowage::cli {
namespace {

/// What a command of the shell prints, on either stream, and its exit status.
std::pair<std::string, int> shell(const std::string& command) {
  std::string out;
  std::FILE* pipe = ::popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  if (pipe == nullptr) return {"", -1};
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  return {out, ::pclose(pipe)};
}

bool is_installed(const std::string& program) { return shell("command -v " + program).second == 0; }

TEST(Completion, BashCompletesCommandsOptionsAndValues) {
  if (!is_installed("bash")) GTEST_SKIP() << "skipped: there is no bash";
  const TestFolder folder;
  const std::string script = folder.write("c", stowage({"--completion", "bash"}).out);

  struct {
    const char* words;   ///< of the line, the last one being completed
    const char* first;   ///< of the answers, sorted; empty: there is none, and files are offered
    const char* absent;  ///< no answer
  } const cases[] = {
      {"stowage ''", "--completion", "--share"},
      {"stowage be", "bench", "run"},
      {"stowage --ver", "--version", "run"},
      {"stowage run --im", "--image", "bench"},
      {"stowage run m.onnx --threads 2 --lab", "--labels", "--layers"},
      {"stowage bench m.onnx --run", "--runs", ""},
      {"stowage run m.onnx --device ''", "cpu", "opencl[:N]"},
      {"stowage run m.onnx --device o", "opencl", "cpu"},
      {"stowage run m.onnx --device = o", "opencl", "cpu"},
      {"stowage run m.onnx --device =", "cpu", ""},
      {"stowage plan m.onnx --planner s", "source", "rule"},
      {"stowage layout nChw1", "nChw16c", "NCHW"},
      {"stowage layout --sv", "--svg", "NCHW"},
      {"stowage layout NCHW --svg N", "", "NCHW"},
      {"stowage convert a.npy b.npy --from OIhw16", "OIhw16i16o", "NCHW"},
      {"stowage --completion z", "zsh", "bash"},
      {"stowage run m.on", "", "run"},
      {"stowage run --image pho", "", "--image"},
      {"stowage fly --im", "", "--image"},
  };

  for (const auto& c : cases) {
    const auto [out, status] =
        shell(text("bash --norc -c 'source ", script, "; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_",
                   "WORDS[@]} - 1)); _stowage; printf \"%s\\n\" \"${COMPREPLY[@]}\" | sort' _ \"",
                   c.words, "\""));
    SCOPED_TRACE(text(c.words, ": ", out));
    EXPECT_EQ(status, 0);
    const std::string first = out.substr(0, out.find('\n'));
    EXPECT_EQ(first, c.first);
    if (*c.absent != '\0') EXPECT_EQ(("\n" + out).find(text("\n", c.absent, "\n")), out.npos);
  }
}

TEST(Completion, ShellsAcceptTheirScripts) {
  for (const char* name : {"bash", "zsh", "fish"}) {
    SCOPED_TRACE(name);
    const TestFolder folder;
    const Outcome outcome = stowage({"--completion", name});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const char* word : {"selftest", "resize-mode", "nChw16c", "fp16_fp32"}) {
      EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
    }
    if (!is_installed(name)) continue;
    const auto [out, status] = shell(text(name, " -n ", folder.write("c", outcome.out)));
    EXPECT_EQ(status, 0) << out;
    EXPECT_EQ(out, "");
  }
  const Outcome other = stowage({"--completion", "tcsh"});
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("choose bash, zsh or fish"), std::string::npos) << other.err;
}

TEST(Completion, LiesWhereShellsLook) {
  const TestFolder folder;
  ASSERT_EQ(stowage({"--share", folder.path("share")}).code, 0);
  EXPECT_EQ(folder.read("share/bash-completion/completions/stowage"),
            stowage({"--completion", "bash"}).out);
  EXPECT_EQ(folder.read("share/zsh/site-functions/_stowage"), stowage({"--completion", "zsh"}).out);
  EXPECT_EQ(folder.read("share/fish/vendor_completions.d/stowage.fish"),
            stowage({"--completion", "fish"}).out);
  EXPECT_EQ(stowage({"--share", folder.write("file", "")}).code, 3);
}

}  // namespace
}  // namespace stowage::cli
