// SPDX-License-Identifier: Apache-2.0
// What both pictures share: cells arranged in labelled rows.
#pragma once

#include <string>
#include <vector>

#include "stowage/layout.h"

namespace stowage::draw {

/// A cell, or a run of gap cells too long to draw one by one.
struct Mark {
  Cell kind = Cell::gap;
  std::int64_t run = 1;
  std::int64_t index = 0;   ///< data: logical index, last axis of the shape fastest
  std::int64_t colour = 0;  ///< data: coordinate along the colour axis
  int space_before = 0;     ///< 0: none, 1: a digit wraps here, 2: a higher one does
};

struct Row {
  std::string label;       ///< "h=1 w=0"; empty where a row continues the one before
  bool new_block = false;  ///< more than the lowest outer digit changed
  std::vector<Mark> marks;
};

struct Drawing {
  std::vector<Row> rows;
  std::vector<std::string> columns;  ///< images: a label for each texel of a row
  std::int64_t lanes = 0;            ///< images: cells of a texel; 0 for memory
  int colour_axis = -1;              ///< -1: the shape has no axes
  std::int64_t colour_block = 1;     ///< extent of its lowest digit; 1 if it is not split
  std::string cut;                   ///< what is not drawn, or empty
};

/// How much is drawn.
struct Limits {
  std::int64_t rows = 64;
  std::int64_t cells = 32;   ///< of a row of memory
  std::int64_t texels = 32;  ///< of a row of an image
  std::int64_t lanes = 16;   ///< of a texel
  bool wrap = false;         ///< long rows of an image go on below, up to `rows`
};

Drawing arrange(const Mapping& mapping, const Limits& limits);

/// "360 cells, 1440 bytes: 300 data, 60 tail, 0 gap"
std::string summary(const Mapping& mapping);

}  // namespace stowage::draw
