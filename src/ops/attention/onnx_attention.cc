// SPDX-License-Identifier: Apache-2.0
// ONNX's Attention (onnx.ai/onnx/operators/onnx__Attention.html): several heads, of which groups
// may share keys and values, with a cache, masks of four kinds and a cap on the scores.
#include "ops/attention/onnx_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/checked.h"
#include "base/numbers.h"
#include "graph/constants.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

enum Input { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kKeysThere };

enum Output { kResult, kPresentKey, kPresentValue, kScores };

/// What output kScores gives.
enum class ScoresAre { products, capped, masked, shares };

class OnnxAttention {
 public:
  explicit OnnxAttention(ImportNode& node)
      : node_(node),
        type_(node.value(node.in(kQuery)).dtype),
        arithmetic_(type_ == DType::f64 ? DType::f64 : DType::f32) {}

  void import() {
    read_operands();
    ValueId scores = emit("matmul", {queries(), transposed_keys()});
    scores = emit("mul", {scores, number(scale())});
    give_scores(ScoresAre::products, scores);
    scores = capped(scores);
    give_scores(ScoresAre::capped, scores);
    const ValueId bias = whole_bias();
    if (bias != kNoValue) scores = emit("add", {scores, in_groups(bias)});
    give_scores(ScoresAre::masked, scores);
    const ValueId empty = bias == kNoValue ? kNoValue : empty_rows(bias);
    const ValueId shares = softmax(scores);
    give_scores(ScoresAre::shares, without(empty, shares));
    // What a row that sees no key would be is no number, and stays inside the row.
    const ValueId values = with_group_axis(as(arithmetic_, v_), keys_, node_.shape(v_)[3]);
    give_result(without(empty, emit("matmul", {shares, values})));
  }

 private:
  ValueId emit(std::string_view op, std::vector<ValueId> inputs,
               std::initializer_list<NamedAttribute> attributes = {}) {
    return node_.emit(op, std::move(inputs), attributes);
  }

  bool gives(Output output) const { return output < node_.output_count() && node_.is_read(output); }

  ValueId as(DType type, ValueId value) {
    if (node_.value(value).dtype == type) return value;
    return emit("cast", {value}, {{"to", std::string(dtype_name(type))}});
  }

  /// A scalar of the type in which the products are made.
  ValueId number(float value) { return as(arithmetic_, node_.constant(value)); }

  ValueId whole_number(std::int64_t value) {
    Tensor t(DType::i64, Shape());
    t.as<std::int64_t>()[0] = value;
    return node_.constant(std::move(t));
  }

  /// batch x heads x steps x features; of rank 3 the features of all heads are one axis.
  ValueId in_heads(Input input, std::string_view heads_attribute) {
    const ValueId x = node_.in(input);
    const Shape shape = node_.shape(x);
    if (shape.rank() == 4) return x;
    const std::int64_t heads = node_.attrs.integer(heads_attribute, 0);
    if (shape.rank() != 3) {
      fail(ErrorCode::bad_input, "input ", int{input}, " has rank ", shape.rank(),
           ", expected 3 or 4");
    }
    if (heads < 1 || shape[2] % heads != 0) {
      fail(ErrorCode::bad_input, heads_attribute, " is ", heads, ", with ", shape[2], " features");
    }
    const ValueId split = node_.reshape(x, {shape[0], shape[1], heads, shape[2] / heads});
    return emit("transpose", {split}, {{"perm", Ints{0, 2, 1, 3}}});
  }

  /// Behind what earlier steps left, which becomes the output `present`.
  ValueId with_past(ValueId now, Input past, Output present) {
    if (node_.has(past)) {
      if (node_.shape(node_.in(past)).rank() != 4) {
        fail(ErrorCode::bad_input, "input ", int{past}, " has rank ",
             node_.shape(node_.in(past)).rank(), ", expected 4");
      }
      now = emit("concat", {node_.in(past), now}, {{"axis", std::int64_t{2}}});
    }
    if (gives(present)) node_.out(present, now);
    return now;
  }

  void read_operands() {
    node_.expect(3, 7, std::clamp(node_.output_count(), 1, 4));
    if (type_ != DType::f16 && type_ != DType::f32 && type_ != DType::f64) {
      fail(ErrorCode::unsupported, "input 0 is ", dtype_name(type_), "; supported: f16, f32, f64");
    }
    if (node_.has(kPastKey) != node_.has(kPastValue)) {
      fail(ErrorCode::bad_input, "a cache of keys and one of values go together");
    }
    if (node_.has(kPastKey) && node_.has(kKeysThere)) {
      fail(ErrorCode::bad_input, "nonpad_kv_seqlen is for a cache outside of the operator");
    }
    const int rank = node_.shape(node_.in(kQuery)).rank();
    q_ = in_heads(kQuery, "q_num_heads");
    k_ = in_heads(kKey, "kv_num_heads");
    v_ = in_heads(kValue, "kv_num_heads");
    three_ = rank == 3;
    past_ = node_.has(kPastKey) && node_.shape(node_.in(kPastKey)).rank() == 4
                ? node_.shape(node_.in(kPastKey))[2]
                : 0;
    k_ = with_past(k_, kPastKey, kPresentKey);
    v_ = with_past(v_, kPastValue, kPresentValue);
    const Shape &q = node_.shape(q_), &k = node_.shape(k_), &v = node_.shape(v_);
    batch_ = q[0];
    heads_ = k[1];
    group_ = heads_ == 0 ? 0 : q[1] / heads_;
    steps_ = q[2];
    keys_ = k[2];
    if (k[0] != batch_ || v[0] != batch_ || v[1] != heads_ || group_ * heads_ != q[1] ||
        q[3] != k[3] || v[2] != keys_) {
      fail(ErrorCode::bad_input, "queries ", q.extents(), ", keys ", k.extents(), " and values ",
           v.extents(), " do not fit each other");
    }
  }

  /// batch x heads x group x rows x columns, where groups share keys; all heads are groups of one
  /// where they do not, and have no axis.
  ValueId with_group_axis(ValueId value, std::int64_t rows, std::int64_t columns) {
    if (group_ == 1) return value;
    const std::int64_t group = node_.shape(value)[1] == heads_ ? 1 : group_;
    return node_.reshape(value, {batch_, heads_, group, rows, columns});
  }

  ValueId without_group_axis(ValueId value) {
    if (group_ == 1) return value;
    const Shape shape = node_.shape(value);
    return node_.reshape(value, {batch_, heads_ * group_, shape[3], shape[4]});
  }

  /// A bias that broadcasts to the scores of all heads.
  ValueId in_groups(ValueId bias) {
    const Shape shape = node_.shape(bias);
    if (group_ == 1 || shape.rank() < 3) return bias;
    Ints extents = extents_of(shape);
    const auto head = extents.end() - 3;
    const bool each = *head != 1;
    *head = each ? heads_ : 1;
    extents.insert(extents.end() - 2, each ? group_ : 1);
    return node_.reshape(bias, extents);
  }

  float scale() const {
    const auto features = static_cast<double>(node_.shape(q_)[3]);
    return node_.attrs.real("scale", static_cast<float>(1 / std::sqrt(features)));
  }

  ValueId queries() {
    const ValueId q = as(arithmetic_, q_);
    if (group_ == 1) return q;
    return node_.reshape(q, {batch_, heads_, group_, steps_, node_.shape(q_)[3]});
  }

  ValueId transposed_keys() {
    const ValueId turned = emit("transpose", {as(arithmetic_, k_)}, {{"perm", Ints{0, 1, 3, 2}}});
    return with_group_axis(turned, node_.shape(k_)[3], keys_);
  }

  ValueId capped(ValueId scores) {
    const float cap = node_.attrs.real("softcap", 0);
    if (cap <= 0) return scores;
    const ValueId bounded = emit("tanh", {emit("div", {scores, number(cap)})});
    return emit("mul", {bounded, number(cap)});
  }

  /// 0, 1, 2, ...
  ValueId positions(std::int64_t count) {
    return emit("range", {whole_number(0), whole_number(count), whole_number(1)});
  }

  /// How many keys of each image are there, batch x 1 x 1 x 1.
  ValueId keys_there() {
    const ValueId there = node_.in(kKeysThere);
    if (node_.value(there).dtype != DType::i64 || node_.shape(there).rank() != 1 ||
        node_.shape(there)[0] != batch_) {
      fail(ErrorCode::bad_input, "nonpad_kv_seqlen must hold one i64 for each of ", batch_,
           " images");
    }
    return node_.reshape(there, {batch_, 1, 1, 1});
  }

  void restrict(std::string_view compare, ValueId a, ValueId b) {
    const ValueId also = emit(compare, {a, b});
    allowed_ = allowed_ == kNoValue ? also : emit("and", {allowed_, also});
  }

  /// Keys after the query, outside of its window or not there are not looked at.
  void restrict_by_position() {
    const bool causal = node_.flag("is_causal");
    const std::int64_t left = node_.attrs.integer("left_window_size", -1);
    const std::int64_t right = node_.attrs.integer("right_window_size", -1);
    if (left < -1 || right < -1) {
      fail(ErrorCode::bad_input, "windows of ", left, " and ", right, " positions");
    }
    if (!causal && left < 0 && right < 0 && !node_.has(kKeysThere)) return;
    const ValueId key = positions(keys_);
    if (causal || left >= 0 || right >= 0) {
      ValueId query = node_.reshape(positions(steps_), {steps_, 1});
      ValueId first = whole_number(past_);
      if (node_.has(kKeysThere)) first = emit("sub", {keys_there(), whole_number(steps_)});
      query = emit("add", {query, first});
      // Beyond all keys a bound says nothing, and could overflow.
      const auto bounded = [&](std::int64_t window) {
        return whole_number(std::min(window, checked_add(checked_add(keys_, steps_), past_)));
      };
      if (causal) restrict("less_or_equal", key, query);
      if (right >= 0) restrict("less_or_equal", key, emit("add", {query, bounded(right)}));
      if (left >= 0) restrict("greater_or_equal", key, emit("sub", {query, bounded(left)}));
    }
    if (node_.has(kKeysThere)) restrict("less", key, keys_there());
  }

  /// The mask of the caller with a column for each key; those that it lacks are not looked at.
  ValueId given_mask() {
    ValueId mask = node_.in(kMask);
    const Shape shape = node_.shape(mask);
    if (shape.rank() < 1 || shape.rank() > 4) {
      fail(ErrorCode::bad_input, "a mask of rank ", shape.rank(), ", expected 1 to 4");
    }
    const bool is_bool = node_.value(mask).dtype == DType::boolean;
    mask = as(arithmetic_, mask);  // of a bool 0 and 1, which can be padded
    const std::int64_t columns = shape[shape.rank() - 1];
    if (columns < keys_ && (columns != 1 || node_.version >= 24)) {
      Ints pads(at(2 * shape.rank()), 0);
      pads.back() = keys_ - columns;
      const ValueId fill = number(is_bool ? 0 : -std::numeric_limits<float>::infinity());
      mask = emit("pad", {mask, kNoValue, fill}, {{"pads", pads}});
    }
    if (!is_bool) return mask;
    restrict("greater", mask, number(0));
    return kNoValue;
  }

  /// What is added to the scores; kNoValue where nothing is.
  ValueId whole_bias() {
    ValueId bias = node_.has(kMask) ? given_mask() : kNoValue;
    restrict_by_position();
    if (allowed_ != kNoValue) {
      const ValueId barred =
          emit("where", {allowed_, number(0), number(-std::numeric_limits<float>::infinity())});
      bias = bias == kNoValue ? barred : emit("add", {bias, barred});
    }
    return bias;
  }

  /// Rows whose bias bars every key; kNoValue where it is known that there are none.
  ValueId empty_rows(ValueId bias) {
    const ValueId most =
        emit("reduce_max", {bias}, {{"axes", Ints{-1}}, {"keepdims", std::int64_t{1}}});
    const ValueId empty = emit("equal", {most, number(-std::numeric_limits<float>::infinity())});
    if (const auto& known = node_.value(empty).constant) {
      const auto rows = known->as<std::uint8_t>().first(at(known->shape().elements()));
      if (std::ranges::find(rows, std::uint8_t{1}) == rows.end()) return kNoValue;
    }
    return in_groups(empty);
  }

  ValueId without(ValueId empty, ValueId value) {
    return empty == kNoValue ? value : emit("where", {empty, number(0), value});
  }

  /// In double precision where the file asks for it, else in no less than f32.
  ValueId softmax(ValueId scores) {
    constexpr std::int64_t kDouble = 11;
    const bool wide = node_.attrs.integer("softmax_precision", 1) == kDouble;
    const ValueId x = wide ? as(DType::f64, scores) : scores;
    return as(arithmetic_, emit("softmax", {x}, {{"axis", std::int64_t{-1}}}));
  }

  void give_scores(ScoresAre now, ValueId scores) {
    if (!gives(kScores)) return;
    const std::int64_t mode = node_.attrs.integer("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3) fail(ErrorCode::bad_input, "qk_matmul_output_mode is ", mode);
    if (static_cast<ScoresAre>(mode) != now) return;
    node_.out(kScores, as(type_, without_group_axis(scores)));
  }

  void give_result(ValueId y) {
    y = as(type_, without_group_axis(y));
    if (three_) {
      const Shape shape = node_.shape(y);
      y = emit("transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
      y = node_.reshape(y, {shape[0], shape[2], checked_mul(shape[1], shape[3])});
    }
    node_.out(kResult, y);
  }

  ImportNode& node_;
  DType type_, arithmetic_;
  ValueId q_ = kNoValue, k_ = kNoValue, v_ = kNoValue;  ///< batch x heads x steps x features
  bool three_ = false;                                  ///< the result has rank 3
  std::int64_t batch_ = 0, heads_ = 0, group_ = 0;      ///< heads of keys; of queries for each
  std::int64_t steps_ = 0, keys_ = 0, past_ = 0;
  ValueId allowed_ = kNoValue;  ///< bool, broadcast to the scores
};

}  // namespace

void import_onnx_attention(ImportNode& node) { OnnxAttention(node).import(); }

}  // namespace stowage
