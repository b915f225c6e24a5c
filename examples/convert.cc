// SPDX-License-Identifier: Apache-2.0
// A tensor of floats from one layout to another. It needs the core library alone.
//
//   convert IN OUT SHAPE FROM TO
//   convert picture.f32 packed.f32 n=1,c=3,h=4,w=5 NHWC nChw4c
//
// Files hold floats as they lie in memory, padding included.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "common.h"

namespace {

using stowage::Error;
using stowage::ErrorCode;
using stowage::Layout;
using stowage::Tensor;

Tensor read(const std::string& file, const stowage::Shape& shape, const Layout& layout) {
  Tensor tensor(stowage::DType::f32, shape, layout);
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) throw Error(ErrorCode::bad_input, file + " cannot be read");
  const auto bytes = static_cast<std::size_t>(in.tellg());
  if (bytes != tensor.bytes()) {
    throw Error(ErrorCode::bad_input, file + " has " + std::to_string(bytes) + " bytes, but " +
                                          shape.text() + " takes " +
                                          std::to_string(tensor.bytes()) + " in " + layout.text());
  }
  in.seekg(0);
  in.read(reinterpret_cast<char*>(tensor.data()), static_cast<std::streamsize>(bytes));
  if (!in) throw Error(ErrorCode::bad_input, file + " cannot be read");
  return tensor;
}

/// The file appears as a whole or not at all.
void write(const std::string& file, const Tensor& tensor) {
  const std::string part = file + ".part";
  std::ofstream out(part, std::ios::binary);
  out.write(reinterpret_cast<const char*>(tensor.data()),
            static_cast<std::streamsize>(tensor.bytes()));
  out.close();
  std::error_code failed;
  if (out) std::filesystem::rename(part, file, failed);
  if (!out || failed) {
    std::filesystem::remove(part, failed);
    throw Error(ErrorCode::bad_input, file + " cannot be written");
  }
}

void run(const std::vector<std::string>& words) {
  const Layout from = Layout::parse(words[3]), to = Layout::parse(words[4]);
  const Tensor before = read(words[0], stowage::Shape::parse(words[2]), from);
  const Tensor after = stowage::convert(before, to);
  write(words[1], after);

  const stowage::Mapping::CellCounts cells = after.mapping().count();
  std::printf("%s -> %s: %lld elements, %lld cells of tail, %lld of gap\n", from.text().c_str(),
              to.text().c_str(), static_cast<long long>(cells.data),
              static_cast<long long>(cells.tail), static_cast<long long>(cells.gap));
}

}  // namespace

int main(int argc, char** argv) {
  return run_program("convert", [&] { run(Arguments(argc, argv, 5, {}).files); });
}
