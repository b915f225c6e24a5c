// SPDX-License-Identifier: Apache-2.0
// The contract of an operator: one record says everything Stowage knows about it.
//
//   infer      shapes and dtypes of the outputs; every check of attributes and inputs
//   reference  what kernels are compared with: scalar loops over row-major tensors
//   offers     layouts in which a fast kernel exists; none makes a slower plan, never an error
//   axes       which axes are n, c, h, w, and which correspond (default: elementwise)
//   rewrites   what passes may do with a node: they ask its record and know no operator by name
//
// A file src/ops/<stem>.cc defines `const std::span<const OpDef> ops_<stem>`; the table of all
// operators is generated from the file names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "kernels/kernel.h"
#include "stowage/device.h"
#include "tensor/format.h"

namespace stowage {

class ImportNode;

/// A node inside its graph, as the functions of an OpDef see it.
class NodeRef {
 public:
  NodeRef(const Graph& graph, NodeId id) : graph_(&graph), id_(id) {}

  const Graph& graph() const { return *graph_; }

  const Node& node() const { return graph_->node(id_); }

  NodeId id() const { return id_; }

  /// What the node asks for, defaults left out.
  const Attributes& attrs() const { return node().attrs; }

  /// What inference made of it.
  const Attributes& facts() const { return node().facts; }

  /// Of the operator's own inputs: operands of posts stand behind them, and are `operand`'s.
  int input_count() const;

  int output_count() const { return static_cast<int>(node().outputs.size()); }

  /// The operator has this input of its own.
  bool has(int i) const;
  /// Throws Error(bad_input) "input i is missing" when it is not.
  const Value& input(int i) const;

  /// What a post reads; it has one.
  const Value& operand(const Post& post) const {
    return graph_->value(node().inputs[static_cast<std::size_t>(post.input)]);
  }

  const Shape& shape(int i) const { return input(i).shape; }

  int rank(int i) const { return shape(i).rank(); }

  DType dtype(int i) const { return input(i).dtype; }

  const Value& output(int i = 0) const;
  bool has_output(int i) const;

  /// The constant tensor of an input, or null when it is absent or computed at run time.
  const Tensor* constant(int i) const;
  /// The elements of a constant input of i64 or i32. Throws Error(unsupported) when it is not
  /// constant, Error(bad_input) for another dtype.
  Ints constant_ints(int i) const;
  /// The elements of a constant input of a float dtype, as f32. Throws likewise.
  Floats constant_floats(int i) const;
  /// `name` as an attribute, else input `i` as a constant, else nothing.
  std::optional<Ints> ints_of(std::string_view name, int i) const;
  /// Likewise, a scalar f32.
  std::optional<float> float_of(std::string_view name, int i) const;

  /// Throws Error(bad_input) unless lo <= number of inputs <= hi and the first `lo` are there.
  void expect_inputs(int lo, int hi) const;
  /// Throws Error(unsupported) unless the dtype of input i is one of these.
  void expect_dtype(int i, std::initializer_list<DType> allowed) const;

 private:
  const Graph* graph_;
  NodeId id_;
};

/// A node whose shapes are being inferred: what inference finds out is written down in the shapes
/// of its outputs and in its facts, and nowhere else.
class InferRef : public NodeRef {
 public:
  InferRef(Graph& graph, NodeId id) : NodeRef(graph, id), graph_(&graph) {}

  /// Sets dtype and extents of an output; does nothing if nobody wants the output.
  void set_output(int i, DType dtype, std::span<const std::int64_t> extents) const;
  void set_output(int i, DType dtype, std::initializer_list<std::int64_t> extents) const;
  /// For references, offers, axes and passes; see NodeRef::facts.
  void set_fact(std::string_view name, Attribute value) const;
  /// Output 0, which has its shape, is known although the inputs are not.
  void set_known(Tensor result) const;

 private:
  Graph* graph_;
};

/// Maps a possibly negative axis into [0, rank). Throws Error(bad_input):
/// "axis 7 is out of range for rank 4".
int normal_axis(std::int64_t axis, int rank);

/// An operand whose bytes would be those of another from `offset` on, and all that lies there: it
/// need not be copied where the plan lets it lie in the other's memory.
struct Part {
  int operand = -1;        ///< index of the input or output
  std::size_t offset = 0;  ///< in bytes
  double pieces = 0;       ///< of Offer::pieces, those that copy it
};

/// How a kernel takes an operand: a format, its type being the value's own unless given.
struct Operand {
  Layout layout;  ///< over the axes of the value
  Place place = {};
  std::optional<DType> dtype = {};

  Operand() = default;

  Operand(const Layout& in_layout) : layout(in_layout) {}  // NOLINT: most operands are no more

  friend bool operator==(const Operand&, const Operand&) = default;

  Format format(const Value& value) const { return {layout, dtype.value_or(value.dtype), place}; }
};

/// A way to run a node: formats in, formats out, a kernel, and the work that it does.
struct Offer {
  KernelCall call;                ///< of a relabel: none
  std::vector<Operand> in, out;   ///< one an input and output; ignored for absent ones; the last
                                  ///< inputs, which the kernel does not read, may be left out
  double flops = 0;               ///< multiply and add count as two
  double efficiency = 1;          ///< fraction of peak that the kernel reaches on large shapes
  double pieces = 0;              ///< that a copy moves one by one, and which take time each
  double extra_bytes = 0;         ///< touched besides every operand once: lines that come again;
                                  ///< below 0 where a kernel reads a part of an input, or a
                                  ///< smaller copy of a constant
  double extra_weight_bytes = 0;  ///< of them those of constants
  std::size_t scratch_bytes = 0;  ///< KernelArgs::scratch, 64-byte aligned
  int in_place = -1;              ///< output 0 may be written over this input, same layout
  bool relabel = false;           ///< output 0 is input 0 under another name: moves no byte
  /// Inputs that may lie in output 0; the kernel finds the same address on both sides then, and
  /// leaves them alone. Those of one offer cover output 0.
  std::vector<Part> inputs_in_output;
  /// Outputs that may lie in input 0. When all of them do, the kernel is not called.
  std::vector<Part> outputs_in_input;

  /// As plans print it.
  std::string_view name() const { return relabel ? "relabel" : call.name(); }
};

/// What of a device a plan may use. It is device 1.
struct DeviceTarget {
  DeviceFacts facts;
  DeviceOptions::Memory memory = DeviceOptions::Memory::any;
  DType store = DType::f32;             ///< of f32 values: f32 or f16
  std::vector<std::string> avoid = {};  ///< DeviceOptions::avoid

  /// An operand of this layout: an image where it is one that the device can have, else a buffer.
  /// Nothing where the device has room for neither, or its kernels know no such elements. The
  /// planner adds offers of buffers to those of images where either will do.
  std::optional<Operand> operand(const Value& value, const Layout& layout) const;
};

/// What a plan is made for.
struct Target {
  int lanes = 4;  ///< f32 lanes of the widest instruction set in use: the channel block
  int threads = 1;
  std::optional<DeviceTarget> device = {};
  bool exact = false;  ///< PlanOptions::exact
};

/// The best target of this machine.
Target host_target(int threads);

/// Inputs that the offer leaves out lie row-major. Throws Error(internal) where it leaves out the
/// operands of posts.
void complete_inputs(const NodeRef& node, Offer& offer);

struct OfferRequest {
  NodeRef node;
  const Target& target;
  const FormatTable& formats;
  std::span<const std::vector<int>> candidates_of;  ///< of each value, numbers in `formats`

  /// Layouts that a value may have so far where its elements lie in host memory as they are;
  /// row-major is always among them.
  std::vector<Layout> candidates(ValueId value) const;
  /// Likewise on the device, with the operand that each is.
  std::vector<Operand> device_candidates(ValueId value) const;
};

/// Unions of axes and names for them; see name_axes.
class AxisLinks {
 public:
  virtual ~AxisLinks() = default;
  /// Axis `i` of the value is called `name`.
  virtual void name(ValueId value, int i, std::string_view name) = 0;
  /// Axis `i` of `a` is axis `j` of `b`.
  virtual void link(ValueId a, int i, ValueId b, int j) = 0;
};

/// Every input that has an axis on an output axis (aligned on the right, as broadcasting does,
/// extents equal) is linked to it.
void link_elementwise(const NodeRef& node, AxisLinks& links);

/// What a model file of `format` calls the operator; one of another domain than the format's own
/// is "domain.type".
struct ForeignName {
  std::string_view format, type;
  /// How it becomes nodes (graph/import_rule.h); null: one node, with the file's attributes.
  void (*import)(ImportNode&) = nullptr;
};

/// Row-major tensors for the reference. It may throw Error(bad_input) for what only the data
/// can show (an index out of range).
struct ReferenceArgs {
  const NodeRef& node;
  std::span<const TensorView> in;          ///< data is null where an input is absent
  std::span<const MutableTensorView> out;  ///< data is null where nobody wants the output

  template <class T>
  const T* input(std::size_t i) const {
    return i < in.size() ? reinterpret_cast<const T*>(in[i].data) : nullptr;
  }

  template <class T>
  T* output(std::size_t i) const {
    return reinterpret_cast<T*>(out[i].data);
  }
};

/// An input that says what to do, as the file may also do by an attribute: axes, pads, sizes. It
/// must be known to inference and is nothing to kernels; `simplify` turns it into the attribute.
struct Parameter {
  int input;
  std::string_view attribute;
};

/// Zeros around a value: how many before and after its elements along each axis.
struct ZeroPads {
  Ints before, after;
};

/// The axes [first, last) of a value.
struct AxisRange {
  int first = 0, last = 0;
};

/// y = scale * x + shift along some axes of x: one of each for every index over these axes, in
/// row-major order.
struct ScaleShift {
  std::vector<float> scale, shift;

  bool scales() const;  ///< by something else than 1
  bool shifts() const;  ///< by something else than 0
};

/// A node after a rewrite: its attributes, and the constants that are inputs of it now.
struct Rewritten {
  Attributes attrs;
  std::vector<std::pair<int, Tensor>> constants = {};
};

/// OpDef::permute of what works on each element by itself, broadcasting its inputs: no attribute
/// depends on the order of the axes.
std::optional<Attributes> permute_nothing(const NodeRef& node, std::span<const std::int64_t> perm);

struct OpDef {
  std::string_view name;
  std::span<const ForeignName> aliases = {};
  /// In which layouts it runs (docs/planning.md): those of its kernels, any, or the source order.
  Category category = Category::source;
  /// The operator of MACE that it becomes, which may be on another of MACE's lists than `category`
  /// says; `--planner rule` goes by those. Empty: MACE has none, or keeps it in source order.
  std::string_view mace = {};
  void (*infer)(const InferRef&) = nullptr;
  std::span<const Parameter> parameters = {};
  /// Output 0 is input 0 with its axes in the order of the fact `perm`, and the node does no more.
  bool transposes = false;
  /// The attributes with which the node does the same to tensors whose axes lie in another order:
  /// where transposes by `perm` of its inputs (axis i is axis perm[i] of what they read) become one
  /// of its output. Constants are transposed with the inputs, aligned on the right, unless they are
  /// one element. Nothing where the node cannot; null: no node of the operator can.
  std::optional<Attributes> (*permute)(const NodeRef&,
                                       std::span<const std::int64_t> perm) = nullptr;
  /// The zeros that the node puts around input 0, if that is all it does.
  std::optional<ZeroPads> (*zero_pads)(const NodeRef&) = nullptr;
  /// The attributes with which the node takes these zeros around input 0 for granted, so that it
  /// can read what they surround; nothing where it cannot.
  std::optional<Attributes> (*take_zero_pads)(const NodeRef&, const ZeroPads&) = nullptr;
  /// What the node does to its input `i`, if it does no more than to scale and shift it by
  /// constants that vary along these axes alone.
  std::optional<ScaleShift> (*scale_shift)(const NodeRef&, int i, AxisRange axes) = nullptr;
  /// The axes of output 0 along which take_scale_shift may work, if it may.
  std::optional<AxisRange> (*scaled_axes)(const NodeRef&) = nullptr;
  /// The node with the scale and shift of its output 0, along scaled_axes, in its own constants;
  /// nothing where it cannot. Needs scaled_axes.
  std::optional<Rewritten> (*take_scale_shift)(const NodeRef&, const ScaleShift&) = nullptr;
  void (*reference)(const ReferenceArgs&) = nullptr;
  /// On the CPU, and on the device of the target where it has one.
  void (*offers)(const OfferRequest&, std::vector<Offer>&) = nullptr;
  /// The kernels that `offers` chooses among: the CPU's, and the device's.
  std::span<const KernelDef* const> kernels = {};
  std::span<const KernelDef* const> device_kernels = {};
  void (*axes)(const NodeRef&, AxisLinks&) = link_elementwise;
  /// The node as a post on its input `x`, if that is all it is; `Post::input` is the input of this
  /// node that would be the operand. Its broadcast is found by the pass that fuses it.
  std::optional<Post> (*post)(const NodeRef&, int x) = nullptr;
  /// The axis of output 0 along which operands of posts may vary (Post::Broadcast::channel); from
  /// the end where it is negative.
  int channel_axis = 1;
  /// Output 0 is input 0: where nobody reads another output, the node may go.
  bool copies = false;
};

/// Generated: the tables of every file of src/ops.
std::span<const std::span<const OpDef>* const> op_families();

/// The operator by its own name ("conv"), or null.
const OpDef* find_op(std::string_view name);

/// The kernel of that name, the reference's included, or null.
const KernelDef* find_kernel(std::string_view name);

/// Every kernel there is, once.
std::vector<const KernelDef*> all_kernels();

/// By name, then its parameters. Throws Error(bad_input) for a name that there is not.
void archive(Archive& a, KernelCall& call);

struct ForeignMatch {
  const OpDef* op = nullptr;
  const ForeignName* name = nullptr;
};

/// The operator that imports `type` of `format`; op is null when there is none.
ForeignMatch find_foreign_op(std::string_view format, std::string_view type);

/// Every kernel of the node's operator applies the posts of the node and, behind them, `next`.
bool takes_post(const NodeRef& node, const Post& next);

/// Runs the reference and then the posts.
void run_reference(const NodeRef& node, std::span<const TensorView> in,
                   std::span<const MutableTensorView> out);

/// Row-major views of the operands of a node, without data: what a reference is called with.
struct ReferenceViews {
  explicit ReferenceViews(const NodeRef& node);

  std::vector<TensorView> in;
  std::vector<MutableTensorView> out;
};

/// Runs the reference of an operator, then the posts, over row-major operands. May throw.
extern const KernelDef kReferenceKernel;

KernelCall reference_call(const NodeRef& node);

}  // namespace stowage
