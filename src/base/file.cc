// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text.h"

namespace stowage {

namespace {

// Without O_NONBLOCK, opening a pipe would wait for its writer.
constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

/// The descriptor of the file, or -1 with errno. One step at a time, so that no step can be a
/// link or lead upwards.
int open_beneath(const std::string& folder, const std::string& location) {
  int at = open(folder.c_str(), kOpenFlags | O_DIRECTORY);
  for (std::size_t begin = 0; at >= 0;) {
    const std::size_t end = location.find('/', begin);
    const bool last = end == std::string::npos;
    const std::string step = location.substr(begin, last ? end : end - begin);
    if (step.empty() || step == "..") {
      close(at);
      fail(ErrorCode::bad_input, "'", location, "' does not lie beneath the folder of the model");
    }
    const int next = openat(at, step.c_str(), kOpenFlags | O_NOFOLLOW | (last ? 0 : O_DIRECTORY));
    const int error = errno;
    close(at);
    if (next < 0 && error == ELOOP) {
      fail(ErrorCode::bad_input, "'", location, "' is a symbolic link, which could lead anywhere");
    }
    errno = error;
    if (last) return next;
    at = next;
    begin = end + 1;
  }
  return -1;
}

}  // namespace

std::string reason_of(int error) {
  char buffer[256] = "";
  // The GNU form returns the text, in `buffer` or elsewhere.
  return strerror_r(error, buffer, sizeof buffer);
}

InputFile::InputFile(const std::string& path) : path_(path) {
  if (path.empty()) fail(ErrorCode::bad_input, "the file name is empty");
  adopt(open(path.c_str(), kOpenFlags));
}

InputFile::InputFile(std::string name, std::span<const std::byte> bytes)
    : path_(std::move(name)), bytes_(bytes.data()), size_(std::ssize(bytes)) {}

InputFile::InputFile(const InputFile& other, const std::string& location) : path_(location) {
  if (other.fd_ < 0) {
    fail(ErrorCode::unsupported, "'", location, "' lies in a file beside ", other.path_,
         ", which has no folder; open the model by its path");
  }
  const std::size_t slash = other.path_.rfind('/');
  const bool here = slash == std::string::npos;
  adopt(
      open_beneath(here ? "." : other.path_.substr(0, std::max<std::size_t>(slash, 1)), location));
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      bytes_(other.bytes_),
      size_(other.size_) {}

InputFile::~InputFile() {
  if (fd_ >= 0) close(fd_);
}

void InputFile::adopt(int fd) {
  if (fd < 0) fail(ErrorCode::bad_input, "cannot read '", path_, "': ", reason_of(errno));

  struct stat info {};

  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    fail(ErrorCode::bad_input, "cannot read '", path_, "': it is ",
         S_ISDIR(info.st_mode) ? "a directory" : "not a regular file", "; give a file");
  }
  fd_ = fd;
  size_ = static_cast<std::int64_t>(info.st_size);
}

void InputFile::read(std::int64_t offset, std::span<std::byte> into) const {
  if (fd_ < 0) {
    if (offset > size_ || std::ssize(into) > size_ - offset) {
      fail(ErrorCode::bad_input, path_, " ends after ", size_, " bytes; it is cut short");
    }
    if (!into.empty()) std::memcpy(into.data(), bytes_ + offset, into.size());
    return;
  }
  while (!into.empty()) {
    // Linux reads at most 2 GiB in one go.
    const ssize_t got =
        pread(fd_, into.data(), std::min<std::size_t>(into.size(), 1u << 30), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(ErrorCode::bad_input, "cannot read '", path_, "': ", reason_of(errno));
    if (got == 0) {
      fail(ErrorCode::bad_input, "'", path_, "' ends after ", offset, " bytes; it is cut short");
    }
    into = into.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

}  // namespace stowage
