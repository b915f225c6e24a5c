// SPDX-License-Identifier: Apache-2.0
#include "kernels/accessors.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/index.h"
#include "base/text.h"

namespace stowage {

namespace {

constexpr std::size_t kMostStrides = 8;

// BoundsRow as a kernel sees it.
constexpr int kBoundsColumns = sizeof(BoundsRow) / sizeof(std::int32_t);
constexpr std::size_t kThereColumn = offsetof(BoundsRow, there) / sizeof(std::int32_t);
constexpr std::size_t kPaddedColumn = offsetof(BoundsRow, padded) / sizeof(std::int32_t);

/// A digit as an expression needs it: what does not depend on extents is in the text.
struct TextDigit {
  Digit digit;
  std::int64_t modulus = 0;  ///< 0: the topmost of its axis
  std::size_t argument = 0;  ///< number of its stride
};

bool is_image(const LaunchView& view) { return view.memory == Place::Memory::image; }

/// The digits in the order of the layout's text, without the lane of texels.
std::vector<TextDigit> text_digits(const LaunchView& view) {
  const Mapping& m = view.mapping;
  const int texels = texel_axis(m);
  const auto digits = is_image(view) ? m.digits() : m.linear_digits();
  std::vector<TextDigit> out;
  std::size_t next = 0;
  for (const Space space : {Space::mem, Space::y, Space::x, Space::lane}) {
    for (const Layout::Item& item : m.layout().items()) {
      if (item.kind != Layout::Item::Kind::factor || item.space != space || item.m == 1) continue;
      const Digit& d = digits[next++];
      if (texels < 0 || d.dim != texels || d.q != 1) {
        out.push_back({d, item.m, out.size()});
      } else if (d.e > kTexel) {
        // The lane and what lies above it in one digit: here it counts texels.
        const Digit whole{d.dim, d.space, kTexel, d.e / kTexel, d.stride * kTexel};
        out.push_back({whole, item.m / kTexel, out.size()});
      }
    }
  }
  return out;
}

/// The linear strides of a layout with texels count lanes.
std::int64_t stride_of(const LaunchView& view, const Digit& d) {
  if (is_image(view) || texel_axis(view.mapping) < 0) return d.stride;
  // Of a digit that is always 0 any stride will do, but 0: coordinates are found by division.
  return std::max<std::int64_t>(d.stride / kTexel, 1);
}

/// "i0, i1": parameters of a macro, one an axis.
std::string parameters(int rank, std::string_view letter = "i") {
  std::string out;
  for (int i = 0; i < rank; ++i) out += text(i == 0 ? "" : ", ", letter, i);
  return out;
}

class Writer {
 public:
  Writer(std::string_view name, const LaunchView& view, bool output, int checked)
      : name_(name),
        view_(view),
        output_(output),
        checked_(checked),
        rank_(view.mapping.shape().rank()),
        texel_(texel_axis(view.mapping)),
        digits_(text_digits(view)) {}

  std::string run() {
    arguments();
    const std::string all = parameters(rank_);
    const std::string place = is_image(view_) ? text("(int2)(", coordinate(Space::x, true), ", ",
                                                     coordinate(Space::y, true), ")")
                                              : coordinate(Space::mem, true);
    define(text("PLACE_", name_, "(", all, ")"), text("(", place, ")"));
    define(text("VECTOR_", name_), texel_ >= 0 ? "float4" : "float");
    if (output_) {
      stores(all);
    } else {
      loads(all);
    }
    decode();
    each();
    return std::move(out_);
  }

 private:
  void define(const std::string& head, const std::string& body) {
    out_ += text("#define ", head, " ", body, "\n");
  }

  void arguments() {
    std::string memory;
    if (is_image(view_)) {
      memory = text(output_ ? "__write_only" : "__read_only", " image2d_t ", name_);
    } else {
      memory = text("__global ", output_ ? "" : "const ", stored(), "* ",
                    output_ ? "" : "restrict ", name_);
    }
    // Several operands are parts of one buffer: each begins with an element of its own.
    const std::string begin = is_image(view_) ? "" : text(", const int ", name_, "_o");
    define(text("ARG_", name_),
           text(memory, ", const int8 ", name_, "_e, const int8 ", name_, "_s", begin));
  }

  /// The sum of the digits of a space; `texels`: the axis of texels counts these.
  std::string coordinate(Space space, bool texels) const {
    std::string sum;
    for (const TextDigit& t : digits_) {
      if (space != Space::mem && t.digit.space != space) continue;
      const bool in_texels = texels && t.digit.dim == texel_;
      const std::int64_t q = in_texels ? t.digit.q / kTexel : t.digit.q;
      std::string value = text("(i", static_cast<int>(t.digit.dim), ")");
      if (q > 1) value += text(" / ", q);
      if (t.modulus > 0) value = text("(", value, ") % ", t.modulus);
      sum += text(sum.empty() ? "" : " + ", q > 1 || t.modulus > 0 ? text("(", value, ")") : value,
                  " * ", name_, "_s.s", t.argument);
    }
    return sum.empty() ? "0" : sum;
  }

  /// Counts an access to `place` that is outside; the coordinates are compared where it has any.
  std::string is_inside(std::string_view place, bool coordinates, bool texels) const {
    const std::string row = text("bounds_ + ", checked_ * kBoundsColumns);
    const auto less = [&](const std::string& value, std::size_t column) {
      return text("(uint)(", value, ") < (uint)(", row, ")[", column, "]");
    };
    std::string inside;
    for (int i = 0; coordinates && i < rank_; ++i) {
      const bool whole = texels && i == texel_;
      // Not a product: it could overflow and be inside again.
      inside += whole ? text("(uint)(i", i, ") < ((uint)(", row, ")[", kPaddedColumn + idx(i),
                             "] + ", kTexel - 1, ") / ", kTexel)
                      : less(text("i", i), kPaddedColumn + idx(i));
      inside += " && ";
    }
    if (is_image(view_)) {
      inside += text(less(text("(", place, ").x"), kThereColumn), " && ",
                     less(text("(", place, ").y"), kThereColumn + 1));
    } else if (texels) {
      inside += text("(uint)(", place, ") < (uint)(", row, ")[", kThereColumn, "] / ", kTexel);
    } else {
      inside += less(std::string(place), kThereColumn);
    }
    return text("counted_(", row, ", ", inside, ")");
  }

  /// A value that is read at `place`; where accesses are checked, zero outside.
  std::string read(const std::string& value, std::string_view place, bool texels) const {
    if (checked_ < 0) return value;
    return text("(", is_inside(place, true, texels), " ? ", value, " : ",
                texels ? "(float4)(0)" : "0.0f", ")");
  }

  bool is_half() const { return view_.dtype == DType::f16; }

  bool is_byte() const { return view_.dtype == DType::u8 || view_.dtype == DType::i8; }

  const char* stored() const {
    switch (view_.dtype) {
      case DType::f16:
        return "half";
      case DType::u8:
        return "uchar";
      case DType::i8:
        return "char";
      default:
        return "float";
    }
  }

  /// The letters at the end of read_image and write_image.
  const char* image_kind() const {
    return !is_byte() ? "f" : view_.dtype == DType::u8 ? "ui" : "i";
  }

  std::string load(std::string_view place, bool vector) const {
    const std::string begin = text("(", name_, " + ", name_, "_o)");
    std::string value;
    if (is_image(view_)) {
      value = text("read_image", image_kind(), "(", name_, ", kTexels, ", place, ")");
    } else if (is_half()) {
      return text(vector ? "vloada_half4(" : "vload_half(", place, ", ", name_, " + ", name_,
                  "_o)");
    } else if (vector) {
      value = text("((__global const ", stored(), "4*)", begin, ")[", place, "]");
    } else {
      value = text(begin, "[", place, "]");
    }
    if (!is_byte()) return value;
    return text(is_image(view_) || vector ? "convert_float4(" : "convert_float(", value, ")");
  }

  void loads(const std::string& all) {
    const std::string place = text("PLACE_", name_, "(", all, ")");
    if (texel_ >= 0) {
      const std::string value = read(load(place, true), place, true);
      define(text("READ_", name_, "(", all, ")"), value);
      // An image reads zero outside: cheaper than a branch.
      const std::string guarded = is_image(view_) && checked_ < 0
                                      ? load(text("((c) ? ", place, " : (int2)(-1))"), true)
                                      : text("((c) ? ", value, " : (float4)(0))");
      define(text("READ_IF_", name_, "(c", rank_ > 0 ? ", " : "", all, ")"), guarded);
      const std::string lane = text("(i", texel_, ") % ", kTexel);
      if (is_image(view_)) {
        const std::string at =
            text("(int2)(", coordinate(Space::x, false), ", ", coordinate(Space::y, false), ")");
        define(text("AT_", name_, "(", all, ")"),
               read(text("lane_of(", load(at, true), ", ", lane, ")"), at, false));
      } else {
        const std::string at =
            text("(", coordinate(Space::mem, false), ") * ", kTexel, " + ", lane);
        define(text("AT_", name_, "(", all, ")"), read(load(at, false), at, false));
      }
    } else {
      define(text("AT_", name_, "(", all, ")"), read(load(place, false), place, false));
    }
  }

  std::string store(std::string_view place) const {
    const char* v = texel_ < 0 ? "v" : "v_";
    std::string value = is_image(view_) || texel_ >= 0 ? v : text("(", v, ")");
    if (is_byte()) {
      value = text("convert_", stored(), texel_ < 0 ? "" : "4", "_sat(", v, ")");
      if (is_image(view_)) {
        value = text(view_.dtype == DType::u8 ? "convert_uint4(" : "convert_int4(", value, ")");
      }
    }
    if (is_image(view_)) {
      return text("write_image", image_kind(), "(", name_, ", ", place, ", ", value, ")");
    }
    if (is_half()) {
      return text(texel_ >= 0 ? "vstorea_half4(v_, " : "vstore_half(to_half_range(v), ", place,
                  ", ", name_, " + ", name_, "_o)");
    }
    const std::string begin = text("(", name_, " + ", name_, "_o)");
    if (texel_ < 0) return text(begin, "[", place, "] = ", value);
    return text("((__global ", stored(), "4*)", begin, ")[", place, "] = ", value);
  }

  void stores(const std::string& all) {
    const std::string here =
        is_image(view_) ? "(int2)(get_global_id(0), get_global_id(1))" : "get_global_id(0)";
    const auto with_tail = [&](std::string statement, std::string_view place, bool coordinates,
                               const std::string& texel) {
      if (checked_ >= 0) {
        statement = text("if (", is_inside(place, coordinates, texel_ >= 0), ") ", statement);
      }
      if (texel_ < 0) return checked_ < 0 ? statement : text("do { ", statement, "; } while (0)");
      const std::string lanes =
          text("first_lanes(u_, ", name_, "_e.s", texel_, " - ", kTexel, " * (", texel, "))");
      const std::string kept = is_half() ? text("to_half_range4(", lanes, ")") : lanes;
      return text("do { const float4 u_ = (u); const float4 v_ = ", kept, "; ", statement,
                  "; } while (0)");
    };
    const std::string v = texel_ < 0 ? "v" : "u";
    const std::string place = text("PLACE_", name_, "(", all, ")");
    define(text("WRITE_", name_, "(", v, rank_ > 0 ? ", " : "", all, ")"),
           with_tail(store(place), place, true, text("i", texel_)));
    define(text("STORE_", name_, "(", v, ")"),
           with_tail(store(here), here, false, text(name_, "_", texel_)));
  }

  /// Strides fall along the list, as decoding needs them; those of different spaces apart.
  void decode() {
    std::vector<TextDigit> falling = digits_;
    std::string body;
    for (int i = 0; i < rank_; ++i) body += text("int ", name_, "_", i, " = 0; ");
    const auto space = [&](Space which, const char* id) {
      bool any = false;
      for (const TextDigit& t : falling) any |= which == Space::mem || t.digit.space == which;
      if (!any) return;
      const std::string left = text(name_, "_t", static_cast<int>(which));
      body += text("int ", left, " = (int)get_global_id(", id, "); ");
      for (const TextDigit& t : falling) {
        if (which != Space::mem && t.digit.space != which) continue;
        const int dim = t.digit.dim;
        const std::int64_t q = dim == texel_ ? t.digit.q / kTexel : t.digit.q;
        const std::string stride = text(name_, "_s.s", t.argument);
        body += text(name_, "_", dim, " += ", left, " / ", stride, " * ", q, "; ", left,
                     " %= ", stride, "; ");
      }
    };
    if (is_image(view_)) {
      space(Space::y, "1");
      space(Space::x, "0");
    } else {
      space(Space::mem, "0");
    }
    define(text("DECODE_", name_), body);
  }

  void each() {
    // Digits overflow in tails of axes without texels, and in gaps.
    std::string inside = "1";
    for (int i = 0; i < rank_; ++i) {
      if (i != texel_) inside += text(" && ", name_, "_", i, " < ", name_, "_e.s", i);
    }
    define(text("INSIDE_", name_), text("(", inside, ")"));
    const auto call = [&](int lane) {
      std::string out = "F(";
      for (int i = 0; i < rank_; ++i) {
        const std::string c = text(name_, "_", i);
        out += text(i == 0 ? "" : ", ", i == texel_ ? text(kTexel, " * ", c, " + ", lane) : c);
      }
      return out + ")";
    };
    if (texel_ < 0) {
      define(text("EACH_", name_, "(F)"), text("(INSIDE_", name_, " ? ", call(0), " : 0.0f)"));
      return;
    }
    std::string lanes;
    for (int lane = 0; lane < kTexel; ++lane) {
      lanes +=
          text(lane == 0 ? "" : ", ", "INSIDE_", name_, " && ", kTexel, " * ", name_, "_", texel_,
               " + ", lane, " < ", name_, "_e.s", texel_, " ? ", call(lane), " : 0.0f");
    }
    define(text("EACH_", name_, "(F)"), text("((float4)(", lanes, "))"));
  }

  std::string_view name_;
  const LaunchView& view_;
  bool output_;
  int checked_, rank_, texel_;
  std::vector<TextDigit> digits_;
  std::string out_;
};

}  // namespace

int texel_axis(const Mapping& mapping) noexcept {
  const auto linear = mapping.linear_digits();
  for (const Digit& d : linear) {
    if (d.q != 1 || d.e % kTexel != 0 || d.e == 0 || d.stride != 1) continue;
    // Every other digit lies in whole texels, and the axis goes on with the next four.
    for (const Digit& other : linear) {
      if (&other == &d || other.e == 1) continue;
      if (other.stride % kTexel != 0 || (other.dim == d.dim && other.q % kTexel != 0)) return -1;
    }
    const bool lanes = d.e == kTexel && d.e == mapping.extent(Space::lane);
    if (mapping.layout().is_image() && !lanes) return -1;
    return d.dim;
  }
  return -1;
}

bool has_accessors(const LaunchView& view) {
  const Mapping& m = view.mapping;
  switch (view.dtype) {
    case DType::f32:
    case DType::f16:
    case DType::u8:
    case DType::i8:
      break;
    default:
      return false;
  }
  if (m.cells() >= std::int64_t{1} << 31) return false;
  if (is_image(view) && texel_axis(m) < 0) return false;
  return text_digits(view).size() <= kMostStrides;
}

AccessorArgs accessor_args(const LaunchView& view) {
  AccessorArgs args;
  const Shape& shape = view.mapping.shape();
  for (int i = 0; i < shape.rank(); ++i) {
    args.extents[idx(i)] = static_cast<std::int32_t>(shape[i]);
  }
  for (const TextDigit& t : text_digits(view)) {
    args.strides[t.argument] = static_cast<std::int32_t>(stride_of(view, t.digit));
  }
  return args;
}

std::string accessor_text(std::string_view name, const LaunchView& view, bool output, int checked) {
  return Writer(name, view, output, checked).run();
}

BoundsRow::BoundsRow(const LaunchView& view, std::array<std::int64_t, 2> memory) {
  const Mapping& m = view.mapping;
  const auto of = [](std::int64_t operand, std::int64_t most) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(most, 0, operand));
  };
  if (is_image(view)) {
    there = {of(m.extent(Space::x), memory[0]), of(m.extent(Space::y), memory[1])};
  } else {
    there = {of(m.cells(), memory[0]), 1};
  }
  for (int i = 0; i < m.shape().rank(); ++i) {
    padded[idx(i)] = static_cast<std::int32_t>(m.padded(i));
  }
}

std::array<std::int64_t, 3> items_of(const LaunchView& view) {
  const Mapping& m = view.mapping;
  if (is_image(view)) return {m.extent(Space::x), m.extent(Space::y), 1};
  return {texel_axis(m) < 0 ? m.cells() : m.cells() / kTexel, 1, 1};
}

}  // namespace stowage
