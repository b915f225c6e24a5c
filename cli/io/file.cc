// SPDX-License-Identifier: Apache-2.0
#include "cli/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <set>

#include "base/text.h"

namespace stowage::cli {
namespace {

constexpr std::size_t kLongestName = 200;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::vector<std::byte> read_file(const std::string& path, std::int64_t limit) {
  const InputFile file(path);
  if (file.size() > limit) {
    fail(ErrorCode::limit, "'", path, "' has ", file.size(), " bytes; at most ", limit,
         " are read");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
  file.read(0, bytes);
  return bytes;
}

OutputFile::OutputFile(const std::string& path) : path_(path), target_(path) {
  if (path.empty()) fail(ErrorCode::bad_input, "the name of the output file is empty");

  struct stat info {};

  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) {
    fail(ErrorCode::bad_input, "cannot write '", path, "': it is a directory; give a file name");
  }
  if (exists && !S_ISREG(info.st_mode)) {
    fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) fail(ErrorCode::bad_input, "cannot write '", path, "': ", reason_of(errno));
    return;
  }
  if (exists) {
    if (::access(path.c_str(), W_OK) != 0) {
      fail(ErrorCode::bad_input, "cannot write '", path, "': ", reason_of(errno));
    }
    // A link stays a link: the file that it names is replaced.
    char resolved[PATH_MAX];
    if (::realpath(path.c_str(), resolved) != nullptr) target_ = resolved;
  }
  for (int attempt = 0; fd_ < 0; ++attempt) {
    temporary_ = text(target_, ".", static_cast<int>(::getpid()), "-", attempt, ".tmp");
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && (errno != EEXIST || attempt > 100)) {
      const int code = errno;
      temporary_.clear();
      fail(ErrorCode::bad_input, "cannot write '", path, "': ", reason_of(code));
    }
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      fd_(other.fd_) {
  other.fd_ = -1;
  other.temporary_.clear();
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), 1u << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(ErrorCode::bad_input, "cannot write '", path_, "': ", reason_of(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

void OutputFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void OutputFile::commit() {
  // close reports what a full disk kept back.
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0 || (!temporary_.empty() && ::rename(temporary_.c_str(), target_.c_str()) != 0)) {
    fail(ErrorCode::bad_input, "cannot write '", path_, "': ", reason_of(errno));
  }
  temporary_.clear();
}

std::string safe_file_name(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, kLongestName)) {
    const char l = lower(c);
    const bool safe = (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                      (c == '.' && !out.empty());
    out += safe ? c : '_';
  }
  return out.empty() ? "output" : out;
}

std::vector<std::string> safe_file_names(std::span<const std::string> names) {
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (const std::string& name : names) {
    const std::string base = safe_file_name(name);
    std::string candidate = base, key;
    for (int n = 2;; ++n) {
      key = candidate;
      std::transform(key.begin(), key.end(), key.begin(), lower);
      if (taken.insert(key).second) break;
      candidate = text(base, "_", n);
    }
    out.push_back(candidate);
  }
  return out;
}

std::string extension_of(std::string_view path) {
  const std::size_t dot = path.find_last_of("./");
  if (dot == std::string_view::npos || path[dot] != '.') return "";
  std::string out(path.substr(dot + 1));
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

}  // namespace stowage::cli
