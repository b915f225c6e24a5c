// SPDX-License-Identifier: Apache-2.0
// bench_mat: obeys lines on its standard input and answers each with a line of JSON, the median
// microseconds of a call and of a memcpy that reads and writes as many bytes.
//   pack LANE W H C FROM TO THREADS SECONDS IN OUT
//   pixels FROM TO W H PACK NORM THREADS SECONDS IN OUT
// IN is a file of c, h, w scalars, or of interleaved pixels; OUT receives the Mat's bytes.
#include "stowage/stowage.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using stowage::Mat;

/// Median over at least five calls.
template <class F>
double median_us(double seconds, F&& f) {
  std::vector<double> times;
  const auto begin = Clock::now();
  const std::chrono::duration<double> limit(seconds);
  while (times.size() < 5 || Clock::now() - begin < limit) {
    const auto start = Clock::now();
    f();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2),
                   times.end());
  return times[times.size() / 2];
}

double memcpy_us(double seconds, std::size_t bytes) {
  std::vector<char> from(bytes, 1), to(bytes);
  return median_us(seconds, [&] {
    std::memcpy(to.data(), from.data(), bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
  });
}

void answer(const Mat& out, std::size_t in_bytes, double us, double seconds,
            const std::string& file) {
  std::ofstream(file, std::ios::binary)
      .write(static_cast<const char*>(out.data), static_cast<std::streamsize>(out.bytes()));
  std::cout << "{\"us\": " << us
            << ", \"memcpy_us\": " << memcpy_us(seconds, (in_bytes + out.bytes()) / 2) << "}"
            << std::endl;
}

void pack(std::istringstream& words) {
  std::size_t lane = 0;
  int w = 0, h = 0, c = 0, from = 0, to = 0, threads = 0;
  double seconds = 0;
  std::string in, out;
  words >> lane >> w >> h >> c >> from >> to >> threads >> seconds >> in >> out;
  Mat planar(w, h, c, lane), packed, result;
  std::ifstream file(in, std::ios::binary);
  for (int q = 0; q < c; ++q) {
    auto* const plane = static_cast<char*>(planar.data) + planar.cstep * lane * std::size_t(q);
    file.read(plane, static_cast<std::streamsize>(planar.plane() * lane));
  }
  stowage::convert_packing(planar, packed, from);
  const double us = median_us(
      seconds, [&] { stowage::convert_packing(packed, result, to, {.threads = threads}); });
  answer(result, packed.bytes(), us, seconds, out);
}

void pixels(std::istringstream& words) {
  int from = 0, to = 0, w = 0, h = 0, packs = 0, norm = 0, threads = 0;
  double seconds = 0;
  std::string in, out;
  words >> from >> to >> w >> h >> packs >> norm >> threads >> seconds >> in >> out;
  constexpr stowage::PixelFormat kFormats[] = {
      stowage::PixelFormat::gray, stowage::PixelFormat::rgb,  stowage::PixelFormat::bgr,
      stowage::PixelFormat::gray, stowage::PixelFormat::rgba, stowage::PixelFormat::bgra};
  stowage::Pixels picture{kFormats[from], w, h};
  std::vector<char> bytes(std::size_t(w) * std::size_t(h) *
                          std::size_t(stowage::pixel_channels(picture.format)));
  std::ifstream(in, std::ios::binary)
      .read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  picture.data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  const float means[] = {104, 117, 123, 128}, norms[] = {1 / 58.f, 1 / 57.f, 1 / 56.f, 1 / 64.f};
  stowage::FromPixels how;
  how.to = kFormats[to];
  const auto channels = std::size_t(stowage::pixel_channels(*how.to));
  if (norm != 0) {
    how.mean = std::span(means).first(channels);
    how.norm = std::span(norms).first(channels);
  }
  how.elempack = packs;
  how.threads = threads;
  Mat result;
  const double us = median_us(seconds, [&] { stowage::from_pixels(picture, result, how); });
  answer(result, bytes.size(), us, seconds, out);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string verb;
    words >> verb;
    try {
      verb == "pack" ? pack(words) : pixels(words);
    } catch (const stowage::Error& e) {
      std::cout << "{\"error\": \"" << e.what() << "\"}" << std::endl;
    }
  }
}
