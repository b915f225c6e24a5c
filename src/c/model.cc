// SPDX-License-Identifier: Apache-2.0
// Models as their files have them.
#include <algorithm>
#include <span>
#include <string>

#include "c/guard.h"
#include "c/handles.h"
#include "c/view.h"

using stowage::c::expect_index;
using stowage::c::given;
using stowage::c::guarded;

namespace {

std::span<const std::byte> bytes_of(const void* data, std::size_t size, std::string_view what) {
  if (size > 0 && data == nullptr) stowage::c::fail_null(what);
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

extern "C" {

stowage_status stowage_model_open(const char* path, const char* weights, stowage_model** out) {
  return guarded([&] {
    stowage_model*& to = given(out, "out");
    stowage::OpenOptions options;
    if (weights != nullptr) options.weights = weights;
    to = new stowage_model{stowage::open_model(std::string(&given(path, "path")), options)};
  });
}

stowage_status stowage_model_open_memory(const void* bytes, size_t byte_count, const void* weights,
                                         size_t weight_bytes, stowage_model** out) {
  return guarded([&] {
    stowage_model*& to = given(out, "out");
    const auto file = bytes_of(bytes, byte_count, "bytes");
    const auto more = bytes_of(weights, weight_bytes, "weights");
    to = new stowage_model{weights == nullptr ? stowage::open_model(file)
                                              : stowage::open_model(file, more)};
  });
}

void stowage_model_destroy(stowage_model* model) { delete model; }

const char* stowage_model_name(const stowage_model* model) {
  return model == nullptr ? "" : model->model->name().c_str();
}

size_t stowage_model_input_count(const stowage_model* model) {
  return model == nullptr ? 0 : model->model->inputs().size();
}

size_t stowage_model_output_count(const stowage_model* model) {
  return model == nullptr ? 0 : model->model->outputs().size();
}

stowage_status stowage_model_get_input(const stowage_model* model, size_t index,
                                       stowage_model_input* out) {
  return guarded([&] {
    const auto inputs = given(model, "model").model->inputs();
    expect_index(index, inputs.size(), "input");
    const stowage::ModelInput& input = inputs[index];
    stowage_model_input told = STOWAGE_MODEL_INPUT_INIT;
    told.name = input.name.c_str();
    told.dtype = stowage::c::number_of(input.dtype);
    std::fill_n(told.symbols, STOWAGE_MAX_RANK, "");
    told.rank = -1;
    if (input.dims.has_value()) {
      told.rank = static_cast<std::int32_t>(input.dims->size());
      for (std::size_t i = 0; i < std::min<std::size_t>(input.dims->size(), STOWAGE_MAX_RANK);
           ++i) {
        told.extents[i] = (*input.dims)[i].extent;
        told.symbols[i] = (*input.dims)[i].symbol.c_str();
      }
    }
    stowage::c::write(out, told, "out");
  });
}

stowage_status stowage_model_get_output_name(const stowage_model* model, size_t index,
                                             const char** out) {
  return guarded([&] {
    const char*& to = given(out, "out");
    const auto outputs = given(model, "model").model->outputs();
    expect_index(index, outputs.size(), "output");
    to = outputs[index].c_str();
  });
}

}  // extern "C"
