// SPDX-License-Identifier: Apache-2.0
// JPEG through TurboJPEG.
#include <turbojpeg.h>

#include <memory>
#include <string_view>

#include "base/text.h"
#include "cli/io/image.h"

namespace stowage::cli {
namespace {

constexpr std::string_view kCutShort = "the JPEG is cut short; copy or download it again";

struct Destroy {
  void operator()(void* handle) const { tjDestroy(handle); }
};

}  // namespace

Picture decode_jpeg(std::span<const std::byte> file) {
  const std::unique_ptr<void, Destroy> handle(tjInitDecompress());
  if (handle == nullptr) fail(ErrorCode::limit, "no memory for the JPEG");
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  if (tjDecompressHeader3(handle.get(), bytes, file.size(), &width, &height, &subsampling,
                          &colours) != 0) {
    fail(ErrorCode::bad_input, "the JPEG is damaged: ", tjGetErrorStr2(handle.get()));
  }
  // Before its first scan a file has no size.
  if (width == 0 || height == 0) fail(ErrorCode::bad_input, kCutShort);
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) {
    fail(ErrorCode::unsupported, "the JPEG has four inks (CMYK); convert it to RGB");
  }
  Picture picture = new_picture(width, height);
  // A progressive file may ask for any number of passes over the picture.
  const int flags = TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS;
  if (tjDecompress2(handle.get(), bytes, file.size(), picture.pixels.data(), width, 0, height,
                    TJPF_RGB, flags) != 0) {
    // Warnings about stray bytes are common and harmless; missing data is neither.
    const std::string_view problem = tjGetErrorStr2(handle.get());
    const bool warning = tjGetErrorCode(handle.get()) == TJERR_WARNING;
    if (problem.find("remature") != std::string_view::npos) {
      fail(ErrorCode::bad_input, kCutShort);
    }
    if (!warning) fail(ErrorCode::bad_input, "the JPEG is damaged: ", problem);
  }
  return picture;
}

}  // namespace stowage::cli
