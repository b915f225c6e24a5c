// SPDX-License-Identifier: Apache-2.0
// The keys of deployment files: MACE's, and Stowage's own.
#pragma once

#include <string_view>

namespace stowage::cli {

/// What a key is to Stowage.
enum class Use { read, ignored };

struct Key {
  std::string_view name;
  Use use;
};

inline constexpr Key kTopKeys[] = {
    {"library_name", Use::read},         {"models", Use::read},
    {"target_abis", Use::ignored},       {"target_socs", Use::ignored},
    {"embed_model_data", Use::ignored},  {"build_type", Use::ignored},
    {"linkshared", Use::ignored},        {"model_graph_format", Use::ignored},
    {"model_data_format", Use::ignored},
};

/// Of a model and of its subgraph: MACE's own files disagree on where some of them stand.
inline constexpr Key kModelKeys[] = {
    {"platform", Use::read},
    {"model_file_path", Use::read},
    {"model_sha256_checksum", Use::read},
    {"weight_file_path", Use::read},
    {"weight_sha256_checksum", Use::ignored},
    {"subgraphs", Use::read},
    {"runtime", Use::read},
    {"data_type", Use::read},
    {"num_threads", Use::read},
    {"quantize", Use::read},
    {"preprocess", Use::read},
    {"input_tensors", Use::read},
    {"input_shapes", Use::read},
    {"input_data_types", Use::read},
    {"input_data_formats", Use::read},
    {"input_data_format", Use::read},
    {"input_ranges", Use::read},
    {"output_tensors", Use::read},
    {"output_shapes", Use::read},
    {"output_data_types", Use::read},
    {"output_data_formats", Use::read},
    {"output_data_format", Use::read},
    {"validation_inputs_data", Use::read},
    {"validation_outputs_data", Use::read},
    {"validation_threshold", Use::read},
    {"accuracy_validation_script", Use::ignored},
    {"backend", Use::ignored},
    {"check_tensors", Use::ignored},
    {"check_shapes", Use::ignored},
    {"limit_opencl_kernel_time", Use::read},
    {"opencl_queue_window_size", Use::read},
    {"cl_mem_type", Use::read},
    {"obfuscate", Use::ignored},
    {"winograd", Use::read},
    {"quantize_schema", Use::ignored},
    {"quantize_large_weights", Use::ignored},
    {"quantize_range_file", Use::ignored},
    {"change_concat_ranges", Use::ignored},
    {"graph_optimize_options", Use::ignored},
    {"model_graph_format", Use::ignored},
    {"model_data_format", Use::ignored},
};

}  // namespace stowage::cli
