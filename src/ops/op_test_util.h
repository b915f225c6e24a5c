// SPDX-License-Identifier: Apache-2.0
// One node, its reference, and every offer of it compared with the reference. For tests only.
//
//   OpCase c{.op = "relu", .inputs = {{.extents = {1, 5, 3, 7}}}};
//   EXPECT_GT(check_offers(c), 0);
//
// check_offers converts the inputs with plain loops, poisons gaps and everything behind the
// buffers, runs each kernel with no pool and with three threads, and wants equal elements, zero
// tails, untouched gaps and untouched memory behind the outputs.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "graph/op_def.h"
#include "kernels/test_util.h"

namespace stowage::op_test {

/// A row-major tensor with the given elements.
template <class T>
Tensor tensor_of(DType dtype, const Ints& extents, const std::vector<T>& elements) {
  Tensor t(dtype, Shape::unnamed(extents));
  std::ranges::copy(elements, t.as<T>().begin());
  return t;
}

inline Tensor ints_tensor(const std::vector<std::int64_t>& v) {
  return tensor_of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(v.size())}, v);
}

inline Tensor floats_tensor(const Ints& extents, const std::vector<float>& v) {
  return tensor_of<float>(DType::f32, extents, v);
}

/// An input of the node: random unless `data` says what it holds.
struct In {
  DType dtype = DType::f32;
  Ints extents = {};
  bool constant = false;
  std::shared_ptr<const Tensor> data = nullptr;
  float lo = -2, hi = 2;  ///< range of the random elements
  bool absent = false;

  static In of(Tensor t, bool is_constant = true) {
    In in;
    in.dtype = t.dtype();
    in.extents.assign(t.shape().extents().begin(), t.shape().extents().end());
    in.constant = is_constant;
    in.data = std::make_shared<const Tensor>(std::move(t));
    return in;
  }
};

struct OpCase {
  std::string op = {};
  std::map<std::string, Attribute> attrs = {};
  std::vector<In> inputs = {};
  int outputs = 1;
  Posts posts = {};  ///< their operands are the last of `inputs`
  double rtol = 1e-5, atol = 1e-6;
  std::vector<std::string> layouts =
      {};  ///< candidates beside the usual ones, tried on every value
  std::vector<int> target_lanes = {4, 8, 16};  ///< offers are asked for each
  bool exact = false;                          ///< Target::exact
};

inline Tensor random_tensor(DType dtype, const Ints& extents, float lo, float hi,
                            std::mt19937& random) {
  Tensor t(dtype, Shape::unnamed(extents));
  std::uniform_real_distribution<float> real(lo, hi);
  const auto fill = [&]<class T>(T) {
    for (T& x : t.as<T>()) x = static_cast<T>(real(random));
  };
  switch (dtype) {
    case DType::f32:
      fill(float());
      break;
    case DType::f64:
      fill(double());
      break;
    case DType::i64:
    case DType::u64:
      fill(std::int64_t());
      break;
    case DType::i32:
    case DType::u32:
      fill(std::int32_t());
      break;
    case DType::i8:
      fill(std::int8_t());
      break;
    case DType::i16:
      fill(std::int16_t());
      break;
    case DType::boolean:
      for (auto& x : t.as<std::uint8_t>()) x = random() & 1;
      break;
    default:
      for (std::size_t i = 0; i < t.bytes(); ++i)
        t.data()[i] = static_cast<std::byte>(random() % 60);
  }
  return t;
}

inline Post activation_post(Activation activation, Post::Broadcast broadcast = {}) {
  return {.kind = Post::Kind::activation, .broadcast = broadcast, .activation = activation};
}

/// Appends a post to a case, and the operand that it reads.
inline void add_post(OpCase& c, Post post) { c.posts.push_back(post); }

inline void add_post(OpCase& c, Post post, In operand) {
  post.input = static_cast<int>(c.inputs.size());
  c.inputs.push_back(std::move(operand));
  c.posts.push_back(post);
}

/// Lists in which every kind of post stands first, last and behind itself, with every operand that
/// a result of shape `result` can have; operands of channels have the shape `vector`.
inline std::vector<OpCase> with_post_lists(const OpCase& c, const Ints& result,
                                           const Ints& vector) {
  using Kind = Post::Kind;
  using Broadcast = Post::Broadcast;
  const Post relu = activation_post({Activation::Kind::clip, 0, INFINITY});
  const Post silu = activation_post({Activation::Kind::silu, 0, 0});
  const Post scale{.kind = Kind::scale, .factor = -0.3f};
  const Post divide{.kind = Kind::divide, .factor = 41};
  const auto add = [](Broadcast b) { return Post{.kind = Kind::add, .broadcast = b, .input = 0}; };
  const auto multiply = [](Broadcast b) {
    return Post{.kind = Kind::multiply, .broadcast = b, .input = 0};
  };
  const auto prelu = [](Broadcast b) {
    Post post = activation_post({Activation::Kind::prelu, 0, 0}, b);
    post.input = 0;
    return post;
  };
  std::vector<Posts> lists = {
      {scale},
      {divide, relu},
      {scale, relu},
      {relu, scale},
      {silu, add({}), relu},
      {add({}), relu, add({}), relu},
      {relu, multiply({}), silu, add(Broadcast::channel)},
      {add(Broadcast::channel), relu},
      {add({}), silu, multiply(Broadcast::scalar), add(Broadcast::scalar), scale},
  };
  for (const Broadcast b : {Broadcast::none, Broadcast::channel, Broadcast::scalar}) {
    lists.push_back({multiply(b)});
    lists.push_back({prelu(b), add(b)});
  }
  std::vector<OpCase> cases;
  for (const Posts& list : lists) {
    OpCase with = c;
    for (const Post& post : list) {
      if (post.input < 0) {
        add_post(with, post);
        continue;
      }
      In operand;
      operand.extents = post.broadcast == Broadcast::none      ? result
                        : post.broadcast == Broadcast::channel ? vector
                                                               : Ints{1};
      operand.constant = post.broadcast != Broadcast::none;
      add_post(with, post, operand);
    }
    cases.push_back(std::move(with));
  }
  return cases;
}

/// The graph of a case, with shapes inferred and axes named, and the reference results.
class OpGraph {
 public:
  explicit OpGraph(const OpCase& c) {
    std::mt19937 random(7);
    Node n;
    n.op = find_op(c.op);
    if (n.op == nullptr) throw Error(ErrorCode::usage, "no operator '" + c.op + "'");
    n.name = "node";
    for (const auto& [k, v] : c.attrs) n.attrs.set(k, v);
    n.posts = c.posts;
    for (const In& in : c.inputs) {
      if (in.absent) {
        n.inputs.push_back(kNoValue);
        inputs.emplace_back();
        continue;
      }
      Tensor t = in.data ? *in.data : random_tensor(in.dtype, in.extents, in.lo, in.hi, random);
      const std::string name = text("in", n.inputs.size());
      if (in.constant) {
        n.inputs.push_back(graph.add_constant(name, t));
      } else {
        Value v;
        v.name = name;
        v.dtype = t.dtype();
        v.shape = t.shape();
        n.inputs.push_back(graph.add_value(v));
        graph.inputs.push_back(n.inputs.back());
      }
      inputs.push_back(std::move(t));
    }
    for (int o = 0; o < c.outputs; ++o) {
      Value v;
      v.name = text("out", o);
      n.outputs.push_back(graph.add_value(v));
      graph.outputs.push_back(n.outputs.back());
    }
    id = graph.add_node(std::move(n));
    infer_node(graph, id);
    name_axes(graph);
    if (graph.node(id).removed) return;
    run();
  }

  NodeRef ref() { return NodeRef(graph, id); }

  void run() {
    const Node& n = graph.node(id);
    std::vector<TensorView> in;
    std::vector<MutableTensorView> out;
    for (std::size_t i = 0; i < n.inputs.size(); ++i) {
      in.push_back(inputs[i].view());
      if (n.inputs[i] == kNoValue) in.back().data = nullptr;
    }
    results.clear();
    for (ValueId v : n.outputs) results.emplace_back(graph.value(v).dtype, graph.value(v).shape);
    for (Tensor& t : results) out.push_back(t.mutable_view());
    run_reference(ref(), in, out);
  }

  Graph graph;
  NodeId id = kNoNode;
  std::vector<Tensor> inputs, results;
};

/// The reference result of a case.
inline std::vector<Tensor> reference(const OpCase& c) { return std::move(OpGraph(c).results); }

/// Elements of a tensor as a vector.
template <class T>
std::vector<T> elements(const Tensor& t) {
  const auto all = t.as<T>().first(static_cast<std::size_t>(t.shape().elements()));
  return {all.begin(), all.end()};
}

/// Row-major, axis 1 last, blocked by 4, 8 and 16 on axis 1, and the texts of the case that fit.
inline std::vector<Layout> candidate_layouts(const Shape& shape,
                                             const std::vector<std::string>& more) {
  std::vector<Layout> out = {Layout::row_major(shape)};
  if (shape.rank() >= 3) {
    std::vector<Axis> axes(shape.axes().begin(), shape.axes().end());
    axes.erase(axes.begin() + 1);
    axes.push_back(shape.axis(1));
    out.push_back(Layout::row_major(axes));
  }
  if (shape.rank() >= 2) {
    for (const int block : {4, 8, 16}) out.push_back(Layout::blocked(shape, 1, block));
  }
  for (const std::string& s : more) {
    const Layout layout = Layout::parse(s);
    try {
      Mapping(layout, shape, 4);
      out.push_back(layout);
    } catch (const Error&) {
    }
  }
  return out;
}

inline bool next_index(const Shape& shape, std::vector<std::int64_t>& x) {
  for (int i = shape.rank(); i-- > 0;) {
    if (++x[static_cast<std::size_t>(i)] < shape[i]) return true;
    x[static_cast<std::size_t>(i)] = 0;
  }
  return false;
}

inline constexpr std::byte kPoison{0xFE};  // four of them are a huge negative float

/// A buffer in a layout with poisoned gaps and poison behind the last cell.
struct Buffer {
  Buffer(DType type, const Shape& shape, const Layout& layout)
      : dtype(type),
        mapping(layout, shape, dtype_bytes(type)),
        storage(mapping.bytes() + 2 * kVectorSlack + kAlignment, kPoison) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage.data());
    data = storage.data() + (round_up_address(address) - address);
  }

  Buffer(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept = default;

  static std::uintptr_t round_up_address(std::uintptr_t a) {
    return (a + kAlignment - 1) / kAlignment * kAlignment;
  }

  /// Cells from a row-major tensor; tails zero, gaps as they were.
  void load(const Tensor& t) {
    const auto size = static_cast<std::size_t>(mapping.element_bytes());
    std::vector<std::int64_t> x(static_cast<std::size_t>(mapping.shape().rank()) + 1);
    for (std::int64_t cell = 0; cell < mapping.cells(); ++cell) {
      if (mapping.inverse(cell, x) == Cell::tail) {
        std::memset(data + static_cast<std::size_t>(cell) * size, 0, size);
      }
    }
    if (t.shape().elements() == 0) return;
    std::fill(x.begin(), x.end(), 0);
    std::size_t k = 0;
    do {
      std::memcpy(data + static_cast<std::size_t>(mapping.offset(x)) * size, t.data() + k++ * size,
                  size);
    } while (next_index(mapping.shape(), x));
  }

  DType dtype;
  Mapping mapping;
  std::vector<std::byte> storage;
  std::byte* data;
};

inline double element_as_double(DType dtype, const std::byte* p) {
  if (dtype == DType::f32) {
    float v;
    std::memcpy(&v, p, 4);
    return static_cast<double>(v);
  }
  double v;
  std::memcpy(&v, p, 8);
  return v;
}

/// "" or what is wrong with an output buffer.
inline std::string compare(const Buffer& got, const Tensor& want, double rtol, double atol) {
  const Mapping& m = got.mapping;
  const Shape& shape = m.shape();
  const auto size = static_cast<std::size_t>(m.element_bytes());
  const bool real = got.dtype == DType::f32 || got.dtype == DType::f64;
  std::vector<std::int64_t> x(static_cast<std::size_t>(shape.rank()) + 1);
  std::size_t k = 0;
  if (shape.elements() > 0) {
    do {
      const std::byte* p = got.data + static_cast<std::size_t>(m.offset(x)) * size;
      const std::byte* q = want.data() + k++ * size;
      const bool same =
          real ? close(element_as_double(got.dtype, p), element_as_double(got.dtype, q), rtol, atol)
               : std::memcmp(p, q, size) == 0;
      if (!same) {
        const std::span<const std::int64_t> at(x.data(), static_cast<std::size_t>(shape.rank()));
        return real ? text("element ", at, " is ", element_as_double(got.dtype, p), ", not ",
                           element_as_double(got.dtype, q))
                    : text("element ", at, " differs");
      }
    } while (next_index(shape, x));
  }
  for (std::int64_t cell = 0; cell < m.cells(); ++cell) {
    const Cell kind = m.inverse(cell, x);
    if (kind == Cell::data) continue;
    for (std::size_t b = 0; b < size; ++b) {
      const std::byte value = got.data[static_cast<std::size_t>(cell) * size + b];
      if (kind == Cell::tail && value != std::byte{0})
        return text("tail cell ", cell, " is not zero");
      if (kind == Cell::gap && value != kPoison) return text("gap cell ", cell, " was touched");
    }
  }
  for (std::size_t b = 0; b < kVectorSlack; ++b) {
    if (got.data[m.bytes() + b] != kPoison)
      return text("byte ", b, " behind the buffer was touched");
  }
  return "";
}

inline std::string offer_text(const Offer& offer) {
  std::string out = text(offer.name(), ":");
  for (const Operand& o : offer.in) out += " [" + o.layout.text() + "]";
  out += " ->";
  for (const Operand& o : offer.out) out += " [" + o.layout.text() + "]";
  return out;
}

/// Runs one offer; "" or what went wrong.
inline std::string run_offer(OpGraph& g, const Offer& offer, ThreadPool* pool, bool in_place,
                             double rtol, double atol) {
  const Node& n = g.graph.node(g.id);
  if (offer.in.size() != n.inputs.size() || offer.out.size() != n.outputs.size()) {
    return "it does not name one layout an input and output";
  }
  std::vector<Buffer> in, out;
  for (std::size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i] == kNoValue) {
      in.emplace_back(DType::f32, Shape(), Layout());
      continue;
    }
    const Value& v = g.graph.value(n.inputs[i]);
    in.emplace_back(v.dtype, v.shape, offer.in[i].layout);
    in.back().load(g.inputs[i]);
  }
  for (std::size_t o = 0; o < n.outputs.size(); ++o) {
    const Value& v = g.graph.value(n.outputs[o]);
    out.emplace_back(v.dtype, v.shape, offer.out[o].layout);
  }
  if (offer.relabel) {
    if (in[0].mapping.bytes() != out[0].mapping.bytes()) return "a relabel changes the size";
    std::memcpy(out[0].data, in[0].data, in[0].mapping.bytes());
    return compare(out[0], g.results[0], 0, 0);
  }
  if (in_place) {
    if (in[static_cast<std::size_t>(offer.in_place)].mapping.bytes() != out[0].mapping.bytes()) {
      return "in place with buffers of different size";
    }
    std::memcpy(out[0].data, in[static_cast<std::size_t>(offer.in_place)].data,
                out[0].mapping.bytes());
  }
  std::vector<const std::byte*> in_data, constants;
  std::vector<std::byte*> out_data;
  for (std::size_t i = 0; i < in.size(); ++i) {
    in_data.push_back(n.inputs[i] == kNoValue ? nullptr : in[i].data);
    constants.push_back(g.ref().constant(static_cast<int>(i)) ? in_data.back() : nullptr);
  }
  for (Buffer& b : out) out_data.push_back(b.data);
  if (in_place) in_data[static_cast<std::size_t>(offer.in_place)] = out[0].data;
  std::vector<std::byte> scratch(offer.scratch_bytes + kAlignment + kVectorSlack, kPoison);
  KernelArgs args{in_data, out_data,
                  reinterpret_cast<std::byte*>(
                      Buffer::round_up_address(reinterpret_cast<std::uintptr_t>(scratch.data()))),
                  pool};
  // As a plan keeps it.
  const std::vector<std::byte> kept = offer.call.bytes();
  ByteReader reader(kept);
  const KernelCall call = KernelCall::read(offer.call.def(), reader);
  if (reader.left() != 0 || call.bytes() != kept)
    return "its parameters change on the way to bytes";
  const BoundKernel kernel = call.bind({constants});
  for (int repeat = 0; repeat < (in_place || pool != nullptr ? 1 : 2); ++repeat) {
    kernel.run(args);
    for (std::size_t o = 0; o < out.size(); ++o) {
      const std::string why = compare(out[o], g.results[o], rtol, atol);
      if (!why.empty()) return text("output ", o, ": ", why);
    }
  }
  return "";
}

/// The operator's record names the kernel that it offers.
inline bool is_listed(const OpDef& op, const Offer& offer) {
  return offer.call && std::ranges::find(op.kernels, &offer.call.def()) != op.kernels.end();
}

/// What the node offers where each value may have the layouts `layouts_of(shape)`.
template <class LayoutsOf>
std::vector<Offer> offers_of(OpGraph& g, const Target& target, const LayoutsOf& layouts_of) {
  FormatTable formats;
  std::vector<std::vector<int>> candidates(static_cast<std::size_t>(g.graph.value_count()));
  for (ValueId v(0); v < g.graph.value_count(); ++v) {
    const Value& value = g.graph.value(v);
    for (const Layout& layout : layouts_of(value.shape)) {
      candidates[static_cast<std::size_t>(v)].push_back(formats.intern({layout, value.dtype}));
    }
  }
  std::vector<Offer> offers;
  g.graph.node(g.id).op->offers({g.ref(), target, formats, candidates}, offers);
  return offers;
}

/// Every offer for every set of candidates against the reference. Returns how many there were.
/// `seen` collects their texts.
inline int check_offers(const OpCase& c, std::set<std::string>* seen = nullptr) {
  OpGraph g(c);
  const Node& n = g.graph.node(g.id);
  if (n.op->offers == nullptr) return 0;
  static ThreadPool pool(3);
  std::set<std::string> done, tried;
  for (const int lanes : c.target_lanes) {
    for (const int threads : {1, 3}) {
      const Target target{.lanes = lanes, .threads = threads, .exact = c.exact};
      const auto layouts_of = [&](const Shape& shape) {
        return candidate_layouts(shape, c.layouts);
      };
      for (Offer& offer : offers_of(g, target, layouts_of)) {
        complete_inputs(g.ref(), offer);
        // What does not depend on the lanes is offered again for each of them.
        done.insert(offer_text(offer));
        if (!tried.insert(text(threads, " ", offer_text(offer))).second) continue;
        EXPECT_TRUE(offer.relabel || is_listed(*n.op, offer)) << offer_text(offer);
        for (const bool in_place : {false, true}) {
          if (in_place && (offer.in_place < 0 || offer.relabel)) continue;
          const std::string why =
              run_offer(g, offer, threads == 1 ? nullptr : &pool, in_place, c.rtol, c.atol);
          EXPECT_EQ(why, "") << c.op << " " << offer_text(offer) << (in_place ? " in place" : "")
                             << " threads " << threads << " lanes " << lanes;
          if (!why.empty()) return static_cast<int>(done.size());
        }
      }
    }
  }
  if (seen != nullptr) *seen = done;
  return static_cast<int>(done.size());
}

/// The code of the Error that infer or the reference throws, or 0 when there is none.
inline int error_code_of(const OpCase& c) {
  try {
    OpGraph g(c);
  } catch (const Error& e) {
    EXPECT_NE(e.sentence(), "");
    return static_cast<int>(e.code());
  }
  return 0;
}

}  // namespace stowage::op_test
