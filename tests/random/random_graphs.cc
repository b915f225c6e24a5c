// SPDX-License-Identifier: Apache-2.0
// random_graphs [COUNT [FIRST_SEED]]: runs that many random graphs (100 from seed 0 on) against
// their references. Failures on stdout; progress on stderr when that is a terminal. Exit codes: 0
// all passed, 1 some failed, 2 usage.
// random_graphs --show SEED: the graph of a seed and its plan.
#include "tests/suite/random_graphs.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace {

bool parse(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

int usage() {
  std::fputs("usage: random_graphs [COUNT [FIRST_SEED]]\n       random_graphs --show SEED\n",
             stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace stowage::random_graphs;
  if (argc == 3 && std::strcmp(argv[1], "--show") == 0) {
    std::uint64_t seed = 0;
    if (!parse(argv[2], seed)) return usage();
    std::fputs(describe(make_case(seed)).c_str(), stdout);
    return 0;
  }
  std::uint64_t count = 100, first = 0;
  if (argc > 3 || (argc > 1 && !parse(argv[1], count)) || (argc > 2 && !parse(argv[2], first))) {
    return usage();
  }
  const bool terminal = isatty(2) != 0;
  std::uint64_t failed = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string why = run_seed(first + i);
    if (!why.empty()) {
      ++failed;
      std::printf("%s\n", why.c_str());
      std::fflush(stdout);
    }
    if (terminal && (i + 1) % 50 == 0) {
      std::fprintf(stderr, "\r%llu of %llu, %llu failed ", static_cast<unsigned long long>(i + 1),
                   static_cast<unsigned long long>(count), static_cast<unsigned long long>(failed));
    }
  }
  if (terminal) std::fputs("\n", stderr);
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(count - failed),
              static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}
