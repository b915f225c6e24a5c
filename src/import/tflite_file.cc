// SPDX-License-Identifier: Apache-2.0
#include "import/tflite_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "base/checked.h"
#include "base/trail.h"
#include "tflite_generated.h"

namespace stowage {

namespace {

constexpr std::string_view kIdentifier = "TFL3";
constexpr std::int64_t kIdentifierOffset = 4;
/// Tables nest five deep: model, subgraph, operator, options.
constexpr flatbuffers::uoffset_t kMostDepth = 16;
constexpr std::int64_t kMostTables = 4'000'000;

template <class T>
std::size_t size_of(const flatbuffers::Vector<T>* v) {
  return v == nullptr ? 0 : v->size();
}

/// A table of a vector, which a file may leave out.
template <class T>
const T& table_at(const flatbuffers::Vector<flatbuffers::Offset<T>>* v, std::size_t i) {
  const T* t = v->Get(static_cast<flatbuffers::uoffset_t>(i));
  if (t == nullptr) fail(ErrorCode::bad_input, "a list has a hole at index ", i);
  return *t;
}

Ints ints_of(const flatbuffers::Vector<std::int32_t>* v) {
  return v == nullptr ? Ints() : Ints(v->begin(), v->end());
}

void verify_file(const std::vector<std::byte>& bytes, const Limits& limits) {
  // FlatBuffers holds offsets in 31 bits and asserts so.
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    fail(ErrorCode::limit, "the file has ", bytes.size(), " bytes; TFLite files have less than ",
         FLATBUFFERS_MAX_BUFFER_SIZE);
  }
  const std::int64_t tables = std::min(std::int64_t{32} * limits.nodes + 256, kMostTables);
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(),
                                 kMostDepth, static_cast<flatbuffers::uoffset_t>(tables));
  if (!tfl::VerifyModelBuffer(verifier)) {
    fail(ErrorCode::bad_input, "the file is truncated or damaged: an offset leads nowhere");
  }
}

TfliteQuantization quantization_of(const tfl::Tensor& from) {
  const tfl::QuantizationParameters* p = from.quantization();
  if (p == nullptr || size_of(p->scale()) == 0) return {};
  TfliteQuantization q;
  q.scale = {p->scale()->data(), p->scale()->size()};
  if (size_of(p->zero_point()) > 0)
    q.zero_point = {p->zero_point()->data(), p->zero_point()->size()};
  q.axis = p->quantized_dimension();
  return q;
}

/// Throws unless all are at least `least`.
void check_extents(const Ints& extents, std::int64_t least, std::string_view what) {
  if (extents.size() > kMaxRank) {
    fail(ErrorCode::limit, "it has rank ", extents.size(), ", over the limit of ", kMaxRank);
  }
  for (std::int64_t e : extents) {
    if (e < least) fail(ErrorCode::bad_input, "its ", what, " has the extent ", e);
  }
}

void check_indices(const std::vector<int>& list, std::size_t tensors, int least,
                   std::string_view what) {
  for (int i : list) {
    if (i < least || i >= static_cast<int>(tensors)) {
      fail(ErrorCode::bad_input, what, " is tensor ", i, " of ", tensors);
    }
  }
}

std::vector<int> index_list(const flatbuffers::Vector<std::int32_t>* v, ImportBudget& budget) {
  std::vector<int> out;
  for (std::size_t i = 0; i < size_of(v); ++i) {
    budget.take_entry();
    out.push_back(v->Get(static_cast<flatbuffers::uoffset_t>(i)));
  }
  return out;
}

}  // namespace

bool is_tflite(const InputFile& file) {
  std::array<char, kIdentifier.size()> start{};
  const auto need = kIdentifierOffset + static_cast<std::int64_t>(start.size());
  if (file.size() < need) return false;
  file.read(kIdentifierOffset, std::as_writable_bytes(std::span(start)));
  return std::string_view(start.data(), start.size()) == kIdentifier;
}

void check_quantization(const TfliteTensor& tensor) {
  const TfliteQuantization& q = tensor.quantization;
  const std::size_t scales = q.scale.size(), zeros = q.zero_point.size();
  if (zeros > 1 && zeros != scales) {
    fail(ErrorCode::bad_input, "it has ", scales, " scales and ", zeros, " zero points");
  }
  const auto axis = static_cast<std::size_t>(q.axis);
  const bool fits = scales <= 1 || (q.axis >= 0 && axis < tensor.shape.size() &&
                                    tensor.shape[axis] == static_cast<std::int64_t>(scales));
  if (!fits) {
    fail(ErrorCode::bad_input, "it has ", scales, " scales along axis ", q.axis, " of the shape ",
         std::span(tensor.shape));
  }
}

DType tflite_dtype(const TfliteTensor& tensor) {
  const auto refuse = [&](std::string_view what) {
    fail(ErrorCode::unsupported, "tensor '", tensor.name, "' ", what);
  };
  switch (tensor.type) {
    case tfl::TensorType_FLOAT32:
      return DType::f32;
    case tfl::TensorType_FLOAT16:
      return DType::f16;
    case tfl::TensorType_BFLOAT16:
      return DType::bf16;
    case tfl::TensorType_FLOAT64:
      return DType::f64;
    case tfl::TensorType_UINT8:
      return DType::u8;
    case tfl::TensorType_INT8:
      return DType::i8;
    case tfl::TensorType_UINT16:
      return DType::u16;
    case tfl::TensorType_INT16:
      return DType::i16;
    case tfl::TensorType_UINT32:
      return DType::u32;
    case tfl::TensorType_INT32:
      return DType::i32;
    case tfl::TensorType_UINT64:
      return DType::u64;
    case tfl::TensorType_INT64:
      return DType::i64;
    case tfl::TensorType_BOOL:
      return DType::boolean;
    case tfl::TensorType_STRING:
      refuse("holds strings");
      break;
    case tfl::TensorType_COMPLEX64:
    case tfl::TensorType_COMPLEX128:
      refuse("holds complex numbers");
      break;
    case tfl::TensorType_RESOURCE:
    case tfl::TensorType_VARIANT:
      refuse("is a resource");
      break;
    case tfl::TensorType_INT4:
    case tfl::TensorType_INT2:
    case tfl::TensorType_UINT4:
      refuse("holds integers of less than eight bits");
      break;
    default:
      break;
  }
  fail(tensor.type > 0 ? ErrorCode::unsupported : ErrorCode::bad_input, "tensor '", tensor.name,
       "' has the unknown data type ", tensor.type);
}

TfliteFile::TfliteFile(const InputFile& file, ImportBudget& budget) {
  bytes_.resize(static_cast<std::size_t>(file.size()));
  file.read(0, std::as_writable_bytes(std::span(bytes_)));
  verify_file(bytes_, budget.limits());
  const tfl::Model& model = *tfl::GetModel(bytes_.data());
  if (model.version() != 3) {
    fail(ErrorCode::unsupported, "the file has version ", model.version(),
         " of the schema; 3 is supported");
  }
  if (size_of(model.subgraphs()) == 0) fail(ErrorCode::bad_input, "the model has no subgraph");
  read_tensors(model, budget);
  read_operators(model, budget);
}

void TfliteFile::release() {
  for (TfliteTensor& t : tensors) {
    t.data = {};
    t.quantization = {};
  }
  for (TfliteOperator& op : operators) op.table = nullptr;
  bytes_ = {};
}

void TfliteFile::read_tensors(const tfl::Model& model, ImportBudget& budget) {
  const tfl::SubGraph& graph = table_at(model.subgraphs(), 0);
  if (graph.name() != nullptr) {
    name = graph.name()->str();
    check_name(name);
  }
  std::size_t name_bytes = 0;
  for (std::size_t i = 0; i < size_of(graph.tensors()); ++i) {
    budget.take_entry();
    const tfl::Tensor& from = table_at(graph.tensors(), i);
    TfliteTensor t;
    if (from.name() != nullptr) {
      const std::size_t length = from.name()->size();
      if (length > static_cast<std::size_t>(budget.limits().name_bytes)) {
        fail(ErrorCode::limit, "the name of tensor ", i, " has ", length,
             " bytes, over the limit of ", budget.limits().name_bytes);
      }
      // Names that share their bytes would make a small file a large graph.
      name_bytes += length;
      if (name_bytes > bytes_.size()) {
        fail(ErrorCode::limit, "the names of the tensors are longer than the file");
      }
      t.name = from.name()->str();
    }
    check_name(t.name);
    const Trail trail("tensor", t.name);
    t.type = from.type();
    if (size_of(from.shape()) > kMaxRank || size_of(from.shape_signature()) > kMaxRank) {
      fail(ErrorCode::limit, "it has rank ", size_of(from.shape()), ", over the limit of ",
           kMaxRank);
    }
    t.shape = ints_of(from.shape());
    check_extents(t.shape, 0, "shape");
    t.signature = ints_of(from.shape_signature());
    check_extents(t.signature, -1, "shape_signature");
    if (t.signature.empty()) t.signature = t.shape;
    if (t.signature.size() != t.shape.size()) {
      fail(ErrorCode::bad_input, "shape and shape_signature differ in rank");
    }
    t.variable = from.is_variable();
    t.sparse = from.sparsity() != nullptr;
    t.quantization = quantization_of(from);
    if (from.buffer() >= std::max<std::size_t>(size_of(model.buffers()), 1)) {
      fail(ErrorCode::bad_input, "its buffer is ", from.buffer(), " of ", size_of(model.buffers()));
    }
    if (from.buffer() != 0) {  // buffer 0 is the empty one
      const tfl::Buffer& buffer = table_at(model.buffers(), from.buffer());
      if (buffer.offset() > 1 || buffer.size() > 1) {
        fail(ErrorCode::unsupported, "its data lies behind the tables of the file");
      }
      if (size_of(buffer.data()) > 0) {
        t.data = {reinterpret_cast<const std::byte*>(buffer.data()->Data()), buffer.data()->size()};
        t.constant = true;
      }
    }
    tensors.push_back(std::move(t));
  }
}

void TfliteFile::read_operators(const tfl::Model& model, ImportBudget& budget) {
  const tfl::SubGraph& graph = table_at(model.subgraphs(), 0);
  inputs = index_list(graph.inputs(), budget);
  outputs = index_list(graph.outputs(), budget);
  check_indices(inputs, tensors.size(), 0, "an input of the model");
  check_indices(outputs, tensors.size(), 0, "an output of the model");
  const std::size_t codes = size_of(model.operator_codes());
  for (std::size_t i = 0; i < size_of(graph.operators()); ++i) {
    budget.take_node();
    const tfl::Operator& from = table_at(graph.operators(), i);
    if (from.opcode_index() >= codes) {
      fail(ErrorCode::bad_input, "operator ", i, " has the code ", from.opcode_index(), " of ",
           codes);
    }
    const tfl::OperatorCode& code = table_at(model.operator_codes(), from.opcode_index());
    TfliteOperator op;
    // Files of before 2020 have the code in a byte; later ones have both.
    op.code = std::max<int>(code.builtin_code(), code.deprecated_builtin_code());
    op.custom = op.code == tfl::BuiltinOperator_CUSTOM;
    if (op.code < 0) fail(ErrorCode::bad_input, "operator ", i, " has the builtin code ", op.code);
    if (op.custom) {
      if (code.custom_code() != nullptr &&
          code.custom_code()->size() <= static_cast<std::size_t>(budget.limits().name_bytes)) {
        op.type = code.custom_code()->str();
      }
      check_name(op.type);
    } else {
      op.type = tfl::EnumNameBuiltinOperator(static_cast<tfl::BuiltinOperator>(op.code));
      if (op.type.empty()) op.type = text("builtin operator ", op.code);
    }
    const Trail trail("operator", op.type);
    op.inputs = index_list(from.inputs(), budget);
    op.outputs = index_list(from.outputs(), budget);
    check_indices(op.inputs, tensors.size(), -1, "an input");
    check_indices(op.outputs, tensors.size(), 0, "an output");
    op.table = &from;
    operators.push_back(std::move(op));
  }
}

}  // namespace stowage
