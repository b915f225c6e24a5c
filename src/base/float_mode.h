// SPDX-License-Identifier: Apache-2.0
// What a thread's floating-point unit does with denormals.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64) || defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace stowage {

/// The calling thread's control register (MXCSR, FPCR); 0 where there is none that matters.
inline std::uint64_t float_mode() noexcept {
#if defined(__x86_64__) || defined(_M_X64) || defined(__SSE2__)
  return _mm_getcsr();
#elif defined(__aarch64__)
  std::uint64_t mode;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
  return mode;
#else
  return 0;
#endif
}

inline void set_float_mode([[maybe_unused]] std::uint64_t mode) noexcept {
#if defined(__x86_64__) || defined(_M_X64) || defined(__SSE2__)
  _mm_setcsr(static_cast<unsigned>(mode));
#elif defined(__aarch64__)
  __asm__ __volatile__("msr fpcr, %0" : : "r"(mode) : "memory");
#endif
}

/// While it lives, the calling thread reads denormal f32 and f64 operands as zeros of their sign
/// and returns such zeros instead of denormal results. What was set before comes back at its end,
/// the flags of exceptions included. Conversions from and to half precision are not affected on
/// x86 and 64-bit Arm; 32-bit NEON always flushes.
class FlushDenormals {
 public:
  FlushDenormals() noexcept : before_(float_mode()) { set_float_mode(before_ | kFlush); }

  ~FlushDenormals() { set_float_mode(before_); }

  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#if defined(__aarch64__)
  static constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;  // FZ
#else
  static constexpr std::uint64_t kFlush = 0x8040;  // FTZ, DAZ
#endif
  std::uint64_t before_;
};

}  // namespace stowage
