// SPDX-License-Identifier: Apache-2.0
#include "cli/noise_runs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cli/model.h"

namespace stowage::cli {
namespace {

class Noise {
 public:
  void fill(Tensor& tensor) {
    const auto cells = static_cast<std::size_t>(tensor.mapping().cells());
    for (std::size_t i = 0; i < cells; ++i) {
      const std::uint32_t bits = next();
      switch (tensor.dtype()) {
        case DType::f32:
          tensor.as<float>()[i] = real(bits);
          break;
        case DType::f64:
          tensor.as<double>()[i] = real(bits);
          break;
        // 1.0 or 0.5 with either sign, without arithmetic on halves.
        case DType::f16:
          tensor.as<std::uint16_t>()[i] =
              static_cast<std::uint16_t>(0x3800 | (bits >> 31) << 15 | (bits >> 20 & 1) << 10);
          break;
        case DType::bf16:
          tensor.as<std::uint16_t>()[i] =
              static_cast<std::uint16_t>(0x3f00 | (bits >> 31) << 15 | (bits >> 20 & 1) << 7);
          break;
        default: {
          // The low byte of any integer.
          const auto width = static_cast<std::size_t>(dtype_bytes(tensor.dtype()));
          tensor.data()[i * width] = static_cast<std::byte>(bits >> 31);
        }
      }
    }
  }

 private:
  std::uint32_t next() { return state_ = state_ * 1664525u + 1013904223u; }

  static float real(std::uint32_t bits) {
    return static_cast<float>(bits >> 8) / static_cast<float>(1 << 23) - 1;
  }

  std::uint32_t state_ = 42;
};

}  // namespace

NoiseRuns::NoiseRuns(const PlanReport& plan, Session& session) : session_(session) {
  Noise noise;
  for (const PlanReport::Boundary& input : plan.inputs) {
    inputs_.emplace_back(input.port.dtype, input.port.shape, input.layout);
    noise.fill(inputs_.back());
  }
  for (const PlanReport::Boundary& output : plan.outputs) {
    outputs_.emplace_back(output.port.dtype, output.port.shape, output.layout);
  }
}

NoiseRuns::Times NoiseRuns::once() {
  const Stopwatch watch;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    session_.set_input(static_cast<int>(i), inputs_[i].view());
  }
  const double given = watch.ms();
  session_.run();
  const double ran = watch.ms();
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    session_.read_output(static_cast<int>(i), outputs_[i].mutable_view());
  }
  const double whole = watch.ms();
  return {whole, given + (whole - ran)};
}

std::vector<std::vector<double>> NoiseRuns::profile(int most, double ms) {
  std::vector<std::vector<double>> out;
  const Stopwatch watch;
  session_.profile(true);
  do {
    session_.run();
    const auto times = session_.step_us();
    out.emplace_back(times.begin(), times.end());
  } while (static_cast<int>(out.size()) < most && watch.ms() < ms);
  session_.profile(false);
  return out;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<double> step_medians(const std::vector<std::vector<double>>& runs) {
  std::vector<double> out;
  for (std::size_t i = 0; i < runs.at(0).size(); ++i) {
    std::vector<double> all;
    for (const std::vector<double>& run : runs) all.push_back(run[i]);
    out.push_back(median(std::move(all)));
  }
  return out;
}

}  // namespace stowage::cli
