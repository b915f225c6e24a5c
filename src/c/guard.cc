// SPDX-License-Identifier: Apache-2.0
#include "c/guard.h"

#include <cstdlib>
#include <new>
#include <stdexcept>

#include "base/text.h"

namespace stowage::c {
namespace {

struct LastError {
  stowage_status status = STOWAGE_OK;
  /// There was no memory for a sentence.
  bool exhausted = false;
  std::string what, sentence, trail;
};

thread_local LastError last;

constexpr const char* kExhausted = "memory is exhausted";

stowage_status keep(const Error& error) noexcept {
  last.status = static_cast<stowage_status>(error.code());
  try {
    last.what = error.what();
    last.sentence = error.sentence();
    last.trail = error.trail();
    last.exhausted = false;
  } catch (...) {
    last.exhausted = true;
  }
  return last.status;
}

}  // namespace

stowage_status failed() noexcept {
  try {
    try {
      throw;
    } catch (const Error& error) {
      return keep(error);
    } catch (const std::bad_alloc&) {
      return keep(Error(ErrorCode::limit, kExhausted));
    } catch (const std::length_error&) {
      return keep(Error(ErrorCode::limit, kExhausted));
    } catch (const std::exception& error) {
      return keep(Error(ErrorCode::internal, text("unexpected: ", std::string(error.what()))));
    } catch (...) {
      return keep(Error(ErrorCode::internal, "unexpected"));
    }
  } catch (...) {
    last.status = STOWAGE_LIMIT;
    last.exhausted = true;
    return last.status;
  }
}

void fail_null(std::string_view what) { fail(ErrorCode::usage, what, " is null"); }

void fail_size(std::string_view what, std::size_t size) {
  fail(ErrorCode::usage, what, ": its size is ", size,
       ", which is that of no version of the structure; begin with its INIT macro");
}

void fail_unknown_fields(std::string_view what) {
  fail(ErrorCode::usage, what, " has fields set that version ", stowage_version(),
       " of the library does not know");
}

char* copy_text(std::string_view text) {
  auto* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out == nullptr) throw std::bad_alloc();
  std::copy(text.begin(), text.end(), out);
  out[text.size()] = '\0';
  return out;
}

void expect_index(std::size_t index, std::size_t count, std::string_view what) {
  if (index < count) return;
  fail(ErrorCode::usage, "there is no ", what, " ", index, "; there are ", count);
}

}  // namespace stowage::c

using stowage::c::last;

extern "C" {

stowage_status stowage_last_status(void) { return last.status; }

const char* stowage_last_error(void) {
  return last.exhausted ? stowage::c::kExhausted : last.what.c_str();
}

const char* stowage_last_sentence(void) {
  return last.exhausted ? stowage::c::kExhausted : last.sentence.c_str();
}

const char* stowage_last_trail(void) { return last.exhausted ? "" : last.trail.c_str(); }

void stowage_free_text(char* text) { std::free(text); }

}  // extern "C"
