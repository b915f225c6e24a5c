// SPDX-License-Identifier: Apache-2.0
#include "import/onnx_tensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "base/checked.h"
#include "base/trail.h"
#include "import/onnx_proto.h"
#include "import/proto_file.h"

namespace stowage {

static_assert(std::endian::native == std::endian::little, "raw data is little-endian");

namespace {

using Proto = onnx::TensorProto;

/// The field of a TensorProto whose elements have this dtype when there is no raw_data.
int typed_field(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Proto::kFloatDataFieldNumber;
    case DType::f64:
      return Proto::kDoubleDataFieldNumber;
    case DType::i64:
      return Proto::kInt64DataFieldNumber;
    case DType::u32:
    case DType::u64:
      return Proto::kUint64DataFieldNumber;
    default:
      return Proto::kInt32DataFieldNumber;
  }
}

bool is_data_field(int field) {
  switch (field) {
    case Proto::kFloatDataFieldNumber:
    case Proto::kDoubleDataFieldNumber:
    case Proto::kInt64DataFieldNumber:
    case Proto::kUint64DataFieldNumber:
    case Proto::kInt32DataFieldNumber:
    case Proto::kRawDataFieldNumber:
      return true;
    default:
      return false;
  }
}

/// Writes the integers of a varint field as T, and refuses those that do not fit.
/// `Wire` is the type that the field has in the schema.
template <class T, class Wire>
class VarintSink {
 public:
  explicit VarintSink(Tensor& into) : out_(into.as<T>()) {}

  void operator()(std::int64_t varint) {
    const auto v = static_cast<Wire>(varint);
    if (at_ == out_.size()) fail(ErrorCode::bad_input, "it has more elements than its dims say");
    if (v < std::numeric_limits<T>::min() || v > std::numeric_limits<T>::max()) {
      fail(ErrorCode::bad_input, "its element ", at_, " is ", v, ", which does not fit its type");
    }
    out_[at_++] = static_cast<T>(v);
  }

  std::size_t count() const { return at_; }

 private:
  std::span<T> out_;
  std::size_t at_ = 0;
};

template <class T, class Wire>
std::size_t read_varints(const InputFile& file, const FileRange& message, int field, Tensor& into) {
  VarintSink<T, Wire> sink(into);
  for (ProtoReader in(file, message); in.next();) {
    if (in.field() == field) in.each_varint([&](std::int64_t v) { sink(v); });
  }
  return sink.count();
}

/// Fixed-width elements are copied in one piece where they are packed.
template <class T>
std::size_t read_fixed(const InputFile& file, const FileRange& message, int field, Tensor& into) {
  const auto out = into.as<T>();
  std::size_t at = 0;
  for (ProtoReader in(file, message); in.next();) {
    if (in.field() != field) continue;
    if (in.is_bytes()) {
      const FileRange packed = in.bytes();
      const auto count = static_cast<std::size_t>(packed.size) / sizeof(T);
      if (count > out.size() - at || count * sizeof(T) != static_cast<std::size_t>(packed.size)) {
        fail(ErrorCode::bad_input, "its data is no whole number of elements");
      }
      file.read(packed.offset, std::as_writable_bytes(out.subspan(at, count)));
      at += count;
    } else {
      if (at == out.size()) break;
      if constexpr (sizeof(T) == 4) {
        out[at++] = std::bit_cast<T>(in.fixed32());
      } else {
        out[at++] = std::bit_cast<T>(in.fixed64());
      }
    }
  }
  return at;
}

/// Any non-zero byte is true in a file; kernels count on 0 and 1.
void normalize_booleans(Tensor& tensor) {
  if (tensor.dtype() != DType::boolean) return;
  for (std::uint8_t& b : tensor.as<std::uint8_t>()) b = b != 0;
}

std::int64_t parse_decimal(const std::string& text) {
  const bool digits = !text.empty() && text.size() <= 18 &&
                      text.find_first_not_of("0123456789") == std::string::npos;
  if (!digits) fail(ErrorCode::bad_input, "'", text, "' is not an offset or a length");
  return std::stoll(text);
}

}  // namespace

DType onnx_dtype(std::int64_t type, std::string_view what, std::string_view name) {
  switch (type) {
    case Proto::FLOAT:
      return DType::f32;
    case Proto::FLOAT16:
      return DType::f16;
    case Proto::BFLOAT16:
      return DType::bf16;
    case Proto::DOUBLE:
      return DType::f64;
    case Proto::UINT8:
      return DType::u8;
    case Proto::INT8:
      return DType::i8;
    case Proto::UINT16:
      return DType::u16;
    case Proto::INT16:
      return DType::i16;
    case Proto::UINT32:
      return DType::u32;
    case Proto::INT32:
      return DType::i32;
    case Proto::UINT64:
      return DType::u64;
    case Proto::INT64:
      return DType::i64;
    case Proto::BOOL:
      return DType::boolean;
    case Proto::STRING:
      fail(ErrorCode::unsupported, what, " '", name, "' holds strings");
    case Proto::COMPLEX64:
    case Proto::COMPLEX128:
      fail(ErrorCode::unsupported, what, " '", name, "' holds complex numbers");
    case Proto::UNDEFINED:
      fail(ErrorCode::bad_input, what, " '", name, "' has no data type");
    default:
      break;
  }
  // 17 and above: float8, four-bit and later types of newer versions of ONNX.
  const bool newer = type > Proto::BFLOAT16 && type < 64;
  fail(newer ? ErrorCode::unsupported : ErrorCode::bad_input, what, " '", name,
       "' has the unknown data type ", type);
}

OnnxTensor::OnnxTensor(const InputFile& file, const FileRange& message, const Limits& limits) {
  std::int64_t type = Proto::UNDEFINED;
  bool segmented = false, mixed = false;
  for (ProtoReader in(file, message); in.next();) {
    const int field = in.field();
    if (field == Proto::kDimsFieldNumber) {
      in.each_varint([&](std::int64_t d) {
        if (dims_.size() > kMaxRank)
          fail(ErrorCode::limit, "a tensor has more than ", kMaxRank, " dims");
        dims_.push_back(d);
      });
    } else if (field == Proto::kDataTypeFieldNumber) {
      type = in.varint();
    } else if (field == Proto::kNameFieldNumber) {
      name_ = in.text(limits.name_bytes);
    } else if (field == Proto::kSegmentFieldNumber) {
      segmented = true;
    } else if (field == Proto::kDataLocationFieldNumber) {
      external_ = in.varint() == Proto::EXTERNAL;
    } else if (field == Proto::kExternalDataFieldNumber) {
      std::string key, value;
      for (ProtoReader entry(file, in.bytes()); entry.next();) {
        if (entry.field() == onnx::StringStringEntryProto::kKeyFieldNumber) {
          key = entry.text(limits.name_bytes);
        } else if (entry.field() == onnx::StringStringEntryProto::kValueFieldNumber) {
          value = entry.text(limits.name_bytes);
        }
      }
      if (key == "location") location_ = value;
      if (key == "offset") external_offset_ = parse_decimal(value);
      if (key == "length") external_length_ = parse_decimal(value);
    } else if (is_data_field(field)) {
      std::int64_t size = 4;
      if (in.is_bytes()) {
        const FileRange data = in.bytes();
        size = data.size;
        if (field == Proto::kRawDataFieldNumber) raw_offset_ = data.offset;
        if (field == Proto::kRawDataFieldNumber) data_bytes_ = 0;  // the last one counts
      } else if (field == Proto::kRawDataFieldNumber) {
        in.bytes();  // throws: raw_data has no other wire type
      } else if (field == Proto::kDoubleDataFieldNumber) {
        size = 8;
      } else if (field != Proto::kFloatDataFieldNumber) {
        size = 1;
      }
      if (size == 0) continue;
      mixed |= data_field_ != 0 && data_field_ != field;
      data_field_ = field;
      data_bytes_ += size;
    }
  }
  check_name(name_);
  dtype_ = onnx_dtype(type, "tensor", name_);
  if (segmented) fail(ErrorCode::unsupported, called(), " is a segment of a larger one");
  for (std::int64_t d : dims_) {
    if (d < 0) fail(ErrorCode::bad_input, called(), " has the negative dim ", d);
    if (__builtin_mul_overflow(elements_, d == 0 ? 1 : d, &elements_)) {
      fail(ErrorCode::bad_input, called(), " has dims whose product exceeds 64 bits");
    }
  }
  if (std::find(dims_.begin(), dims_.end(), 0) != dims_.end()) elements_ = 0;
  mixed |= external_ && data_field_ != 0;
  if (mixed) fail(ErrorCode::bad_input, called(), " has two kinds of data");
  if (!external_) check_data_size();
}

std::string OnnxTensor::called() const {
  return text("tensor '", name_, "' of dims ", std::span(dims_));
}

void OnnxTensor::check_data_size() const {
  const int width = dtype_bytes(dtype_);
  const int typed = typed_field(dtype_);
  if (data_field_ == 0 && elements_ > 0) fail(ErrorCode::bad_input, called(), " has no data");
  if (data_field_ == 0) return;
  std::int64_t wire_width = 1;  // at least this many bytes of the file make an element
  bool exact = true;
  if (data_field_ == Proto::kRawDataFieldNumber) {
    wire_width = width;
  } else if (data_field_ != typed) {
    fail(ErrorCode::bad_input, called(), " holds its data in a field of another type");
  } else if (dtype_ == DType::f32 || dtype_ == DType::f64) {
    wire_width = width;
  } else {
    exact = false;
  }
  std::int64_t need = 0;
  const bool overflow = __builtin_mul_overflow(elements_, wire_width, &need);
  if (overflow || (exact ? data_bytes_ != need : data_bytes_ < need)) {
    fail(ErrorCode::bad_input, called(), " brings ", data_bytes_, " bytes of data, ", elements_,
         " elements of ", dtype_name(dtype_), " do not fit that");
  }
}

Tensor OnnxTensor::read(const InputFile& file, const FileRange& message,
                        ImportBudget& budget) const {
  const std::int64_t width = dtype_bytes(dtype_);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(elements_, width, &bytes)) {
    fail(ErrorCode::bad_input, called(), " has a size that exceeds 64 bits");
  }
  const Trail trail("tensor", name_);
  if (external_) return read_external(file, bytes, budget);
  budget.take_value(name_, bytes);
  Tensor out(dtype_, Shape::unnamed(dims_));
  if (data_field_ == Proto::kRawDataFieldNumber) {
    file.read(raw_offset_, {out.data(), static_cast<std::size_t>(bytes)});
  } else if (data_field_ != 0) {
    read_typed(file, message, out);
  }
  normalize_booleans(out);
  return out;
}

Tensor OnnxTensor::read_external(const InputFile& file, std::int64_t bytes,
                                 ImportBudget& budget) const {
  check_name(location_);
  const InputFile data(file, location_);
  const std::int64_t left = data.size() - external_offset_;
  if (left < bytes || (external_length_ >= 0 && external_length_ != bytes)) {
    fail(ErrorCode::bad_input, called(), " needs ", bytes, " bytes of '", location_, "', ",
         external_length_ >= 0 ? std::min(left, external_length_) : left, " are there");
  }
  budget.take_value(name_, bytes);
  Tensor out(dtype_, Shape::unnamed(dims_));
  data.read(external_offset_, {out.data(), static_cast<std::size_t>(bytes)});
  normalize_booleans(out);
  return out;
}

void OnnxTensor::read_typed(const InputFile& file, const FileRange& message, Tensor& into) const {
  const int field = data_field_;
  std::size_t count = 0;
  switch (dtype_) {
    case DType::f32:
      count = read_fixed<float>(file, message, field, into);
      break;
    case DType::f64:
      count = read_fixed<double>(file, message, field, into);
      break;
    case DType::i64:
      count = read_varints<std::int64_t, std::int64_t>(file, message, field, into);
      break;
    case DType::u64:
      count = read_varints<std::uint64_t, std::uint64_t>(file, message, field, into);
      break;
    case DType::u32:
      count = read_varints<std::uint32_t, std::uint64_t>(file, message, field, into);
      break;
    case DType::i32:
      count = read_varints<std::int32_t, std::int32_t>(file, message, field, into);
      break;
    case DType::i16:
      count = read_varints<std::int16_t, std::int32_t>(file, message, field, into);
      break;
    case DType::i8:
      count = read_varints<std::int8_t, std::int32_t>(file, message, field, into);
      break;
    case DType::u8:
    case DType::boolean:
      count = read_varints<std::uint8_t, std::int32_t>(file, message, field, into);
      break;
    case DType::u16:
    case DType::f16:
    case DType::bf16:
      count = read_varints<std::uint16_t, std::int32_t>(file, message, field, into);
      break;
  }
  if (static_cast<std::int64_t>(count) != elements_) {
    fail(ErrorCode::bad_input, called(), " brings ", count, " elements instead of ", elements_);
  }
}

Tensor tensor_from_pb_file(const std::string& path, const Limits& limits, std::string* name) {
  const Trail trail("reading", path);
  try {
    const InputFile file = open_input(path, limits.file_bytes);
    const OnnxTensor tensor(file, all_of(file), limits);
    ImportBudget budget(limits);
    Tensor out = tensor.read(file, all_of(file), budget);
    if (name != nullptr) *name = tensor.name();
    return out;
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::limit, "out of memory");
  }
}

}  // namespace stowage
