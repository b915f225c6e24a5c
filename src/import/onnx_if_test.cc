// SPDX-License-Identifier: Apache-2.0
// If: the nodes of the branch that is taken stand in its place, with the names that they had.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "stowage/error.h"
#include "stowage/inspect.h"
#include "stowage/model.h"
#include "tests/suite/onnx_builder.h"

namespace stowage {
namespace {

using Proto = onnx::TensorProto;

/// The last node gets the graph as an attribute.
void add_branch(OnnxBuilder& model, const std::string& attribute, const OnnxBuilder& branch) {
  onnx::AttributeProto& a = *model.last_node().add_attribute();
  a.set_name(attribute);
  a.set_type(onnx::AttributeProto::GRAPH);
  *a.mutable_g() = branch.model.graph();
}

/// y = If(condition), of branches that compute `type` of `of`.
void add_if(OnnxBuilder& model, const std::string& condition, const std::string& y,
            const std::vector<std::string>& types, const std::string& of) {
  model.node("If", {condition}, {y});
  for (std::size_t i = 0; i < types.size(); ++i) {
    OnnxBuilder branch;
    branch.node(types[i], {of}, {"inner"}).output("inner");
    add_branch(model, i == 0 ? "then_branch" : "else_branch", branch);
  }
}

void add_bool(OnnxBuilder& model, const std::string& name, bool value) {
  Proto& t = *model.graph().add_initializer();
  t = onnx_tensor(name, Proto::BOOL, {});
  set_raw(t, std::vector<char>{value});
}

/// A model from x to y with a constant bool c.
OnnxBuilder model_with(bool c) {
  OnnxBuilder b;
  b.input("x", {3}).output("y");
  add_bool(b, "c", c);
  return b;
}

std::shared_ptr<Graph> import(const OnnxBuilder& model, const ImportOptions& options = {}) {
  const TempFile file(model.bytes());
  return import_model(file.path(), options);
}

/// What the model makes of -1.5, 0, 2.5.
std::vector<float> run(const OnnxBuilder& model) {
  Session session(make_plan(import(model)));
  Tensor x(DType::f32, session.inputs()[0].shape);
  const float elements[] = {-1.5f, 0, 2.5f};
  std::copy(std::begin(elements), std::end(elements), x.as<float>().begin());
  session.set_input(0, x.view());
  session.run();
  const Tensor y = session.output(0);
  return {y.as<float>().begin(), y.as<float>().end()};
}

TEST(OnnxIf, TakesTheBranchThatAConstantSays) {
  for (const bool condition : {true, false}) {
    OnnxBuilder b = model_with(condition);
    add_if(b, "c", "y", {"Neg", "Abs"}, "x");
    EXPECT_EQ(run(b), condition ? (std::vector<float>{1.5f, -0.0f, -2.5f})
                                : (std::vector<float>{1.5f, 0, 2.5f}));
  }
}

TEST(OnnxIf, TakesTheBranchThatShapesSay) {
  for (const int rows : {1, 2}) {
    OnnxBuilder b;
    b.input("x", {rows, 3}).output("y").ints("zero", {0}).ints("one", {1});
    b.node("Shape", {"x"}, {"s"}).node("Gather", {"s", "zero"}, {"n"});
    b.node("Equal", {"n", "one"}, {"is_one"}).node("If", {"is_one"}, {"y"});
    OnnxBuilder squeeze, keep;
    squeeze.ints("axes", {0}).node("Squeeze", {"x", "axes"}, {"out"}).output("out");
    keep.node("Identity", {"x"}, {"out"}).output("out");
    add_branch(b, "then_branch", squeeze);
    add_branch(b, "else_branch", keep);
    const auto graph = import(b);
    EXPECT_EQ(graph->value(graph->outputs[0]).shape.rank(), rows == 1 ? 1 : 2);
  }
}

// Neighbours define the same names; a node outside reads what an If defines, and an If what comes
// behind it in the file.
TEST(OnnxIf, NamesBelongToTheirBranch) {
  OnnxBuilder b = model_with(true);
  add_if(b, "c", "two", {"Abs", "Neg"}, "one");
  add_if(b, "c", "one", {"Neg", "Abs"}, "x");
  b.node("Add", {"two", "one"}, {"y"});
  EXPECT_EQ(run(b), (std::vector<float>{3, 0, 0}));
}

TEST(OnnxIf, BranchesWithinBranches) {
  OnnxBuilder b = model_with(true);
  b.node("If", {"c"}, {"y"});
  OnnxBuilder outer;
  // Hides nothing: an inner name stands for the inner value, a captured one for the outer.
  add_bool(outer, "never", false);
  outer.node("Add", {"x", "x"}, {"inner"});
  outer.node("If", {"never"}, {"result"});
  OnnxBuilder taken;
  taken.weights("w", {3}).node("Mul", {"inner", "w"}, {"product"}).output("product");
  add_branch(outer, "else_branch", taken);
  outer.output("result");
  add_branch(b, "then_branch", outer);
  EXPECT_EQ(run(b), (std::vector<float>{0, 0, 2.5f}));
}

TEST(OnnxIf, ABranchMayReturnWhatItCaptures) {
  OnnxBuilder b = model_with(true);
  b.node("If", {"c"}, {"y"});
  OnnxBuilder branch;
  branch.output("x");
  add_branch(b, "then_branch", branch);
  EXPECT_EQ(run(b), (std::vector<float>{-1.5f, 0, 2.5f}));
}

TEST(OnnxIf, WhatIsInTheOtherBranchDoesNotMatter) {
  OnnxBuilder b = model_with(false);
  add_if(b, "c", "y", {"Frobnicate", "Abs"}, "x");
  EXPECT_EQ(run(b), (std::vector<float>{1.5f, 0, 2.5f}));
}

struct Refusal {
  const char* name;
  std::function<void(OnnxBuilder&)> change;  ///< of a model whose If takes Abs, else Neg
  ErrorCode code;
  std::string_view part;
};

void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

onnx::GraphProto& first_branch(OnnxBuilder& b) {
  return *b.last_node().mutable_attribute(0)->mutable_g();
}

void nest(OnnxBuilder& b, int depth) {
  for (int i = 0; i < depth; ++i) {
    OnnxBuilder outer;
    outer.graph() = b.graph();
    b.graph().clear_node();
    b.graph().clear_initializer();
    b.graph().clear_input();
    add_bool(b, "c" + std::to_string(i), true);
    outer.graph().clear_input();
    b.node("If", {"c" + std::to_string(i)}, {"y"});
    add_branch(b, "then_branch", outer);
  }
  b.input("x", {3});
}

class OnnxIfRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(OnnxIfRefuses, InOneSentence) {
  OnnxBuilder b = model_with(true);
  add_if(b, "c", "y", {"Abs", "Neg"}, "x");
  GetParam().change(b);
  try {
    import(b);
    FAIL() << "was imported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(GetParam().part), std::string_view::npos)
        << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, OnnxIfRefuses,
    testing::Values(
        Refusal{"a condition from data",
                [](OnnxBuilder& b) {
                  b.input("flag", {1}, Proto::BOOL);
                  b.last_node().set_input(0, "flag");
                },
                ErrorCode::unsupported, "known only when the model runs [node 'n_y' (If)"},
        Refusal{"a condition that nothing produces",
                [](OnnxBuilder& b) { b.last_node().set_input(0, "nowhere"); }, ErrorCode::bad_input,
                "nothing produces its input 'nowhere'"},
        Refusal{"no condition", [](OnnxBuilder& b) { b.last_node().clear_input(); },
                ErrorCode::bad_input, "one input"},
        Refusal{"a condition of another dtype",
                [](OnnxBuilder& b) {
                  b.ints("i", {1});
                  b.last_node().set_input(0, "i");
                },
                ErrorCode::bad_input, "not one bool"},
        Refusal{"no branch", [](OnnxBuilder& b) { b.last_node().clear_attribute(); },
                ErrorCode::bad_input, "no then_branch"},
        Refusal{"a branch twice",
                [](OnnxBuilder& b) { b.last_node().mutable_attribute(1)->set_name("then_branch"); },
                ErrorCode::bad_input, "'then_branch' occurs twice"},
        Refusal{"too few outputs", [](OnnxBuilder& b) { first_branch(b).clear_output(); },
                ErrorCode::bad_input, "its then_branch has 0 outputs for 1"},
        Refusal{"an output that nothing produces",
                [](OnnxBuilder& b) { first_branch(b).mutable_output(0)->set_name("nowhere"); },
                ErrorCode::bad_input, "'nowhere' of its then_branch"},
        Refusal{"a branch with an input",
                [](OnnxBuilder& b) { first_branch(b).add_input()->set_name("i"); },
                ErrorCode::bad_input, "a branch has no inputs"},
        Refusal{
            "a name twice in a branch",
            [](OnnxBuilder& b) { first_branch(b).add_node()->CopyFrom(first_branch(b).node(0)); },
            ErrorCode::bad_input, "'inner' is produced twice"},
        Refusal{"a cycle in a branch",
                [](OnnxBuilder& b) { first_branch(b).mutable_node(0)->set_input(0, "inner"); },
                ErrorCode::bad_input, "cycle"},
        Refusal{"a cycle through a branch",
                [](OnnxBuilder& b) { first_branch(b).mutable_node(0)->set_input(0, "y"); },
                ErrorCode::bad_input, "cycle"},
        Refusal{"a value of the other branch",
                [](OnnxBuilder& b) { first_branch(b).mutable_node(0)->set_output(0, "mine"); },
                ErrorCode::bad_input, "nothing produces the output 'inner'"},
        Refusal{"an unknown operator in the branch",
                [](OnnxBuilder& b) { first_branch(b).mutable_node(0)->set_op_type("Frobnicate"); },
                ErrorCode::unsupported, "unsupported operator Frobnicate [node 'n_inner'"},
        Refusal{"a domain without opset",
                [](OnnxBuilder& b) { first_branch(b).mutable_node(0)->set_domain("com.example"); },
                ErrorCode::unsupported, "Abs (domain 'com.example')"},
        Refusal{"sparse weights", [](OnnxBuilder& b) { first_branch(b).add_sparse_initializer(); },
                ErrorCode::unsupported, "sparse"},
        Refusal{"too many within each other", [](OnnxBuilder& b) { nest(b, 16); }, ErrorCode::limit,
                "16 deep"}));

TEST(OnnxIf, SixteenWithinEachOther) {
  OnnxBuilder b = model_with(true);
  add_if(b, "c", "y", {"Abs", "Neg"}, "x");
  nest(b, 15);
  EXPECT_EQ(run(b), (std::vector<float>{1.5f, 0, 2.5f}));
}

TEST(OnnxIf, InspectionCountsWhatIsInBranches) {
  OnnxBuilder b = model_with(true);
  add_if(b, "c", "y", {"Abs", "Frobnicate"}, "x");
  Proto& weight = *first_branch(b).add_initializer();
  weight = onnx_tensor("w", Proto::FLOAT, {5});
  set_raw(weight, std::vector<float>(5));
  const TempFile file(b.bytes());
  const ModelInfo info = inspect_model(file.path());
  std::string all;
  for (const ModelInfo::Operator& op : info.operators)
    all += op.name + (op.unsupported.empty() ? " " : "! ");
  EXPECT_EQ(all, "Abs Frobnicate! If ");
  EXPECT_EQ(info.parameters, 6);
}

}  // namespace
}  // namespace stowage
