// SPDX-License-Identifier: Apache-2.0
#include "import/proto_file.h"

#include <algorithm>

namespace stowage {

namespace {

constexpr std::int64_t kBufferBytes = 64 << 10;

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

}  // namespace

RangeStream::RangeStream(const InputFile& file, FileRange range)
    : file_(&file),
      begin_(range.offset),
      at_(range.offset),
      end_(range.offset + range.size),
      buffer_(static_cast<std::size_t>(std::min(range.size, kBufferBytes))) {}

bool RangeStream::Next(const void** data, int* size) {
  const std::int64_t bytes = std::min(end_ - at_, static_cast<std::int64_t>(buffer_.size()));
  if (bytes == 0) return false;
  file_->read(at_,
              std::as_writable_bytes(std::span(buffer_).first(static_cast<std::size_t>(bytes))));
  at_ += bytes;
  *data = buffer_.data();
  *size = static_cast<int>(bytes);
  return true;
}

void RangeStream::BackUp(int count) { at_ -= count; }

bool RangeStream::Skip(int count) {
  const bool inside = count <= end_ - at_;
  at_ = inside ? at_ + count : end_;
  return inside;
}

ProtoReader::ProtoReader(const InputFile& file, FileRange message)
    : file_(&file), range_(message), stream_(file, message), in_(&stream_) {}

void ProtoReader::malformed() const {
  fail(ErrorCode::bad_input, "not an ONNX file, or damaged near byte ",
       range_.offset + in_.CurrentPosition());
}

bool ProtoReader::more() { return in_.CurrentPosition() < range_.size; }

bool ProtoReader::next() {
  if (!consumed_) skip();
  if (!more()) return false;
  tag_ = in_.ReadTag();
  // Field 0 does not exist; groups (wire types 3 and 4) do not occur in ONNX.
  if (field() == 0) malformed();
  consumed_ = false;
  return true;
}

void ProtoReader::expect(std::uint32_t wire_type) {
  if ((tag_ & 7) != wire_type) malformed();
  consumed_ = true;
}

void ProtoReader::skip() {
  switch (tag_ & 7) {
    case kVarint:
      varint();
      return;
    case kFixed32:
      fixed32();
      return;
    case kFixed64:
      fixed64();
      return;
    case kBytes:
      bytes();
      return;
    default:
      malformed();
  }
}

std::int64_t ProtoReader::raw_varint() {
  std::uint64_t v = 0;
  if (!in_.ReadVarint64(&v)) malformed();
  return static_cast<std::int64_t>(v);
}

std::uint32_t ProtoReader::raw_fixed32() {
  std::uint32_t v = 0;
  if (!in_.ReadLittleEndian32(&v)) malformed();
  return v;
}

std::int64_t ProtoReader::varint() {
  expect(kVarint);
  return raw_varint();
}

std::uint32_t ProtoReader::fixed32() {
  expect(kFixed32);
  return raw_fixed32();
}

std::uint64_t ProtoReader::fixed64() {
  expect(kFixed64);
  std::uint64_t v = 0;
  if (!in_.ReadLittleEndian64(&v)) malformed();
  return v;
}

FileRange ProtoReader::bytes() {
  expect(kBytes);
  const std::int64_t size = raw_varint();
  const std::int64_t at = in_.CurrentPosition();
  if (size < 0 || size > range_.size - at) {
    fail(ErrorCode::bad_input, "the file is cut off or damaged: a part at byte ",
         range_.offset + at, " claims ", size, " bytes, ", range_.size - at, " are left");
  }
  if (!in_.Skip(static_cast<int>(size))) malformed();
  return {range_.offset + at, size};
}

std::string ProtoReader::text(std::int64_t max_bytes) {
  const FileRange range = bytes();
  if (range.size > max_bytes) {
    fail(ErrorCode::limit, "a text of ", range.size, " bytes, over the limit of ", max_bytes);
  }
  std::string out(static_cast<std::size_t>(range.size), '\0');
  file_->read(range.offset, std::as_writable_bytes(std::span(out)));
  return out;
}

}  // namespace stowage
