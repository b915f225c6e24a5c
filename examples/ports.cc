// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a model, which is read from memory: here that of the mapped file, elsewhere
// it may be a part of the program or come over a network.
//
//   ports MODEL [--shape NAME=1,3,224,224]...
//
// Shapes bind what the file leaves open. Without them open dims are printed as the file calls them,
// and outputs, whose shapes hang on them, by name.
#include <fcntl.h>
#include <stowage/stowage.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "common.h"

namespace {

using stowage::Error;
using stowage::ErrorCode;

/// A file as memory.
class MappedFile {
 public:
  explicit MappedFile(const std::string& file) {
    const int descriptor = open(file.c_str(), O_RDONLY);
    struct stat about = {};
    if (descriptor >= 0 && fstat(descriptor, &about) == 0 && about.st_size > 0) {
      size_ = static_cast<std::size_t>(about.st_size);
      data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    }
    if (descriptor >= 0) close(descriptor);
    if (data_ == MAP_FAILED) throw Error(ErrorCode::bad_input, file + " cannot be read");
  }

  ~MappedFile() { munmap(data_, size_); }

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

/// "[1, 3, height, width]"
std::string text(const std::vector<stowage::ModelDim>& dims) {
  std::string out;
  for (const stowage::ModelDim& dim : dims) {
    const std::string symbol = dim.symbol.empty() ? "?" : dim.symbol;
    out += (out.empty() ? "" : ", ") + (dim.extent < 0 ? symbol : std::to_string(dim.extent));
  }
  return "[" + out + "]";
}

std::string text(const stowage::Shape& shape) {
  std::vector<stowage::ModelDim> dims;
  for (const std::int64_t extent : shape.extents()) dims.push_back({extent, ""});
  return text(dims);
}

void print(const char* kind, const std::string& name, stowage::DType dtype,
           const std::string& shape) {
  std::printf("%-6s  %-24s  %-4s  %s\n", kind, name.c_str(),
              std::string(stowage::dtype_name(dtype)).c_str(), shape.c_str());
}

void run(const Arguments& arguments) {
  // The bytes are not needed any longer when open_model returns.
  const auto model = stowage::open_model(MappedFile(arguments.files[0]).bytes());
  const bool undecided = std::ranges::any_of(model->inputs(), [](const stowage::ModelInput& input) {
    return !input.dims || std::ranges::any_of(*input.dims, [](const stowage::ModelDim& dim) {
      return dim.extent < 0;
    });
  });
  if (undecided && arguments.shapes.empty()) {
    for (const stowage::ModelInput& input : model->inputs()) {
      print("input", input.name, input.dtype, input.dims ? text(*input.dims) : "any shape");
    }
    for (const std::string& name : model->outputs()) std::printf("output  %s\n", name.c_str());
    return;
  }
  const auto graph = stowage::specialise(*model, {.shapes = arguments.shapes});
  for (const stowage::Port& port : stowage::input_ports(*graph)) {
    print("input", port.name, port.dtype, text(port.shape));
  }
  for (const stowage::Port& port : stowage::output_ports(*graph)) {
    print("output", port.name, port.dtype, text(port.shape));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("ports", [&] { run(Arguments(argc, argv, 1, {"shape"})); });
}
