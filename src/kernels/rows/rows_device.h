// SPDX-License-Identifier: Apache-2.0
// Work on a device that joins elements along some axes: softmax, norms, reductions.
#pragma once

#include <string>
#include <vector>

#include "base/numbers.h"
#include "kernels/launch.h"

namespace stowage {

/// A row is the elements of x that join: those along `axes`. Where the axis of texels is not among
/// them, a row is four rows side by side, one a lane.
struct DeviceRows {
  Ints axes;             ///< sorted
  bool grouped = false;  ///< the items of a group share a row

  void fields(Archive& a) { a("axes", axes)("grouped", grouped); }
};

/// Whether rows over such axes are so long that a group should share each.
bool shares_rows(const Shape& x, int texel, const Ints& axes);

/// Names in the source, of the axes of x in order.
struct RowNames {
  int texel = -1;       ///< the axis of texels
  bool across = false;  ///< the row goes along it
  std::vector<std::string> at;
};

/// Input 0 as x and, for the source:
///
///   ROW       the head of the kernel: which row, or return
///   FIRST, STEP   steps of this item: for (int j = FIRST; j < steps; j += STEP)
///   KEPT      declares the coordinates of the row
///   ALONG(j)  declares those of step j, and `lanes`, how many lanes there are elements in
///   X         the texel there
///   JOIN_ITEMS(v, F)  joins v of all items of the group: each has the result
///   JOIN_LANES(v, F)  joins the lanes of v, where they are of one row, in every lane
///   LANES_OF_ROW  4, or 1 where every lane is a row
///
/// and `rows`, `steps` and `count`, the elements that join. `lane_axis`: a kept axis whose
/// coordinate counts texels and becomes an element's with the variable `lane`; -1: none.
RowNames add_rows(Launch& launch, const LaunchArgs& args, const DeviceRows& rows,
                  int lane_axis = -1);

}  // namespace stowage
