// SPDX-License-Identifier: Apache-2.0
// Names for the axes of every value, by union of axes that correspond.
#include <algorithm>

#include "base/index.h"
#include "graph/op_def.h"

namespace stowage {

namespace {

/// Axes fall into classes; a class has at most one name, no value has two axes in one class, and
/// no value has two axes of one name. A union that would break this does not happen: the names
/// of such an operator's operands differ, which is only a matter of display.
class AxisClasses {
 public:
  explicit AxisClasses(const Graph& graph) {
    for (ValueId v(0); v < graph.value_count(); ++v) {
      first_.push_back(static_cast<int>(parent_.size()));
      for (int i = 0; i < graph.value(v).shape.rank(); ++i) {
        const int axis = static_cast<int>(parent_.size());
        parent_.push_back(axis);
        owner_.push_back(v);
        members_.push_back({axis});
        name_.emplace_back();
      }
    }
    first_.push_back(static_cast<int>(parent_.size()));
  }

  int find(int axis) const {
    while (parent_[idx(axis)] != axis) axis = parent_[idx(axis)];
    return axis;
  }

  int axis(ValueId value, int i) const { return first_[idx(value)] + i; }

  const std::string& name_of(ValueId value, int i) const {
    return name_[idx(find(axis(value, i)))];
  }

  void give_name(ValueId value, int i, std::string_view name) {
    const int c = find(axis(value, i));
    if (name_[idx(c)].empty() && name_fits(c, name)) name_[idx(c)] = name;
  }

  void merge(int a, int b) {
    a = find(a);
    b = find(b);
    if (a == b) return;
    if (members_[idx(a)].size() < members_[idx(b)].size()) std::swap(a, b);
    const std::string& na = name_[idx(a)];
    const std::string& nb = name_[idx(b)];
    if (!na.empty() && !nb.empty() && na != nb) return;
    for (int m : members_[idx(b)]) {
      const ValueId v = owner_[idx(m)];
      for (int other = first_[idx(v)]; other < first_[idx(v) + 1]; ++other) {
        if (other != m && find(other) == a) return;
      }
    }
    if (na.empty() && !nb.empty() && !name_fits(a, nb)) return;
    if (nb.empty() && !na.empty() && !name_fits(b, na)) return;
    if (na.empty()) name_[idx(a)] = nb;
    parent_[idx(b)] = a;
    auto& into = members_[idx(a)];
    into.insert(into.end(), members_[idx(b)].begin(), members_[idx(b)].end());
    members_[idx(b)].clear();
  }

 private:
  /// No value with an axis in class c has another axis of that name.
  bool name_fits(int c, std::string_view name) const {
    for (int m : members_[idx(c)]) {
      const ValueId v = owner_[idx(m)];
      for (int other = first_[idx(v)]; other < first_[idx(v) + 1]; ++other) {
        if (other != m && name_[idx(find(other))] == name) return false;
      }
    }
    return true;
  }

  std::vector<int> first_, parent_;
  std::vector<ValueId> owner_;
  std::vector<std::vector<int>> members_;
  std::vector<std::string> name_;  // of the class whose root it is
};

/// Operators name and link in one call; names must all be there before axes are linked, so each
/// call is made twice.
class Phase final : public AxisLinks {
 public:
  Phase(AxisClasses& classes, bool names) : classes_(classes), names_(names) {}

  void name(ValueId value, int i, std::string_view name) override {
    if (names_) classes_.give_name(value, i, name);
  }

  void link(ValueId a, int i, ValueId b, int j) override {
    if (!names_) classes_.merge(classes_.axis(a, i), classes_.axis(b, j));
  }

 private:
  AxisClasses& classes_;
  bool names_;
};

/// Operands of posts have axes of the result; operators know nothing of them.
void link_posts(const Graph& graph, const Node& node, AxisLinks& links) {
  for (const Post& post : node.posts) {
    if (post.input < 0 || post.broadcast != Post::Broadcast::none) continue;
    const ValueId operand = node.inputs[idx(post.input)];
    for (int i = 0; i < graph.value(operand).shape.rank(); ++i) {
      links.link(operand, i, node.outputs[0], i);
    }
  }
}

Shape named(const Shape& shape, const std::vector<std::string>& names) {
  std::vector<Axis> axes;
  char spare = 'a';
  for (const std::string& name : names) {
    if (!name.empty()) {
      axes.emplace_back(name);
      continue;
    }
    while (std::find(names.begin(), names.end(), std::string(1, spare)) != names.end()) ++spare;
    axes.emplace_back(std::string(1, spare++));
  }
  return Shape(axes, shape.extents());
}

}  // namespace

void name_axes(Graph& graph) {
  AxisClasses classes(graph);
  const auto order = graph.topological_order();
  for (const bool names : {true, false}) {
    Phase phase(classes, names);
    for (NodeId id : order) {
      const OpDef& op = *graph.node(id).op;
      if (op.axes != nullptr) op.axes(NodeRef(graph, id), phase);
      link_posts(graph, graph.node(id), phase);
    }
  }
  for (ValueId v(0); v < graph.value_count(); ++v) {
    Value& value = graph.value(v);
    std::vector<std::string> names;
    for (int i = 0; i < value.shape.rank(); ++i) names.push_back(classes.name_of(v, i));
    value.shape = named(value.shape, names);
  }
}

}  // namespace stowage
