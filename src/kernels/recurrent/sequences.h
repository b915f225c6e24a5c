// SPDX-License-Identifier: Apache-2.0
// What all recurrent operators share: sequences of steps in one direction or both, a state that
// each step replaces, and where inputs, outputs and states lie.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/archive.h"

namespace stowage {

/// Operands lie as ONNX has them: x (time batch i), y (time direction batch o), states (direction
/// batch o), or with `batch_first` x (batch time i), y (batch time direction o), states (batch
/// direction o).
struct Sequences {
  std::int64_t steps = 0, batch = 0, inputs = 0, directions = 1;
  std::int64_t outputs = 0;  ///< elements of the state that a step gives out
  bool reverse = false;      ///< of the first direction; the second of two is always reversed
  bool batch_first = false;

  /// Offset of the inputs of a step.
  std::int64_t x_at(std::int64_t t, std::int64_t b) const {
    return (batch_first ? b * steps + t : t * batch + b) * inputs;
  }

  std::int64_t y_at(std::int64_t t, std::int64_t d, std::int64_t b) const {
    return (batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) *
           outputs;
  }

  /// Of a state of `width` elements.
  std::int64_t state_at(std::int64_t d, std::int64_t b, std::int64_t width) const {
    return (batch_first ? b * directions + d : d * batch + b) * width;
  }

  /// The step that is the k-th of a sequence of `length`.
  std::int64_t step(std::int64_t d, std::int64_t k, std::int64_t length) const {
    return reverse || d == 1 ? length - 1 - k : k;
  }

 protected:
  void sequence_fields(Archive& a) {
    a("steps", steps)("batch", batch)("inputs", inputs)("directions", directions);
    a("outputs", outputs)("reverse", reverse)("batch_first", batch_first);
  }
};

/// Pointers of a call; null where absent. Inputs are x, w, r, bias, lengths, h, in this order,
/// outputs y and the last h.
template <class T>
struct SequenceData {
  enum Input : int { kX, kW, kR, kB, kLengths, kH };

  const T *x, *w, *r, *b, *h;
  const std::int32_t* lengths;
  T *y, *y_h;
};

/// Input `i` of `args`, which has input<T>(i) and lists that may be shorter.
template <class T, class Args>
const T* input_of(const Args& args, int i) {
  const auto at = static_cast<std::size_t>(i);
  return at < args.in.size() ? args.template input<T>(at) : nullptr;
}

template <class T, class Args>
T* output_of(const Args& args, int i) {
  const auto at = static_cast<std::size_t>(i);
  return at < args.out.size() ? args.template output<T>(at) : nullptr;
}

template <class T, class Args>
SequenceData<T> sequence_data(const Args& args) {
  using Data = SequenceData<T>;
  return {input_of<T>(args, Data::kX), input_of<T>(args, Data::kW),
          input_of<T>(args, Data::kR), input_of<T>(args, Data::kB),
          input_of<T>(args, Data::kH), input_of<std::int32_t>(args, Data::kLengths),
          output_of<T>(args, 0),       output_of<T>(args, 1)};
}

/// Steps of a sequence.
template <class T>
std::int64_t length_of(const Sequences& s, const SequenceData<T>& data, std::int64_t b) {
  return data.lengths == nullptr ? s.steps : std::clamp<std::int64_t>(data.lengths[b], 0, s.steps);
}

/// A sequence of one direction, by the definition; `step(x)` makes the next state of `h`. walk.h
/// has what kernels do.
template <class T, class Step>
void run_sequence(const Sequences& s, const SequenceData<T>& data, std::int64_t d, std::int64_t b,
                  T* h, const Step& step) {
  const std::int64_t n = s.outputs, state = s.state_at(d, b, n);
  const std::int64_t length = length_of(s, data, b);
  for (std::int64_t j = 0; j < n; ++j) h[j] = data.h == nullptr ? T(0) : data.h[state + j];
  for (std::int64_t k = 0; k < length; ++k) {
    const std::int64_t t = s.step(d, k, length);
    step(data.x + s.x_at(t, b));
    if (data.y != nullptr) std::copy_n(h, n, data.y + s.y_at(t, d, b));
  }
  for (std::int64_t t = length; t < s.steps && data.y != nullptr; ++t) {
    std::fill_n(data.y + s.y_at(t, d, b), n, T(0));
  }
  if (data.y_h != nullptr) std::copy_n(h, n, data.y_h + state);
}

}  // namespace stowage
