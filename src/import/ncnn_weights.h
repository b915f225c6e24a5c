// SPDX-License-Identifier: Apache-2.0
// The weights of ncnn's layers. A .bin file has no names and no sizes: layers read it one after the
// other, each as many numbers as its parameters say. So which weights a layer has is a row here,
// beside its import rule, and a file can be checked before anything is made of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "import/ncnn_file.h"
#include "stowage/tensor.h"

namespace stowage {

struct NcnnWeight {
  /// What numbers that are made up look like: those of a product, of a scale, of a shift.
  enum class Like { product, one, zero };

  Ints extents;
  Like like = Like::zero;
  /// A tag stands before it that may say that it is stored in fewer bits.
  bool tagged = false;
};

/// In the order of the file. Throws Error(bad_input) for counts that make no sense.
std::vector<NcnnWeight> ncnn_weights(const NcnnLayer& layer);

/// Why there is no model with this layer: weights that we cannot read, or other parameters. Empty
/// where there is no such reason.
std::string ncnn_unsupported(const NcnnLayer& layer);

using NcnnTensors = std::vector<std::shared_ptr<const Tensor>>;

/// Reads the weights of one layer after the other.
class NcnnWeightFile {
 public:
  explicit NcnnWeightFile(const InputFile& file) : file_(file) {}

  /// Throws Error(bad_input) when the file ends before and for storage that is unknown,
  /// Error(unsupported) for int8.
  NcnnTensors read(const NcnnLayer& layer, ImportBudget& budget);
  /// Throws Error(bad_input) unless all of it has been read.
  void expect_end() const;

 private:
  enum class Storage { f32, f16, bf16, book };

  static Storage storage_of(std::uint32_t tag);
  Tensor read(const NcnnWeight& weight);
  std::vector<std::byte> take(std::int64_t bytes);
  void read_floats(std::span<float> into);

  const InputFile& file_;
  std::int64_t at_ = 0;
};

/// Made-up weights, the same every time: products keep the size of what goes in.
NcnnTensors generated_weights(const NcnnLayer& layer, ImportBudget& budget);

}  // namespace stowage
