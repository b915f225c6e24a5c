// SPDX-License-Identifier: Apache-2.0
#include "opencl/programs.h"

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "opencl/errors.h"

namespace stowage {

namespace {

constexpr const char* kOptions = "-cl-std=CL1.2 -cl-mad-enable";
constexpr int kLogLines = 6;
constexpr std::size_t kLogBytes = 1000;

/// The first lines that are not empty, in one.
std::string first_lines(std::string_view log) {
  std::string out;
  for (int lines = 0; lines < kLogLines && !log.empty() && out.size() < kLogBytes;) {
    const std::size_t end = std::min(log.find_first_of(std::string_view("\n\0", 2)), log.size());
    if (end > 0) {
      out.append(out.empty() ? "" : "; ").append(log.substr(0, std::min(end, kLogBytes)));
      ++lines;
    }
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return out.empty() ? "the compiler says nothing" : out;
}

}  // namespace

Programs::Programs(cl::Context context, cl::Device device, const std::string& identity,
                   const std::string& cache)
    : context_(std::move(context)),
      device_(std::move(device)),
      identity_(identity),
      cache_(cache) {}

cl::Program Programs::get(const std::string& text_of_it, const std::string& source) {
  const std::lock_guard lock(mutex_);
  if (const auto found = programs_.find(text_of_it); found != programs_.end()) return found->second;
  const std::string key = this->key(text_of_it);
  cl::Program program = read(key);
  if (program() != nullptr) {
    ++counts_.read;
  } else {
    program = compile(text_of_it, source);
    ++counts_.compiled;
    if (cache_.used()) {
      const auto binaries = cl_call([&] { return program.getInfo<CL_PROGRAM_BINARIES>(); });
      if (binaries.size() == 1) cache_.write(key, std::as_bytes(std::span(binaries[0])));
    }
  }
  programs_.emplace(text_of_it, program);
  return program;
}

std::string Programs::key(const std::string& text_of_it) const {
  return text(identity_, '\n', kOptions, '\n', text_of_it);
}

Programs::Counts Programs::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

cl::Program Programs::compile(const std::string& text_of_it, const std::string& source) const {
  try {
    cl::Program program(context_, text_of_it);
    program.build({device_}, kOptions);
    return program;
  } catch (const cl::BuildError& e) {
    if (e.err() != CL_BUILD_PROGRAM_FAILURE) fail_cl(e.what(), e.err());
    std::string log;
    for (const auto& [device, lines] : e.getBuildLog()) log += lines;
    fail(ErrorCode::device, "the driver does not build '", source, ".cl': ", first_lines(log));
  } catch (const cl::Error& e) {
    fail_cl(e.what(), e.err());
  }
}

cl::Program Programs::read(const std::string& key) const {
  const std::vector<std::byte> binary = cache_.read(key);
  if (binary.empty()) return {};
  const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  try {
    cl::Program program(context_, {device_}, cl::Program::Binaries{{bytes, bytes + binary.size()}});
    program.build({device_}, kOptions);
    return program;
  } catch (const cl::Error&) {
    return {};  // a driver may refuse what it has written: it is built from its text
  }
}

}  // namespace stowage
