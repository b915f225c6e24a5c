// SPDX-License-Identifier: Apache-2.0
// One description of a struct's fields, from which its bytes, its text and its comparison come.
//
//   struct Window {
//     std::int64_t kernel = 1, stride = 1;
//     void fields(Archive& a) { a("kernel", kernel), a("stride", stride); }
//   };
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace stowage {

class Archive;

template <class T>
concept HasFields = requires(T& t, Archive& a) {
  t.fields(a);
};

/// Visits fields in order and writes them, or replaces them by what it reads. A type takes part
/// with a member `fields(Archive&)` or a free function `archive(Archive&, T&)`.
class Archive {
 public:
  virtual ~Archive() = default;

  /// Values are replaced by what is read; else they are only looked at.
  virtual bool reading() const { return false; }

  template <class T>
  Archive& operator()(std::string_view name, T& value) {
    field(name);
    visit(value);
    return *this;
  }

  virtual void integer(std::int64_t& value) = 0;
  virtual void real(double& value) = 0;
  virtual void text(std::string& value) = 0;
  /// Raw bytes, of a size that both sides know.
  virtual void raw(std::span<std::byte> bytes) = 0;
  /// The elements that follow; returns how many there are. Each takes a byte at least.
  virtual std::size_t begin_list(std::size_t size) = 0;
  virtual void end_list() = 0;

 protected:
  virtual void field(std::string_view name) = 0;
  virtual void begin_struct() = 0;
  virtual void end_struct() = 0;

 private:
  template <class T>
  void visit(T& value) {
    if constexpr (std::is_enum_v<T> || std::integral<T>) {
      auto v = static_cast<std::int64_t>(value);
      integer(v);
      if (reading()) value = static_cast<T>(v);
    } else if constexpr (std::floating_point<T>) {
      auto v = static_cast<double>(value);
      real(v);
      if (reading()) value = static_cast<T>(v);
    } else if constexpr (std::same_as<T, std::string>) {
      text(value);
    } else if constexpr (HasFields<T>) {
      begin_struct();
      value.fields(*this);
      end_struct();
    } else {
      archive(*this, value);
    }
  }

  template <class T>
  friend void archive(Archive& a, std::vector<T>& list) {
    const std::size_t count = a.begin_list(list.size());
    if (a.reading()) list.resize(count);
    for (T& element : list) a.visit(element);
    a.end_list();
  }

  template <class T, std::size_t N>
  friend void archive(Archive& a, std::array<T, N>& list) {
    a.begin_list(N);
    for (T& element : list) a.visit(element);
    a.end_list();
  }

  template <class T>
  friend void archive(Archive& a, std::optional<T>& value) {
    const std::size_t count = a.begin_list(value.has_value() ? 1 : 0);
    if (a.reading() && count == 0) value.reset();
    if (a.reading() && count != 0) value.emplace();
    if (value) a.visit(*value);
    a.end_list();
  }
};

/// Appends to `out`: integers and reals in eight bytes, little-endian machines only.
class ByteWriter final : public Archive {
 public:
  explicit ByteWriter(std::vector<std::byte>& out) : out_(out) {}

  void integer(std::int64_t& value) override;
  void real(double& value) override;
  void text(std::string& value) override;
  void raw(std::span<std::byte> bytes) override;
  std::size_t begin_list(std::size_t size) override;

  void end_list() override {}

 private:
  void field(std::string_view) override {}

  void begin_struct() override {}

  void end_struct() override {}

  std::vector<std::byte>& out_;
};

/// Reads what ByteWriter wrote. Throws Error(bad_input) when the bytes end early or a length is
/// larger than what is left.
class ByteReader final : public Archive {
 public:
  explicit ByteReader(std::span<const std::byte> in) : in_(in) {}

  std::size_t left() const { return in_.size(); }

  bool reading() const override { return true; }

  void integer(std::int64_t& value) override;
  void real(double& value) override;
  void text(std::string& value) override;
  void raw(std::span<std::byte> bytes) override;
  std::size_t begin_list(std::size_t size) override;

  void end_list() override {}

 private:
  void field(std::string_view) override {}

  void begin_struct() override {}

  void end_struct() override {}

  std::span<const std::byte> in_;
};

/// "name=3 window={kernel=3 stride=1} pads=[1 1]", for people.
class TextWriter final : public Archive {
 public:
  const std::string& result() const { return out_; }

  void integer(std::int64_t& value) override;
  void real(double& value) override;
  void text(std::string& value) override;
  void raw(std::span<std::byte> bytes) override;
  std::size_t begin_list(std::size_t size) override;
  void end_list() override;

 private:
  void field(std::string_view name) override;
  void begin_struct() override;
  void end_struct() override;
  void space();

  std::string out_;
};

/// The bytes of a value that takes part.
template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  std::vector<std::byte> out;
  ByteWriter writer(out);
  writer("", const_cast<T&>(value));  // a writer changes nothing
  return out;
}

template <class T>
std::string text_of(const T& value) {
  TextWriter writer;
  writer("", const_cast<T&>(value));
  return writer.result();
}

}  // namespace stowage
