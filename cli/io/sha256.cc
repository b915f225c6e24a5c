// SPDX-License-Identifier: Apache-2.0
#include "cli/io/sha256.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/text.h"
#include "cli/io/file.h"

namespace stowage::cli {

std::string sha256_of_file(const std::string& path) {
  const InputFile file(path);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  bool good = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  std::vector<std::byte> block(1 << 20);
  for (std::int64_t at = 0; good && at < file.size();) {
    const std::int64_t n = std::min(file.size() - at, static_cast<std::int64_t>(block.size()));
    file.read(at, std::span(block).first(static_cast<std::size_t>(n)));
    good = EVP_DigestUpdate(context.get(), block.data(), static_cast<std::size_t>(n)) == 1;
    at += n;
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int bytes = 0;
  if (!good || EVP_DigestFinal_ex(context.get(), digest, &bytes) != 1) {
    fail(ErrorCode::internal, "OpenSSL cannot compute a SHA-256");
  }
  std::string out;
  for (unsigned int i = 0; i < bytes; ++i) {
    out += "0123456789abcdef"[digest[i] >> 4];
    out += "0123456789abcdef"[digest[i] & 15];
  }
  return out;
}

}  // namespace stowage::cli
