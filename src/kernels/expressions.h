// SPDX-License-Identifier: Apache-2.0
// Arithmetic as the text of a device kernel: functions, posts, operands that broadcast. Values are
// VECTOR_y, float4 or float: the functions work on both.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/elementwise/functions.h"
#include "kernels/launch.h"
#include "kernels/post.h"

namespace stowage {

/// A float constant of the type of `y`'s vectors: exact, and NaN and infinities too.
std::string constant_text(float value);

/// `fn` of `x`, and of `y` where it takes two.
std::string function_text(Fn fn, float a, float b, std::string_view x, std::string_view y);

std::string activation_text(const Activation& activation, std::string_view x);

/// The coordinates at which a kernel makes a vector of its result: texts, one an axis; along
/// `texel`, the axis of texels, they count texels. `texel` is -1 for single elements.
struct ResultPlace {
  Shape shape;
  int texel = -1;
  std::vector<std::string> at;
};

/// "y_0", "y_1", ...: the names that DECODE_y declares.
ResultPlace decoded_place(const LaunchView& y);

/// The operand `name` at a place of the result, its axes aligned on the right as numpy broadcasts.
std::string broadcast_text(std::string_view name, const LaunchView& operand,
                           const ResultPlace& place);

/// Adds to the launch the operands of the posts, and `POSTS(v)`, a statement that applies them to
/// the variable v at this place. `channel`: the axis along which operands of channels go.
void add_posts(Launch& launch, const LaunchArgs& args, const Posts& posts, const ResultPlace& place,
               int channel);

}  // namespace stowage
