// SPDX-License-Identifier: Apache-2.0
#include "cli/io/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/checked.h"
#include "base/text.h"
#include "base/trail.h"

namespace stowage::cli {
namespace {

struct Descr {
  std::string_view code;
  DType dtype;
};

// bf16 is no line of its own: see npy.h.
constexpr Descr kDescrs[] = {
    {"f4", DType::f32}, {"f2", DType::f16}, {"f8", DType::f64}, {"u1", DType::u8},
    {"i1", DType::i8},  {"u2", DType::u16}, {"i2", DType::i16}, {"u4", DType::u32},
    {"i4", DType::i32}, {"u8", DType::u64}, {"i8", DType::i64}, {"b1", DType::boolean},
};

[[noreturn]] void malformed(std::string_view what) {
  fail(ErrorCode::bad_input, "the .npy header ", what, "; write the file again with numpy.save");
}

/// Reads the Python dictionary of a header: three known keys, in any order.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  void parse(NpyHeader& header) {
    expect('{');
    bool seen[3] = {};
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek() != '\'' && peek() != '"') {
          fail(ErrorCode::unsupported,
               "the .npy file holds records; save one plain array with numpy.save");
        }
        header.descr = quoted();
        once(seen[0]);
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        once(seen[1]);
      } else if (key == "shape") {
        header.shape = tuple();
        once(seen[2]);
      } else {
        malformed("has an unknown key");
      }
      if (!accept(',') && peek() != '}') malformed("is not a dictionary");
    }
    if (!seen[0] || !seen[1] || !seen[2]) malformed("lacks descr, fortran_order or shape");
    if (peek() != '\0') malformed("has something behind its dictionary");
  }

 private:
  static void once(bool& seen) {
    if (seen) malformed("has a key twice");
    seen = true;
  }

  char peek() {
    const std::size_t at = rest_.find_first_not_of(" \t\n");
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at);
    return rest_.empty() ? '\0' : rest_.front();
  }

  bool accept(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) malformed(text("lacks a '", c, "'"));
  }

  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("lacks a quoted word");
    rest_.remove_prefix(1);
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) malformed("has an open quote");
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return word;
  }

  bool boolean() {
    peek();
    for (const std::string_view word : {"True", "False"}) {
      if (rest_.substr(0, word.size()) == word) {
        rest_.remove_prefix(word.size());
        return word == "True";
      }
    }
    malformed("has a fortran_order that is neither True nor False");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> out;
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t extent = 0;
      const auto [end, problem] =
          std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
      if (problem != std::errc() || extent < 0) malformed("has a shape that is no tuple of sizes");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      accept('L');  // Python 2 wrote long integers so
      out.push_back(extent);
      if (static_cast<int>(out.size()) > kMaxRank) {
        fail(ErrorCode::limit, "the array has more than ", kMaxRank, " axes; reshape it");
      }
      if (!accept(',') && peek() != ')') malformed("has a shape that is no tuple of sizes");
    }
    return out;
  }

  std::string_view rest_;
};

void read_descr(NpyHeader& header) {
  const std::string_view descr = header.descr;
  if (descr.size() >= 2 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos) {
    const std::string_view code = descr.substr(1);
    header.big_endian = descr[0] == '>';
    if (code == "V2") {
      header.dtype = DType::u16;
      header.opaque = true;
      return;
    }
    for (const Descr& known : kDescrs) {
      if (known.code != code) continue;
      header.dtype = known.dtype;
      return;
    }
  }
  fail(ErrorCode::unsupported, "the .npy file holds '", descr.substr(0, 20),
       "', which is no type of Stowage; convert it with numpy's astype, for example to float32");
}

void swap_bytes(std::span<std::byte> bytes, std::size_t width) {
  for (std::size_t i = 0; i + width <= bytes.size(); i += width) {
    std::reverse(bytes.data() + i, bytes.data() + i + width);
  }
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> head, std::int64_t file_bytes) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  const std::string_view bytes(reinterpret_cast<const char*>(head.data()), head.size());
  if (bytes.size() < 10 || bytes.substr(0, 6) != kMagic) {
    fail(ErrorCode::bad_input, "this is no .npy file; write one with numpy.save");
  }
  const auto at = [&](std::size_t i) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const std::size_t version = at(6);
  if (version < 1 || version > 3) {
    fail(ErrorCode::unsupported, "the .npy file has version ", version, "; 1 to 3 are known");
  }
  std::size_t start = 10, length = at(8) | at(9) << 8;
  if (version > 1) {
    if (bytes.size() < 12) malformed("is cut short");
    start = 12;
    length |= at(10) << 16 | at(11) << 24;
  }
  if (length > static_cast<std::size_t>(kNpyHeaderBytes) || start + length > bytes.size()) {
    malformed("is cut short or too long");
  }
  NpyHeader header;
  HeaderParser(bytes.substr(start, length)).parse(header);
  read_descr(header);
  header.data_offset = static_cast<std::int64_t>(start + length);
  const std::int64_t available = file_bytes - header.data_offset;
  std::int64_t need = dtype_bytes(header.dtype);
  // An array without elements may have any other extent.
  if (std::find(header.shape.begin(), header.shape.end(), 0) != header.shape.end()) need = 0;
  for (const std::int64_t extent : header.shape) {
    if (need == 0) break;
    if (extent > available / need) {
      fail(ErrorCode::bad_input, "the .npy file promises an array of shape ",
           std::span<const std::int64_t>(header.shape), " but holds ", available,
           " bytes of data; it is cut short or damaged");
    }
    need *= extent;
  }
  header.data_bytes = need;
  if (need > available) {
    fail(ErrorCode::bad_input, "the .npy file holds ", available, " bytes of data instead of ",
         need, "; it is cut short");
  }
  return header;
}

Tensor read_npy(const std::string& path, std::optional<DType> as) {
  const Trail trail("reading", path);
  const InputFile file(path);
  std::vector<std::byte> head(
      static_cast<std::size_t>(std::min<std::int64_t>(file.size(), kNpyHeaderBytes + 12)));
  file.read(0, head);
  const NpyHeader header = parse_npy_header(head, file.size());
  DType dtype = header.dtype;
  if (as.has_value() && *as != dtype) {
    if (dtype_bytes(*as) != dtype_bytes(dtype)) {
      fail(ErrorCode::usage, "the scalars are '", header.descr, "' of ", dtype_bytes(dtype),
           " bytes and cannot be read as ", dtype_name(*as));
    }
    dtype = *as;
  } else if (header.opaque && !as.has_value()) {
    fail(ErrorCode::unsupported,
         "the .npy file holds '|V2', two bytes without a meaning; say what they are, for example "
         "--from-dtype bf16");
  }
  const Shape shape = Shape::unnamed(header.shape);
  std::vector<Axis> axes(shape.axes().begin(), shape.axes().end());
  if (header.fortran_order) std::reverse(axes.begin(), axes.end());
  Tensor tensor(dtype, shape, Layout::row_major(axes));
  const std::span<std::byte> bytes(tensor.data(), static_cast<std::size_t>(header.data_bytes));
  file.read(header.data_offset, bytes);
  if (header.big_endian) swap_bytes(bytes, static_cast<std::size_t>(dtype_bytes(dtype)));
  return tensor;
}

std::string npy_header(DType dtype, std::span<const std::int64_t> shape) {
  const int width = dtype_bytes(dtype);
  std::string descr = "<u2";
  for (const Descr& known : kDescrs) {
    if (known.dtype == dtype) descr = text(width == 1 ? '|' : '<', known.code);
  }
  std::string dictionary = text("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    dictionary += text(shape[i], shape.size() == 1 ? "," : i + 1 < shape.size() ? ", " : "");
  }
  dictionary += "), }";
  // NumPy aligns the data to 64 bytes, with blanks and one line feed.
  const std::size_t total = round_up(static_cast<std::int64_t>(10 + dictionary.size() + 1), 64);
  dictionary.append(total - 10 - dictionary.size() - 1, ' ');
  dictionary += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(dictionary.size() & 255);
  out += static_cast<char>(dictionary.size() >> 8);
  return out + dictionary;
}

void write_npy(OutputFile& file, DType dtype, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes) {
  file.write(npy_header(dtype, shape));
  file.write(bytes);
}

}  // namespace stowage::cli
