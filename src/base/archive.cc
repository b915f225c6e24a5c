// SPDX-License-Identifier: Apache-2.0
#include "base/archive.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "base/text.h"

namespace stowage {

static_assert(std::endian::native == std::endian::little);

void ByteWriter::integer(std::int64_t& value) { raw(std::as_writable_bytes(std::span(&value, 1))); }

void ByteWriter::real(double& value) { raw(std::as_writable_bytes(std::span(&value, 1))); }

void ByteWriter::text(std::string& value) {
  begin_list(value.size());
  raw(std::as_writable_bytes(std::span(value)));
}

void ByteWriter::raw(std::span<std::byte> bytes) {
  out_.insert(out_.end(), bytes.begin(), bytes.end());
}

std::size_t ByteWriter::begin_list(std::size_t size) {
  auto count = static_cast<std::int64_t>(size);
  integer(count);
  return size;
}

void ByteReader::integer(std::int64_t& value) { raw(std::as_writable_bytes(std::span(&value, 1))); }

void ByteReader::real(double& value) { raw(std::as_writable_bytes(std::span(&value, 1))); }

void ByteReader::text(std::string& value) {
  value.resize(begin_list(0));
  raw(std::as_writable_bytes(std::span(value)));
}

void ByteReader::raw(std::span<std::byte> bytes) {
  if (bytes.size() > in_.size()) {
    fail(ErrorCode::bad_input, "the bytes end ", bytes.size() - in_.size(), " too early");
  }
  if (!bytes.empty()) std::memcpy(bytes.data(), in_.data(), bytes.size());
  in_ = in_.subspan(bytes.size());
}

std::size_t ByteReader::begin_list(std::size_t) {
  std::int64_t count = 0;
  integer(count);
  if (count < 0 || static_cast<std::uint64_t>(count) > in_.size()) {
    fail(ErrorCode::bad_input, "a list of ", count, " elements in ", in_.size(), " bytes");
  }
  return static_cast<std::size_t>(count);
}

void TextWriter::space() {
  if (!out_.empty() && out_.back() != '{' && out_.back() != '[' && out_.back() != '=') out_ += ' ';
}

void TextWriter::field(std::string_view name) {
  if (name.empty()) return;
  space();
  out_.append(name).append("=");
}

void TextWriter::integer(std::int64_t& value) {
  space();
  append_text(out_, value);
}

void TextWriter::real(double& value) {
  space();
  char digits[40];
  // Most are floats: as short as they can be.
  const auto narrow = static_cast<float>(value);
  const auto end = static_cast<double>(narrow) == value
                       ? std::to_chars(std::begin(digits), std::end(digits), narrow)
                       : std::to_chars(std::begin(digits), std::end(digits), value);
  out_.append(digits, end.ptr);
}

void TextWriter::text(std::string& value) {
  space();
  out_.append("'").append(value).append("'");
}

void TextWriter::raw(std::span<std::byte> bytes) {
  space();
  append_text(out_, bytes.size());
  out_ += " bytes";
}

std::size_t TextWriter::begin_list(std::size_t size) {
  space();
  out_ += '[';
  return size;
}

void TextWriter::end_list() { out_ += ']'; }

void TextWriter::begin_struct() {
  space();
  out_ += '{';
}

void TextWriter::end_struct() { out_ += '}'; }

}  // namespace stowage
