// SPDX-License-Identifier: Apache-2.0
// The builder under a reader of a few lines, one for each operator.
#include "import/builder.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "stowage/error.h"

namespace stowage {
namespace {

/// A file with a line for each operator: type, output, inputs.
class Lines {
 public:
  Lines() : budget_(Limits{}), builder_("lines", DataFormat::nchw, budget_) {}

  Builder& builder() { return builder_; }

  ValueId& operator[](const std::string& name) { return values_[name]; }

  void input(const std::string& name, const Ints& extents) {
    values_[name] = builder_.add_input(name, DType::f32, extents, {});
  }

  void constant(const std::string& name, const Ints& extents) {
    values_[name] = builder_.add_constant(
        name, std::make_shared<const Tensor>(DType::f32, Shape::unnamed(extents)));
  }

  /// `op` is one of ours; its rule is `rule`.
  void line(const std::string& op, const std::string& output,
            const std::vector<std::string>& inputs, void (*rule)(ImportNode&) = nullptr,
            const FusedActivation& activation = {}) {
    Line node(*this, output, inputs);
    node.activation = activation;
    const ForeignName name{"lines", op, rule};
    node.import({find_op(op), &name});
  }

 private:
  class Line final : public BuilderNode {
   public:
    Line(Lines& lines, const std::string& output, const std::vector<std::string>& inputs)
        : BuilderNode(lines.builder_, "lines"), lines_(lines), inputs_(inputs) {
      name = output;
    }

    int input_count() const override { return static_cast<int>(inputs_.size()); }

    int output_count() const override { return 1; }

    bool has(int) const override { return true; }

    ValueId in(int i) override { return lines_[inputs_[static_cast<std::size_t>(i)]]; }

   private:
    void define(int, ValueId v) override {
      if (builder().takes_name(v)) builder().rename(v, builder().unique(name));
      lines_[name] = v;
    }

    Lines& lines_;
    const std::vector<std::string>& inputs_;
  };

  ImportBudget budget_;
  Builder builder_;
  std::map<std::string, ValueId> values_;
};

void twice(ImportNode& node) {
  node.expect(1, 1);
  node.out(node.emit("add", {node.in(0), node.in(0)}));
}

/// The file says that two values are one.
void same(ImportNode& node) { node.out(node.in(0)); }

void as_pairs(ImportNode& node) {
  const Shape s = node.shape(node.in(0));
  node.out(node.reshape(node.in(0), {s.elements() / 2, 2}));
}

TEST(Builder, ShapesAreKnownToTheNextRule) {
  Lines file;
  file.input("x", {3, 4});
  file.line("add", "y", {"x"}, twice);
  file.line("reshape", "z", {"y"}, as_pairs);
  const Value& z = file.builder().value(file["z"]);
  EXPECT_EQ(Ints(z.shape.extents().begin(), z.shape.extents().end()), (Ints{6, 2}));
  EXPECT_EQ(z.name, "z");
  EXPECT_EQ(file.builder().graph().node_count(), 2);
}

TEST(Builder, ConstantsAreFoldedAtOnce) {
  Lines file;
  file.constant("w", {2, 3});
  file.line("add", "v", {"w"}, twice);
  EXPECT_NE(file.builder().value(file["v"]).constant, nullptr);
}

TEST(Builder, NamesOfTheFileStay) {
  Lines file;
  file.input("x", {2});
  file.line("relu", "y", {"x"});
  file.line("relu", "again", {"y"}, same);
  EXPECT_EQ(file["again"], file["y"]);
  EXPECT_EQ(file.builder().value(file["y"]).name, "y");
  file.line("relu", "x2", {"x"}, same);
  EXPECT_EQ(file.builder().value(file["x2"]).name, "x");
  EXPECT_EQ(file.builder().unique("y"), "y.1");
}

TEST(Builder, AFusedActivationFollowsTheOperator) {
  Lines file;
  file.input("x", {2});
  FusedActivation clip;
  clip.op = "clip";
  clip.attrs.set("max", 6.0f);
  file.line("neg", "y", {"x"}, nullptr, clip);
  const Graph& graph = file.builder().graph();
  const Node& last = graph.node(file.builder().value(file["y"]).producer);
  EXPECT_EQ(last.op->name, "clip");
  EXPECT_EQ(last.attrs.real("max", 0), 6);
  EXPECT_EQ(graph.node(graph.value(last.inputs[0]).producer).op->name, "neg");
  clip.unsupported = "the activation of the day";
  EXPECT_THROW(file.line("neg", "z", {"x"}, nullptr, clip), Error);
}

TEST(Builder, ImagesAreTurnedOnce) {
  Lines file;
  file.input("x", {1, 4, 5, 3});
  Builder& b = file.builder();
  const ValueId second = b.channels_second(file["x"], "x");
  EXPECT_EQ(b.value(second).shape[1], 3);
  EXPECT_EQ(b.channels_second(file["x"], "again"), second);
  EXPECT_EQ(b.channels_last(second, "back"), file["x"]);
  EXPECT_EQ(b.graph().node_count(), 1);
}

/// Counted before memory is taken for it, inputs included.
TEST(Builder, ValuesHaveABudget) {
  Lines file;
  EXPECT_THROW(file.input("x", {std::int64_t{1} << 40, 1 << 10}), Error);
}

}  // namespace
}  // namespace stowage
