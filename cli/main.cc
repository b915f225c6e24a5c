// SPDX-License-Identifier: Apache-2.0
// The program `stowage`.
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "cli/cli.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // Writing past a limit of file sizes then fails as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return stowage::cli::run_cli(arguments, {std::cout, std::cerr, ::isatty(STDOUT_FILENO) == 1,
                                           ::isatty(STDERR_FILENO) == 1});
}
