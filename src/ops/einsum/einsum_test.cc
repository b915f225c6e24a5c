// SPDX-License-Identifier: Apache-2.0
// Einsum against sums over all values of all letters.
#include "ops/einsum/einsum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/error.h"
#include "stowage/model.h"
#include "tests/suite/onnx_builder.h"

namespace stowage {
namespace {

struct Result {
  OnnxInts extents;
  std::vector<double> elements;
};

OnnxBuilder model_of(const std::string& equation, const std::vector<OnnxInts>& inputs) {
  OnnxBuilder b;
  std::vector<std::string> names;
  for (const OnnxInts& extents : inputs) {
    names.push_back("x" + std::to_string(names.size()));
    std::vector<OnnxBuilder::Dim> dims;
    for (const std::int64_t n : extents) dims.emplace_back(static_cast<int>(n));
    b.input(names.back(), dims);
  }
  b.node("Einsum", names, {"y"}, {{"equation", equation}}).output("y");
  return b;
}

std::vector<Tensor> noise(const std::vector<OnnxInts>& shapes, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> element(-1, 1);
  std::vector<Tensor> out;
  for (const OnnxInts& extents : shapes) {
    out.emplace_back(DType::f32, Shape::unnamed(extents));
    for (float& x : out.back().as<float>()) x = element(random);
  }
  return out;
}

Result computed(const std::string& equation, const std::vector<OnnxInts>& shapes,
                const std::vector<Tensor>& inputs) {
  const TempFile file(model_of(equation, shapes).bytes());
  Session session(make_plan(import_model(file.path())));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    session.set_input(static_cast<int>(i), inputs[i].view());
  session.run();
  const Tensor y = session.output(0);
  const auto elements = y.as<float>();
  const auto extents = y.shape().extents();
  return {{extents.begin(), extents.end()}, {elements.begin(), elements.end()}};
}

/// Where an element of a row-major tensor lies whose axes have these letters; axes of 1 broadcast.
std::size_t place(const std::string& letters, const OnnxInts& extents,
                  const std::map<char, std::int64_t>& at) {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < letters.size(); ++i)
    out = out * extents[i] + (extents[i] == 1 ? 0 : at.at(letters[i]));
  return static_cast<std::size_t>(out);
}

/// `terms`: of the inputs, then of the result; letters only.
Result expected(const std::vector<std::string>& terms, const std::vector<OnnxInts>& shapes,
                const std::vector<Tensor>& inputs) {
  std::map<char, std::int64_t> extents, at;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (std::size_t k = 0; k < terms[i].size(); ++k) {
      std::int64_t& n = extents.try_emplace(terms[i][k], 1).first->second;
      n = std::max(n, shapes[i][k]);
      at[terms[i][k]] = 0;
    }
  }
  Result out;
  std::int64_t elements = 1;
  for (const char letter : terms.back()) {
    out.extents.push_back(extents[letter]);
    elements *= extents[letter];
  }
  out.elements.resize(static_cast<std::size_t>(elements));
  for (bool more = true; more;) {
    double product = 1;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      product *= inputs[i].as<float>()[place(terms[i], shapes[i], at)];
    out.elements[place(terms.back(), out.extents, at)] += product;
    more = false;
    for (auto& [letter, value] : at) {
      if (++value < extents[letter]) {
        more = true;
        break;
      }
      value = 0;
    }
  }
  return out;
}

void compare(const std::string& equation, const std::vector<std::string>& terms,
             const std::vector<OnnxInts>& shapes) {
  SCOPED_TRACE(equation);
  const std::vector<Tensor> inputs = noise(shapes, 1);
  const Result found = computed(equation, shapes, inputs), wanted = expected(terms, shapes, inputs);
  ASSERT_EQ(found.extents, wanted.extents);
  for (std::size_t i = 0; i < wanted.elements.size(); ++i)
    ASSERT_NEAR(found.elements[i], wanted.elements[i], 1e-4) << i;
}

TEST(Einsum, SumsOverAllLetters) {
  const struct {
    std::string equation;
    std::vector<std::string> terms;  ///< the equation without dots, arrows and spaces
    std::vector<OnnxInts> shapes;
  } cases[] = {
      {"ij->ji", {"ij", "ji"}, {{3, 5}}},
      {"ij->i", {"ij", "i"}, {{3, 5}}},
      {"ij->", {"ij", ""}, {{3, 5}}},
      {"ba", {"ba", "ab"}, {{3, 5}}},
      {"ii", {"ii", ""}, {{4, 4}}},
      {"...ii -> ...i", {"abii", "abi"}, {{2, 3, 4, 4}}},
      {"iji->ji", {"iji", "ji"}, {{4, 3, 4}}},
      {"iiijj->ij", {"iiijj", "ij"}, {{3, 3, 3, 2, 2}}},
      {"bij, bjk -> bik", {"bij", "bjk", "bik"}, {{2, 3, 4}, {2, 4, 5}}},
      {"ij,jk", {"ij", "jk", "ik"}, {{3, 4}, {4, 5}}},
      {"bhid,bhjd->bhij", {"bhid", "bhjd", "bhij"}, {{2, 3, 5, 8}, {2, 3, 7, 8}}},
      {"bhij,bhjd->bihd", {"bhij", "bhjd", "bihd"}, {{2, 3, 5, 7}, {2, 3, 7, 8}}},
      {"bnqd,bknd->bnqk", {"bnqd", "bknd", "bnqk"}, {{2, 3, 5, 4}, {2, 6, 3, 4}}},
      {"i,j->ij", {"i", "j", "ij"}, {{3}, {5}}},
      {"i,i->i", {"i", "i", "i"}, {{5}, {5}}},
      {"i,i->", {"i", "i", ""}, {{5}, {5}}},
      {"i,j->", {"i", "j", ""}, {{5}, {3}}},
      {",ij->ij", {"", "ij", "ij"}, {{}, {2, 3}}},
      {"nchw,kc->nkhw", {"nchw", "kc", "nkhw"}, {{2, 3, 4, 5}, {6, 3}}},
      {"ijk,jil->kl", {"ijk", "jil", "kl"}, {{3, 4, 5}, {4, 3, 2}}},
      {"aij,ajk,akl->ail", {"aij", "ajk", "akl", "ail"}, {{2, 3, 4}, {2, 4, 5}, {2, 5, 6}}},
      {"ab,bc,ca->", {"ab", "bc", "ca", ""}, {{2, 3}, {3, 4}, {4, 2}}},
      {"...ij,...jk->...ik", {"xyij", "xyjk", "xyik"}, {{2, 1, 3, 4}, {1, 5, 4, 2}}},
      {"...ij,...jk", {"yij", "xyjk", "xyik"}, {{5, 3, 4}, {2, 5, 4, 2}}},
      {"i...->...", {"ixy", "xy"}, {{3, 2, 4}}},
      {"ij,jk->ik", {"ij", "jk", "ik"}, {{3, 1}, {4, 5}}},
      {"Aa,aB->BA", {"Aa", "aB", "BA"}, {{3, 4}, {4, 5}}},
      {"abcdefgh,abcdefgh->abcdefg",
       {"abcdefgh", "abcdefgh", "abcdefg"},
       {{2, 1, 2, 1, 2, 1, 2, 3}, {2, 1, 2, 1, 2, 1, 2, 3}}},
  };

  for (const auto& c : cases) compare(c.equation, c.terms, c.shapes);
}

// One to three terms of random letters, diagonals and axes of 1 among them.
TEST(Einsum, RandomEquations) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 200; ++round) {
    const std::string letters = "abcde";
    std::map<char, std::int64_t> extents;
    for (const char letter : letters) extents[letter] = 1 + below(4);
    std::vector<std::string> terms;
    std::vector<OnnxInts> shapes;
    std::string all;
    for (int i = 0, count = 1 + below(3); i < count; ++i) {
      std::string term;
      OnnxInts shape;
      for (int k = below(5); k > 0; --k) {
        const char letter = letters[static_cast<std::size_t>(below(5))];
        const bool again = term.find(letter) != std::string::npos;
        term += letter;
        shape.push_back(extents[letter]);
        if (!again && all.find(letter) != std::string::npos && below(4) == 0) {
          shape.back() = 1;  // for every other
          extents.emplace(letter, 1);
        }
        // Both axes of a diagonal are as long.
        if (again) shape.back() = shape[term.find(letter)];
      }
      all += term;
      terms.push_back(term);
      shapes.push_back(shape);
    }
    std::string result;
    for (const char letter : letters) {
      if (all.find(letter) != std::string::npos && below(2) == 0) result += letter;
    }
    std::shuffle(result.begin(), result.end(), random);
    std::string equation = terms[0];
    for (std::size_t i = 1; i < terms.size(); ++i) equation += "," + terms[i];
    terms.push_back(result);
    compare(equation + "->" + result, terms, shapes);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Einsum, RefusesInOneSentence) {
  const struct {
    std::string equation;
    std::vector<OnnxInts> shapes;
    std::string part;
  } cases[] = {
      {"ij->ik", {{2, 3}}, "'k' of the result is in no term"},
      {"ij->ii", {{2, 3}}, "'i' is twice in the result"},
      {"ijk->i", {{2, 3}}, "the term 'ijk' does not fit a rank of 2"},
      {"ij...k->i", {{2, 3}}, "does not fit a rank of 2"},
      {"ij,jk->ik", {{2, 3}}, "more terms than the node inputs"},
      {"ij->ij", {{2, 3}, {2, 3}}, "1 terms for 2 inputs"},
      {"ij,jk->ik", {{2, 3}, {4, 5}}, "'j' is 3 and 4"},
      {"...i,...i->i", {{2, 3}, {4, 3}}, "'...' is 2 and 4"},
      {"ii->i", {{2, 3}}, "'i' is 2 and 3"},
      {"ii->i", {{1, 3}}, "a diagonal of 1 by 3"},
      {"i1->i", {{2, 3}}, "'1' is no letter"},
      {"i..->i", {{2, 3, 4}}, "'.' is no letter"},
      {"ij->i->j", {{2, 3}}, "'-' is no letter"},
      {"", {{2, 3}}, "does not fit a rank of 2"},
  };

  for (const auto& c : cases) {
    SCOPED_TRACE(c.equation);
    const TempFile file(model_of(c.equation, c.shapes).bytes());
    try {
      import_model(file.path());
      ADD_FAILURE() << "was imported";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
      EXPECT_NE(std::string(error.what()).find(c.part), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace stowage
