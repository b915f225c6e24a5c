// SPDX-License-Identifier: Apache-2.0
// A protobuf file read in place: fields are decoded where they lie and messages are stretches of
// the file. No message object exists, so a small file cannot become a large one in memory, and
// weights go from the file straight into their tensors.
#pragma once

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace stowage {

/// A stretch of a file.
struct FileRange {
  std::int64_t offset = 0, size = 0;
};

inline FileRange all_of(const InputFile& file) { return {0, file.size()}; }

/// A stretch of a file as protobuf's streams want it. Skipping costs nothing.
class RangeStream final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  RangeStream(const InputFile& file, FileRange range);

  bool Next(const void** data, int* size) override;
  void BackUp(int count) override;
  bool Skip(int count) override;

  std::int64_t ByteCount() const override { return at_ - begin_; }

 private:
  const InputFile* file_;
  std::int64_t begin_, at_, end_;
  std::vector<char> buffer_;
};

/// The fields of one message, in the order of the file. Every read checks the wire type and
/// throws Error(bad_input) when the bytes are not what they claim.
///
///     for (ProtoReader in(file, range); in.next();) {
///       if (in.field() == kName) name = in.text(limit);   // what is not read is skipped
///     }
class ProtoReader {
 public:
  ProtoReader(const InputFile& file, FileRange message);

  /// Moves to the next field; false behind the last one.
  bool next();

  int field() const noexcept { return static_cast<int>(tag_ >> 3); }

  /// The field is length-delimited: a message, bytes, text, or a packed list.
  bool is_bytes() const noexcept { return (tag_ & 7) == 2; }

  std::int64_t varint();
  std::uint32_t fixed32();
  std::uint64_t fixed64();
  /// Where the bytes of a length-delimited field lie.
  FileRange bytes();
  /// Throws Error(limit) before reading when there are more than `max_bytes`.
  std::string text(std::int64_t max_bytes);

  /// Calls `put` with each element of a repeated scalar field, packed or not.
  template <class F>
  void each_varint(F&& put) {
    if (!is_bytes()) return put(varint());
    for (ProtoReader in(*file_, bytes()); in.more();) put(in.raw_varint());
  }

  template <class F>
  void each_fixed32(F&& put) {
    if (!is_bytes()) return put(fixed32());
    for (ProtoReader in(*file_, bytes()); in.more();) put(in.raw_fixed32());
  }

 private:
  [[noreturn]] void malformed() const;
  void expect(std::uint32_t wire_type);
  bool more();
  std::int64_t raw_varint();
  std::uint32_t raw_fixed32();
  void skip();

  const InputFile* file_;
  FileRange range_;
  RangeStream stream_;
  google::protobuf::io::CodedInputStream in_;
  std::uint32_t tag_ = 0;
  bool consumed_ = true;
};

}  // namespace stowage
