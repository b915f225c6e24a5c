// SPDX-License-Identifier: Apache-2.0
// Plans over memory of the caller: every input and output is bound.
#include <algorithm>
#include <cstring>

#include "base/index.h"
#include "base/text.h"
#include "stowage/convert.h"
#include "tests/suite/random_graphs.h"

namespace stowage::random_graphs {

namespace {

constexpr std::byte kPoison{0xFF};

/// As much memory as a port takes and no more; cells, gaps and what is behind them begin as NaN.
class PortMemory {
 public:
  explicit PortMemory(const PortFormat& format)
      : format_(format), storage_(format.bytes + format.alignment, kPoison) {
    const auto at = reinterpret_cast<std::uintptr_t>(storage_.data());
    data_ = storage_.data() + (format.alignment - at % format.alignment) % format.alignment;
  }

  MutableTensorView view() const { return {format_.dtype, format_.mapping, data_}; }

  std::size_t bytes() const { return format_.bytes; }

  void set(const Tensor& values) {
    Conversion(values.dtype(), row_major(), format_.dtype, format_.mapping)
        .run(values.data(), data_);
    written_.assign(data_, data_ + format_.bytes);
  }

  /// Nobody has written anywhere since `set`.
  bool unchanged() const { return std::equal(written_.begin(), written_.end(), data_); }

  /// Nobody has written into gaps or behind the last cell.
  bool stays_inside() const {
    const Mapping& m = format_.mapping;
    const auto size = idx(m.element_bytes());
    std::vector<std::int64_t> x(idx(m.shape().rank()));
    const auto poisoned = [&](std::size_t from, std::size_t to) {
      return std::all_of(data_ + from, data_ + to, [](std::byte b) { return b == kPoison; });
    };
    for (std::int64_t cell = 0; cell < m.cells(); ++cell) {
      if (m.inverse(cell, x) == Cell::gap && !poisoned(idx(cell) * size, idx(cell + 1) * size)) {
        return false;
      }
    }
    return poisoned(m.bytes(), format_.bytes);
  }

  Tensor values() const {
    Tensor out(format_.dtype, format_.mapping.shape());
    Conversion(format_.dtype, format_.mapping, out.dtype(), row_major()).run(data_, out.data());
    return out;
  }

 private:
  Mapping row_major() const {
    const Shape& shape = format_.mapping.shape();
    return {Layout::row_major(shape), shape, format_.mapping.element_bytes()};
  }

  PortFormat format_;
  std::vector<std::byte> storage_, written_;
  std::byte* data_ = nullptr;
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

std::string check_outputs(const Session& session, const std::vector<PortMemory>& outputs,
                          const std::vector<Tensor>& want) {
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const std::string& name = session.outputs()[o].name;
    if (!same_bits(outputs[o].values(), want[o])) {
      return text("output '", name, "' has other bits in bound memory");
    }
    if (!same_bits(session.output(static_cast<int>(o)), want[o])) {
      return text("output '", name, "' is read otherwise than it was written");
    }
    if (!outputs[o].stays_inside()) {
      return text("output '", name, "' is written outside of its cells");
    }
  }
  return "";
}

}  // namespace

std::string check_bound(const std::shared_ptr<const Plan>& plan,
                        const std::vector<std::vector<Tensor>>& inputs,
                        const std::vector<std::vector<Tensor>>& want) {
  Session session(plan);
  std::vector<PortMemory> in, out;
  for (int i = 0; i < static_cast<int>(session.inputs().size()); ++i) {
    in.emplace_back(session.input_format(i));
    session.bind_input(i, TensorView(in.back().view()), in.back().bytes());
  }
  for (int o = 0; o < static_cast<int>(session.outputs().size()); ++o) {
    out.emplace_back(session.output_format(o));
    session.bind_output(o, out.back().view(), out.back().bytes());
  }
  // The same memory holds one set of inputs after the other, without a word to the session.
  for (std::size_t set = 0; set < inputs.size(); ++set) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i].set(inputs[set][i]);
    session.run();
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i].unchanged()) return text("bound input ", i, " is written to");
    }
    const std::string why = check_outputs(session, out, want[set]);
    if (!why.empty()) return why;
  }
  // What the session has itself still does.
  for (std::size_t i = 0; i < in.size(); ++i) {
    session.set_input(static_cast<int>(i), inputs[0][i].view());
  }
  for (std::size_t o = 0; o < out.size(); ++o) session.unbind_output(static_cast<int>(o));
  session.run();
  for (std::size_t o = 0; o < out.size(); ++o) {
    if (!same_bits(session.output(static_cast<int>(o)), want[0][o])) {
      return text("output ", o, " has other bits after its memory was unbound");
    }
    if (!same_bits(out[o].values(), want.back()[o])) {
      return text("output ", o, " is written into memory that was unbound");
    }
  }
  return "";
}

}  // namespace stowage::random_graphs
