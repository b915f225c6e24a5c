// SPDX-License-Identifier: Apache-2.0
#include "ops/einsum/einsum.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"

namespace stowage {
namespace {

/// Characters of an equation that a message repeats.
constexpr std::size_t kMostShown = 100;

/// An axis of an operand: a letter, or an axis of "...", counted from the last one: -1, -2, ...
using Label = int;
using Labels = std::vector<Label>;

/// A value with a label for each axis, no label twice.
struct Operand {
  ValueId value;
  Labels labels;

  bool has(Label label) const { return std::ranges::find(labels, label) != labels.end(); }
};

class Einsum {
 public:
  explicit Einsum(ImportNode& node) : node_(node) {}

  ValueId run() {
    read_equation();
    for (Operand& operand : operands_) drop_ones(operand);
    Operand product = std::move(operands_.front());
    for (std::size_t i = 1; i < operands_.size(); ++i) {
      for (Operand* factor : {&product, &operands_[i]}) {
        const Operand& other = factor == &product ? operands_[i] : product;
        sum(*factor, [&](Label l) { return other.has(l) || is_read(l, i + 1); });
      }
      product = multiplied(product, operands_[i], i + 1);
    }
    sum(product, [&](Label l) { return is_read(l, operands_.size()); });
    return in_order(product, output_).value;
  }

 private:
  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(ErrorCode::bad_input, "equation '", std::string_view(equation_).substr(0, kMostShown),
         "': ", parts...);
  }

  void read_equation();
  Labels labels_of(std::string_view term, int rank) const;
  Operand operand_of(std::string_view term, int i);
  void set_implicit_output();
  void take_diagonals(Operand& operand);
  void drop_ones(Operand& operand);

  /// Whether a label is needed after the first `count` operands are multiplied.
  bool is_read(Label label, std::size_t count) const {
    return std::ranges::find(output_, label) != output_.end() ||
           std::any_of(operands_.begin() + static_cast<std::ptrdiff_t>(count), operands_.end(),
                       [&](const Operand& o) { return o.has(label); });
  }

  std::int64_t extent(Label label) const { return extents_.at(label); }

  Ints extents_of(const Labels& labels) const {
    Ints out;
    for (const Label l : labels) out.push_back(extent(l));
    return out;
  }

  std::int64_t elements_of(const Labels& labels) const {
    std::int64_t n = 1;
    for (const Label l : labels) n = checked_mul(n, extent(l));
    return n;
  }

  ValueId shaped(ValueId v, const Ints& extents) {
    return std::ranges::equal(node_.shape(v).extents(), extents) ? v : node_.reshape(v, extents);
  }

  /// The axes that `keeps` does not want are summed up.
  template <class Keeps>
  void sum(Operand& operand, const Keeps& keeps) {
    Ints axes;
    Labels kept;
    for (std::size_t i = 0; i < operand.labels.size(); ++i) {
      if (keeps(operand.labels[i])) {
        kept.push_back(operand.labels[i]);
      } else {
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    if (axes.empty()) return;
    operand.value =
        node_.emit("reduce_sum", {operand.value}, {{"axes", axes}, {"keepdims", std::int64_t{0}}});
    operand.labels = std::move(kept);
  }

  /// The operand with its axes in this order.
  Operand in_order(const Operand& operand, const Labels& labels) {
    if (operand.labels == labels) return operand;
    Ints perm;
    for (const Label l : labels) {
      perm.push_back(std::ranges::find(operand.labels, l) - operand.labels.begin());
    }
    return {node_.emit("transpose", {operand.value}, {{"perm", perm}}), labels};
  }

  Operand multiplied(const Operand& a, const Operand& b, std::size_t count);

  ImportNode& node_;
  std::string equation_;  // without spaces
  std::vector<Operand> operands_;
  Labels output_;
  std::map<Label, std::int64_t> extents_;
};

void Einsum::read_equation() {
  for (const char c : node_.attrs.string("equation", "")) {
    if (c != ' ') equation_ += c;
  }
  const std::string_view all = equation_;
  const std::size_t arrow = all.find("->");
  std::string_view terms = all.substr(0, arrow);
  for (int i = 0;; ++i) {
    const std::size_t comma = terms.find(',');
    if (i >= node_.input_count()) refuse("it has more terms than the node inputs");
    operands_.push_back(operand_of(terms.substr(0, comma), i));
    if (comma == std::string_view::npos) break;
    terms.remove_prefix(comma + 1);
  }
  const auto inputs = static_cast<std::size_t>(node_.input_count());
  if (operands_.size() != inputs)
    refuse("it has ", operands_.size(), " terms for ", inputs, " inputs");
  if (arrow == std::string_view::npos) return set_implicit_output();
  int dots = 0;  // axes of the longest "..."
  for (const auto& [label, extent] : extents_) dots = std::max(dots, -label);
  const std::string_view result = all.substr(arrow + 2);
  const auto letters = std::ranges::count_if(result, [](char c) { return c != '.'; });
  const bool has_dots = result.find('.') != std::string_view::npos;
  output_ = labels_of(result, static_cast<int>(letters) + (has_dots ? dots : 0));
  for (const Label l : output_) {
    if (!extents_.contains(l)) refuse("'", static_cast<char>(l), "' of the result is in no term");
    if (std::ranges::count(output_, l) > 1) {
      refuse("'", static_cast<char>(l), "' is twice in the result");
    }
  }
}

/// The axes of "...", then the letters that occur once, by the alphabet.
void Einsum::set_implicit_output() {
  std::map<Label, int> times;
  for (const char c : equation_) ++times[c];
  for (const auto& [label, extent] : extents_) {
    if (label < 0 || times[label] == 1) output_.push_back(label);
  }
}

/// A label for each of `rank` axes.
Labels Einsum::labels_of(std::string_view term, int rank) const {
  const std::size_t dots = term.find("...");
  const int letters = static_cast<int>(term.size()) - (dots == std::string_view::npos ? 0 : 3);
  if (dots == std::string_view::npos ? letters != rank : letters > rank) {
    refuse("the term '", term.substr(0, kMostShown), "' does not fit a rank of ", rank);
  }
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == dots) {
      for (int axis = letters - rank; axis < 0; ++axis) labels.push_back(axis);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      labels.push_back(term[i]);
    } else {
      refuse("'", term[i], "' is no letter");
    }
  }
  return labels;
}

Operand Einsum::operand_of(std::string_view term, int i) {
  const ValueId v = node_.in(i);
  const Shape shape = node_.shape(v);
  Operand operand{v, labels_of(term, shape.rank())};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const Label label = operand.labels[static_cast<std::size_t>(axis)];
    std::int64_t& known = extents_.try_emplace(label, 1).first->second;
    const std::int64_t n = shape[axis];
    if (known != 1 && n != 1 && n != known) {
      const std::string name = label < 0 ? "..." : std::string(1, static_cast<char>(label));
      refuse("'", name, "' is ", known, " and ", n);
    }
    if (n != 1) known = n;
  }
  take_diagonals(operand);
  return operand;
}

/// A matrix of which the diagonal is wanted is a row of n * n elements, of which every (n + 1)th
/// is.
void Einsum::take_diagonals(Operand& operand) {
  for (std::size_t i = 0; i < operand.labels.size(); ++i) {
    const Label label = operand.labels[i];
    const auto again = std::find(operand.labels.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                 operand.labels.end(), label);
    if (again == operand.labels.end()) continue;
    const auto j = static_cast<std::size_t>(again - operand.labels.begin());
    const Shape shape = node_.shape(operand.value);
    Ints perm, extents;
    Labels rest;
    for (std::size_t k = 0; k < operand.labels.size(); ++k) {
      if (k == i || k == j) continue;
      perm.push_back(static_cast<std::int64_t>(k));
      extents.push_back(shape[static_cast<int>(k)]);
      rest.push_back(operand.labels[k]);
    }
    perm.push_back(static_cast<std::int64_t>(i));
    perm.push_back(static_cast<std::int64_t>(j));
    const std::int64_t n = shape[static_cast<int>(i)];
    if (shape[static_cast<int>(j)] != n)
      refuse("a diagonal of ", n, " by ", shape[static_cast<int>(j)]);
    const std::int64_t axis = static_cast<std::int64_t>(rest.size());
    extents.push_back(checked_mul(n, n));
    const ValueId turned = node_.emit("transpose", {operand.value}, {{"perm", perm}});
    operand.value = node_.emit(
        "slice", {shaped(turned, extents)},
        {{"starts", Ints{0}}, {"ends", Ints{n * n}}, {"axes", Ints{axis}}, {"steps", Ints{n + 1}}});
    rest.push_back(label);
    operand.labels = std::move(rest);
    i = static_cast<std::size_t>(-1);  // from the first label again
  }
}

/// An axis of 1 where the label has more elsewhere is the same for all of those.
void Einsum::drop_ones(Operand& operand) {
  const Shape shape = node_.shape(operand.value);
  Labels kept;
  for (int i = 0; i < shape.rank(); ++i) {
    const Label label = operand.labels[static_cast<std::size_t>(i)];
    if (shape[i] == extent(label)) kept.push_back(label);
  }
  operand.value = shaped(operand.value, extents_of(kept));
  operand.labels = std::move(kept);
}

/// The product of the first `count` operands, of which `b` is the last: over what both have and
/// nobody reads any longer, it is one of matrices.
Operand Einsum::multiplied(const Operand& a, const Operand& b, std::size_t count) {
  Labels batch, rows, columns, inner;
  for (const Label l : a.labels) {
    (!b.has(l) ? rows : is_read(l, count) ? batch : inner).push_back(l);
  }
  for (const Label l : b.labels) {
    if (!a.has(l)) columns.push_back(l);
  }
  const auto joined = [](Labels first, const Labels& second, const Labels& third) {
    first.insert(first.end(), second.begin(), second.end());
    first.insert(first.end(), third.begin(), third.end());
    return first;
  };
  const ValueId left = in_order(a, joined(batch, rows, inner)).value,
                right = in_order(b, joined(batch, inner, columns)).value;
  const Labels labels = joined(batch, rows, columns);
  const auto ones = [](const Labels& of) { return Ints(of.size(), 1); };
  const auto beside = [](Ints extents, const Ints& more) {
    extents.insert(extents.end(), more.begin(), more.end());
    return extents;
  };
  if (inner.empty()) {
    const Ints batches = extents_of(batch), m = extents_of(rows), n = extents_of(columns);
    return {node_.emit("mul", {shaped(left, beside(beside(batches, m), ones(columns))),
                               shaped(right, beside(beside(batches, ones(rows)), n))}),
            labels};
  }
  const bool fits = static_cast<int>(batch.size()) + 2 <= kMaxRank;
  const Ints batches = fits ? extents_of(batch) : Ints{elements_of(batch)};
  const std::int64_t m = elements_of(rows), k = elements_of(inner), n = elements_of(columns);
  const ValueId product = node_.emit(
      "matmul", {shaped(left, beside(batches, {m, k})), shaped(right, beside(batches, {k, n}))});
  return {shaped(product, extents_of(labels)), labels};
}

}  // namespace

void import_einsum(ImportNode& node) {
  node.expect(1, kAnyNumber);
  node.out(Einsum(node).run());
}

}  // namespace stowage
