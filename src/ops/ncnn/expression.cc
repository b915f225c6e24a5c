// SPDX-License-Identifier: Apache-2.0
#include "ops/ncnn/expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "ops/ncnn/blob.h"

namespace stowage::ncnn {

namespace {

/// An integer or a real.
struct Number {
  double value = 0;
  bool whole = true;
};

[[noreturn]] void refuse(std::string_view list, std::string_view why) {
  fail(ErrorCode::bad_input, "the expression '", list, "' ", why);
}

double floor_quotient(double a, double b) { return std::floor(a / b); }

double sign(double x) { return (x > 0) - (x < 0); }

double square(double x) { return x * x; }

double negative(double x) { return -x; }

double reciprocal(double x) { return 1 / x; }

double rsqrt(double x) { return 1 / std::sqrt(x); }

double floor_mod(double a, double b) { return a - b * std::floor(a / b); }

double log_add_exp(double a, double b) {
  return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
}

/// What a function makes of integers.
enum class Of : char {
  same,   ///< an integer if all arguments are
  whole,  ///< an integer of anything
  real,   ///< a real of anything
};

struct Unary {
  std::string_view name;
  double (*f)(double);
  Of of = Of::real;
};

struct Binary {
  std::string_view name;
  double (*f)(double, double);
  Of of = Of::real;
};

constexpr Unary kUnary[] = {{"abs", [](double x) { return std::fabs(x); }, Of::same},
                            {"neg", negative, Of::same},
                            {"sign", sign, Of::same},
                            {"square", square, Of::same},
                            {"trunc", [](double x) { return std::trunc(x); }, Of::whole},
                            {"ceil", [](double x) { return std::ceil(x); }, Of::whole},
                            {"floor", [](double x) { return std::floor(x); }, Of::whole},
                            {"round", [](double x) { return std::round(x); }, Of::whole},
                            {"sqrt", [](double x) { return std::sqrt(x); }},
                            {"rsqrt", rsqrt},
                            {"reciprocal", reciprocal},
                            {"exp", [](double x) { return std::exp(x); }},
                            {"log", [](double x) { return std::log(x); }},
                            {"log10", [](double x) { return std::log10(x); }},
                            {"erf", [](double x) { return std::erf(x); }},
                            {"sin", [](double x) { return std::sin(x); }},
                            {"cos", [](double x) { return std::cos(x); }},
                            {"tan", [](double x) { return std::tan(x); }},
                            {"asin", [](double x) { return std::asin(x); }},
                            {"acos", [](double x) { return std::acos(x); }},
                            {"atan", [](double x) { return std::atan(x); }},
                            {"sinh", [](double x) { return std::sinh(x); }},
                            {"cosh", [](double x) { return std::cosh(x); }},
                            {"tanh", [](double x) { return std::tanh(x); }},
                            {"asinh", [](double x) { return std::asinh(x); }},
                            {"acosh", [](double x) { return std::acosh(x); }},
                            {"atanh", [](double x) { return std::atanh(x); }}};

constexpr Binary kBinary[] = {{"+", [](double a, double b) { return a + b; }, Of::same},
                              {"-", [](double a, double b) { return a - b; }, Of::same},
                              {"*", [](double a, double b) { return a * b; }, Of::same},
                              {"max", [](double a, double b) { return std::max(a, b); }, Of::same},
                              {"min", [](double a, double b) { return std::min(a, b); }, Of::same},
                              {"/", [](double a, double b) { return a / b; }},
                              {"atan2", [](double a, double b) { return std::atan2(a, b); }},
                              {"fmod", [](double a, double b) { return std::fmod(a, b); }},
                              {"pow", [](double a, double b) { return std::pow(a, b); }},
                              {"remainder", floor_mod},
                              {"logaddexp", log_add_exp}};

constexpr double kMost = 2147483647;

/// Of two integers, or none of that name. Shifts and bits are of 32-bit integers.
std::optional<double> of_integers(std::string_view name, std::int64_t a, std::int64_t b) {
  if (name == "and") return static_cast<double>(a & b);
  if (name == "or") return static_cast<double>(a | b);
  if (name == "xor") return static_cast<double>(a ^ b);
  const bool shifts = b >= 0 && b < 32;
  if (name == "lshift" && shifts) return static_cast<double>(a * (std::int64_t{1} << b));
  if (name == "rshift" && shifts) return static_cast<double>(a >> b);
  return std::nullopt;
}

/// Words from the last to the first: operands stand on a stack when their function comes.
class Reader {
 public:
  Reader(ImportNode& node, std::string_view list) : node_(node), list_(list) {}

  Ints read() {
    std::string_view rest = list_;
    while (!rest.empty()) {
      const std::size_t split = rest.find_last_of("(),");
      const std::size_t begin = split == std::string_view::npos ? 0 : split + 1;
      if (begin < rest.size()) word(rest.substr(begin));
      rest = rest.substr(0, split == std::string_view::npos ? 0 : split);
    }
    Ints out;
    for (std::size_t i = stack_.size(); i-- > 0;) {
      out.push_back(static_cast<std::int64_t>(stack_[i].value));
    }
    if (out.empty()) refuse(list_, "has no elements");
    return out;
  }

 private:
  Number pop(std::string_view function) {
    if (stack_.empty()) refuse(list_, text("lacks an operand of ", function));
    const Number n = stack_.back();
    stack_.pop_back();
    return n;
  }

  void push(double value, bool whole) {
    if (!(std::fabs(value) <= kMost)) refuse(list_, "leaves the integers of 32 bits");
    stack_.push_back({value, whole});
  }

  void word(std::string_view w) {
    if (dim(w) || quotient(w) || function(w)) return;
    double v = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), v);
    if (error != std::errc() || end != w.data() + w.size()) {
      refuse(list_, text("has '", w, "' in it, which is neither a number nor a function"));
    }
    push(v, std::trunc(v) == v);
  }

  /// 0w 1h ...
  bool dim(std::string_view w) {
    if (w.size() != 2 || w[0] < '0' || w[0] > '9') return false;
    if (std::string_view("whdcn").find(w[1]) == std::string_view::npos) return false;
    const int i = w[0] - '0';
    if (i >= node_.input_count()) refuse(list_, text("asks for input ", i, ", which is missing"));
    const Sizes s = sizes_of(node_.shape(node_.in(i)));
    const std::int64_t e = w[1] == 'w'   ? s.w
                           : w[1] == 'h' ? s.h
                           : w[1] == 'd' ? s.d
                           : w[1] == 'c' ? s.c
                                         : 1;
    push(static_cast<double>(e), true);
    return true;
  }

  /// Rounded down among reals, towards zero among integers.
  bool quotient(std::string_view w) {
    if (w != "//") return false;
    const Number a = pop(w), b = pop(w);
    const bool whole = a.whole && b.whole;
    if (whole && b.value == 0) refuse(list_, "divides by zero");
    push(whole ? std::trunc(a.value / b.value) : floor_quotient(a.value, b.value), whole);
    return true;
  }

  bool function(std::string_view w) {
    const auto whole = [](Of of, bool all) { return of == Of::whole || (of == Of::same && all); };
    if (const auto* one = std::ranges::find(kUnary, w, &Unary::name); one != std::end(kUnary)) {
      const Number a = pop(w);
      push(one->f(a.value), whole(one->of, a.whole));
      return true;
    }
    if (const auto* two = std::ranges::find(kBinary, w, &Binary::name); two != std::end(kBinary)) {
      const Number a = pop(w), b = pop(w);
      push(two->f(a.value, b.value), whole(two->of, a.whole && b.whole));
      return true;
    }
    for (const std::string_view name : {"and", "or", "xor", "lshift", "rshift"}) {
      if (w != name) continue;
      const Number a = pop(w), b = pop(w);
      const auto y =
          of_integers(w, static_cast<std::int64_t>(a.value), static_cast<std::int64_t>(b.value));
      if (!a.whole || !b.whole || !y) refuse(list_, text("cannot compute ", w));
      push(*y, true);
      return true;
    }
    return false;
  }

  ImportNode& node_;
  std::string_view list_;
  std::vector<Number> stack_;
};

}  // namespace

Ints evaluate(ImportNode& node, const NcnnParams& params, int id) {
  const std::string list = params.words(id);
  return Reader(node, list).read();
}

}  // namespace stowage::ncnn
