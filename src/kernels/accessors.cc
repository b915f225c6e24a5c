// SPDX-License-Identifier: Apache-2.0
#include "kernels/accessors.h"

#include <algorithm>
#include <vector>

#include "base/index.h"
#include "base/text.h"

namespace stowage {

namespace {

constexpr std::size_t kMostStrides = 8;

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
  Writer(std::string_view name, const LaunchView& view, bool output)
      : name_(name),
        view_(view),
        output_(output),
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
      const char* type = view_.dtype == DType::f16 ? "half" : "float";
      memory =
          text("__global ", output_ ? "" : "const ", type, "* ", output_ ? "" : "restrict ", name_);
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

  bool is_half() const { return view_.dtype == DType::f16; }

  std::string load(std::string_view place, bool vector) const {
    if (is_image(view_)) return text("read_imagef(", name_, ", kTexels, ", place, ")");
    if (vector) {
      return is_half()
                 ? text("vloada_half4(", place, ", ", name_, " + ", name_, "_o)")
                 : text("((__global const float4*)(", name_, " + ", name_, "_o))[", place, "]");
    }
    return is_half() ? text("vload_half(", place, ", ", name_, " + ", name_, "_o)")
                     : text("(", name_, " + ", name_, "_o)[", place, "]");
  }

  void loads(const std::string& all) {
    const std::string place = text("PLACE_", name_, "(", all, ")");
    if (texel_ >= 0) {
      define(text("READ_", name_, "(", all, ")"), load(place, true));
      // An image reads zero outside: cheaper than a branch.
      const std::string guarded = is_image(view_)
                                      ? load(text("((c) ? ", place, " : (int2)(-1))"), true)
                                      : text("((c) ? ", load(place, true), " : (float4)(0))");
      define(text("READ_IF_", name_, "(c", rank_ > 0 ? ", " : "", all, ")"), guarded);
      const std::string lane = text("(i", texel_, ") % ", kTexel);
      if (is_image(view_)) {
        const std::string at =
            text("(int2)(", coordinate(Space::x, false), ", ", coordinate(Space::y, false), ")");
        define(text("AT_", name_, "(", all, ")"),
               text("lane_of(", load(at, true), ", ", lane, ")"));
      } else {
        const std::string at =
            text("(", coordinate(Space::mem, false), ") * ", kTexel, " + ", lane);
        define(text("AT_", name_, "(", all, ")"), load(at, false));
      }
    } else {
      define(text("AT_", name_, "(", all, ")"), load(place, false));
    }
  }

  std::string store(std::string_view place) const {
    if (is_image(view_))
      return text("write_imagef(", name_, ", ", place, texel_ < 0 ? ", v)" : ", v_)");
    if (texel_ >= 0) {
      return is_half()
                 ? text("vstorea_half4(v_, ", place, ", ", name_, " + ", name_, "_o)")
                 : text("((__global float4*)(", name_, " + ", name_, "_o))[", place, "] = v_");
    }
    return is_half()
               ? text("vstore_half(to_half_range(v), ", place, ", ", name_, " + ", name_, "_o)")
               : text("(", name_, " + ", name_, "_o)[", place, "] = (v)");
  }

  void stores(const std::string& all) {
    const std::string here =
        is_image(view_) ? "(int2)(get_global_id(0), get_global_id(1))" : "get_global_id(0)";
    const auto with_tail = [&](std::string statement, const std::string& texel) {
      if (texel_ < 0) return statement;
      const std::string lanes =
          text("first_lanes(u_, ", name_, "_e.s", texel_, " - ", kTexel, " * (", texel, "))");
      const std::string kept = is_half() ? text("to_half_range4(", lanes, ")") : lanes;
      return text("do { const float4 u_ = (u); const float4 v_ = ", kept, "; ", statement,
                  "; } while (0)");
    };
    const std::string v = texel_ < 0 ? "v" : "u";
    define(text("WRITE_", name_, "(", v, rank_ > 0 ? ", " : "", all, ")"),
           with_tail(store(text("PLACE_", name_, "(", all, ")")), text("i", texel_)));
    define(text("STORE_", name_, "(", v, ")"), with_tail(store(here), text(name_, "_", texel_)));
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
  int rank_, texel_;
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
  if (view.dtype != DType::f32 && view.dtype != DType::f16) return false;
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

std::string accessor_text(std::string_view name, const LaunchView& view, bool output) {
  return Writer(name, view, output).run();
}

std::array<std::int64_t, 3> items_of(const LaunchView& view) {
  const Mapping& m = view.mapping;
  if (is_image(view)) return {m.extent(Space::x), m.extent(Space::y), 1};
  return {texel_axis(m) < 0 ? m.cells() : m.cells() / kTexel, 1, 1};
}

}  // namespace stowage
