// SPDX-License-Identifier: Apache-2.0
#include "import/foreign_file.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>

#include "base/text.h"

namespace stowage {

namespace {

using std::string_view_literals::operator""sv;

constexpr std::size_t kHeadBytes = 512, kZipName = 30;

struct Kind {
  std::size_t at;  ///< where `magic` lies
  std::string_view magic;
  ErrorCode code;
  std::string_view what;
};

constexpr ErrorCode kModel = ErrorCode::unsupported, kOther = ErrorCode::bad_input;

/// The first that fits counts.
constexpr Kind kKinds[] = {
    {0, "version https://git-lfs"sv, kOther,
     "it is a pointer of Git LFS, not the file itself; run 'git lfs pull' where it came from"},
    {0, "PK\3\4"sv, kOther, "it is a ZIP archive; unpack it, and give the model inside"},
    {0, "\x1f\x8b"sv, kOther, "it is compressed by gzip; unpack it first"},
    {0,
     "\xfd"
     "7zXZ"sv,
     kOther, "it is compressed by xz; unpack it first"},
    {0, "\x28\xb5\x2f\xfd"sv, kOther, "it is compressed by zstd; unpack it first"},
    {0, "7z\xbc\xaf"sv, kOther, "it is a 7z archive; unpack it, and give the model inside"},
    {257, "ustar"sv, kOther, "it is a tar archive; unpack it, and give the model inside"},
    {0, "\x89HDF\r\n"sv, kModel,
     "it is an HDF5 file, such as Keras writes; export the model as TFLite or ONNX"},
    {0, "\x80\2"sv, kModel,
     "it is a Python pickle, such as PyTorch writes; export the model with torch.onnx.export"},
    {0, "\x80\3"sv, kModel,
     "it is a Python pickle, such as PyTorch writes; export the model with torch.onnx.export"},
    {0, "\x80\4"sv, kModel,
     "it is a Python pickle, such as PyTorch writes; export the model with torch.onnx.export"},
    {5, "\0\0\0{\""sv, kModel, "it holds weights alone, as safetensors; export the model as ONNX"},
    {0, "GGUF"sv, kModel, "it is a GGUF file; ONNX, TFLite and ncnn are read"},
    {0, "<?xml"sv, kModel, "it is XML, such as OpenVINO writes; export the model as ONNX"},
    {0, "\x93NUMPY"sv, kOther, "it is a NumPy array, no model"},
    {0, "\x89PNG"sv, kOther, "it is a picture, no model"},
    {0, "\xff\xd8\xff"sv, kOther, "it is a picture, no model"},
};

bool is_html(std::string_view head) {
  constexpr std::string_view kBegins[] = {"<!doctype html", "<html", "<head"};
  const std::size_t first = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (first == head.npos) return false;
  head.remove_prefix(first);
  return std::any_of(std::begin(kBegins), std::end(kBegins), [&](std::string_view begin) {
    return head.size() >= begin.size() &&
           std::equal(begin.begin(), begin.end(), head.begin(), [](char want, char have) {
             return want ==
                    (have >= 'A' && have <= 'Z' ? static_cast<char>(have - 'A' + 'a') : have);
           });
  });
}

/// Prose, JSON, YAML: printable, with lines.
bool is_text(std::string_view head) {
  return head.size() > 8 && std::all_of(head.begin(), head.end(), [](char c) {
           return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
         });
}

}  // namespace

void refuse_foreign(const InputFile& file) {
  std::array<char, kHeadBytes> bytes;
  const auto size =
      static_cast<std::size_t>(std::min<std::int64_t>(file.size(), std::ssize(bytes)));
  file.read(0, std::as_writable_bytes(std::span(bytes).first(size)));
  const std::string_view head(bytes.data(), size);
  if (is_html(head)) {
    fail(kOther, "it is a web page, perhaps one that leads to the model; download the file itself");
  }
  // The name of the first file in a ZIP archive says who wrote it.
  if (head.starts_with("PK\3\4") && head.size() > kZipName) {
    if (head.find("/data.pkl") != head.npos) {
      fail(kModel, "it is a PyTorch checkpoint; export the model with torch.onnx.export");
    }
    if (head.substr(kZipName).starts_with("metadata.json")) {
      fail(kModel, "it is a Keras model; export it as TFLite or ONNX");
    }
  }
  for (const Kind& kind : kKinds) {
    if (head.size() > kind.at && head.substr(kind.at).starts_with(kind.magic)) {
      fail(kind.code, kind.what);
    }
  }
  if (is_text(head)) {
    fail(kOther,
         "it is text; a model is an .onnx, a .tflite or an ncnn .param that begins with "
         "7767517");
  }
}

}  // namespace stowage
