// SPDX-License-Identifier: Apache-2.0
// What a kernel is: a name, a block of parameters, and functions over them. An offer and a step of
// a plan hold {KernelDef, parameters}, so that a plan is data: it can be printed, compared, kept as
// bytes, and run by several sessions at once.
//
//   constexpr KernelDef kCast = kernel_def<CastParams, bind_cast, run_cast>("cast");
//
//   parameters   what the planner chose, O(1) in the extents: windows, mappings, attributes
//   bound        what a run reads: tables over extents; made by each session for itself
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.h"
#include "stowage/tensor.h"

namespace stowage {

class ThreadPool;
struct Launch;
struct LaunchArgs;
struct Post;

/// What a kernel is called with. Inputs that are absent are null.
struct KernelArgs {
  std::span<const std::byte* const> in;
  std::span<std::byte* const> out;
  std::byte* scratch = nullptr;
  ThreadPool* pool = nullptr;  ///< may be null

  template <class T>
  const T* input(std::size_t i) const {
    return reinterpret_cast<const T*>(in[i]);
  }

  /// Element `at` of an input; null where the input is absent or `i` is none.
  template <class T>
  const T* optional_input(int i, std::int64_t at = 0) const {
    if (i < 0 || static_cast<std::size_t>(i) >= in.size()) return nullptr;
    const T* data = input<T>(static_cast<std::size_t>(i));
    return data == nullptr ? nullptr : data + at;
  }

  template <class T>
  T* output(std::size_t i) const {
    return reinterpret_cast<T*>(out[i]);
  }
};

/// What a kernel may look at when it is bound: the bytes of inputs that are constants, in the
/// layouts of the offer; null for all others.
struct BindArgs {
  std::span<const std::byte* const> constants = {};

  template <class T>
  const T* constant(std::size_t i) const {
    return i < constants.size() ? reinterpret_cast<const T*>(constants[i]) : nullptr;
  }
};

/// A row of a table of kernels: one of the CPU has `bind` and `run`, one of a device `launch`.
/// Contract of `run`: tails of inputs hold zero; the kernel leaves
/// zero in the tails of its outputs and does not touch gaps. Buffers are 64-byte aligned and may be
/// read up to 64 bytes behind their last cell.
struct KernelDef {
  std::string_view name;  ///< as plans print it: "conv_blocked"; no two kernels share one
  void (*fields)(Archive&, void* params) = nullptr;  ///< visits the parameters
  std::shared_ptr<void> (*make)() = nullptr;         ///< default parameters, for `fields` to fill
  std::shared_ptr<void> (*bind)(const void* params, const BindArgs&) = nullptr;
  void (*run)(void* bound, const KernelArgs&) = nullptr;
  /// It applies this list of posts to output 0; null: none but the empty list.
  bool (*takes)(std::span<const Post>) = nullptr;
  /// Only a reference may: it throws Error(bad_input) for what only the data can show.
  bool may_throw = false;
  Launch (*launch)(const void* params, const LaunchArgs&) = nullptr;
};

namespace kernel_detail {

template <class P>
void fields(Archive& a, void* params) {
  static_cast<P*>(params)->fields(a);
}

template <class P>
std::shared_ptr<void> make() {
  return std::make_shared<P>();
}

template <auto Bind, class P>
auto call_bind(const P& params, const BindArgs& args) {
  if constexpr (std::invocable<decltype(Bind), const P&, const BindArgs&>) {
    return Bind(params, args);
  } else {
    return Bind(params);
  }
}

template <auto Bind, class P>
using Bound = decltype(call_bind<Bind>(std::declval<const P&>(), std::declval<const BindArgs&>()));

template <class P, auto Bind>
std::shared_ptr<void> bind(const void* params, const BindArgs& args) {
  return std::make_shared<Bound<Bind, P>>(call_bind<Bind>(*static_cast<const P*>(params), args));
}

template <class P>
P itself(const P& params) {
  return params;
}

template <class B, auto Run>
void run(void* bound, const KernelArgs& args) {
  Run(*static_cast<B*>(bound), args);
}

}  // namespace kernel_detail

/// A kernel that is bound first: `Bind(params)` or `Bind(params, BindArgs)` makes what
/// `Run(bound, KernelArgs)` takes.
template <class P, auto Bind, auto Run>
constexpr KernelDef kernel_def(std::string_view name,
                               bool (*takes)(std::span<const Post>) = nullptr) {
  using B = kernel_detail::Bound<Bind, P>;
  static_assert(noexcept(Run(std::declval<B&>(), std::declval<const KernelArgs&>())),
                "a kernel only computes: it is noexcept");
  return {name,
          kernel_detail::fields<P>,
          kernel_detail::make<P>,
          kernel_detail::bind<P, Bind>,
          kernel_detail::run<B, Run>,
          takes};
}

/// A kernel that runs from its parameters alone.
template <class P, auto Run>
constexpr KernelDef kernel_def(std::string_view name) {
  return kernel_def<P, kernel_detail::itself<P>, Run>(name);
}

/// A kernel bound by a session. Belongs to it alone: a run may keep its working state there.
class BoundKernel {
 public:
  BoundKernel() = default;

  BoundKernel(const KernelDef& def, std::shared_ptr<void> bound)
      : def_(&def), bound_(std::move(bound)) {}

  bool may_throw() const { return def_->may_throw; }

  /// Throws only where KernelDef::may_throw.
  void run(const KernelArgs& args) const { def_->run(bound_.get(), args); }

 private:
  const KernelDef* def_ = nullptr;
  std::shared_ptr<void> bound_;
};

/// A kernel and its parameters: all that an offer or a step knows. Immutable; compared by kernel
/// and bytes.
class KernelCall {
 public:
  KernelCall() = default;

  template <class P>
  KernelCall(const KernelDef& def, P params)
      : def_(&def), params_(std::make_shared<const P>(std::move(params))) {}

  /// Reads what `fields` wrote. Throws Error(bad_input).
  static KernelCall read(const KernelDef& def, Archive& in);

  explicit operator bool() const { return def_ != nullptr; }

  const KernelDef& def() const { return *def_; }

  std::string_view name() const { return def_ == nullptr ? std::string_view() : def_->name; }

  /// Visits the parameters for writing.
  void write(Archive& out) const;

  BoundKernel bind(const BindArgs& args = {}) const {
    return {*def_, def_->bind(params_.get(), args)};
  }

  /// Of a kernel that has one.
  Launch launch(const LaunchArgs& args) const;

  std::vector<std::byte> bytes() const;
  /// "max_pool {kind=1 w={...}}"
  std::string text() const;

  friend bool operator==(const KernelCall& a, const KernelCall& b) {
    return a.def_ == b.def_ && (a.params_ == b.params_ || a.bytes() == b.bytes());
  }

 private:
  const KernelDef* def_ = nullptr;
  std::shared_ptr<const void> params_;
};

void archive(Archive& a, Layout& layout);
void archive(Archive& a, Shape& shape);
void archive(Archive& a, Mapping& mapping);
/// Shape, layout, dtype and bytes.
void archive(Archive& a, std::shared_ptr<const Tensor>& tensor);

}  // namespace stowage
