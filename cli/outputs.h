// SPDX-License-Identifier: Apache-2.0
// What a model computes, on its way to files and people: pictures, classes, scores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/io/image.h"
#include "cli/model.h"

namespace stowage::cli {

/// The values as they lie in memory when read row by row, in the format that is wanted.
Tensor take_output(const Session& session, int output, DataFormat wanted);

/// Whether samples of a picture run from 0 to 1 or from 0 to 255; automatic: 0 to 1 unless a
/// value exceeds 1.5.
enum class OutputRange { automatic, unit, byte };
OutputRange parse_output_range(std::string_view word);

/// Of an output that looks like a picture, [1, 3, H, W], [1, H, W, 3], [H, W] and so on.
bool is_picture(const Shape& shape);
Picture output_picture(const Tensor& output, OutputRange range, bool bgr);

/// Where an output that is a batch of one image has its axes; negative: it lacks the channels.
struct ImageAxes {
  int channel = -1, height = 0, width = 0;
};

/// By the names of the axes; where they have none, as files of this kind order them (`source`).
/// Nothing for a larger batch and for other ranks than 2, 3 and 4.
std::optional<ImageAxes> image_axes(const Port& port, DataFormat source);

/// Channel `channel` as a grey picture. Throws Error(usage) for one that is not there.
Picture channel_picture(const Tensor& output, const ImageAxes& axes, int channel, OutputRange range,
                        const std::string& name);

/// The class of each pixel.
struct ClassMap {
  Picture classes;  ///< one channel, an index a pixel
  /// Of each class that there is its share of all pixels, the largest first.
  std::vector<std::pair<int, double>> shares;
};

/// The channel that is the largest; of integers of one channel, or without the axis, the value
/// itself. Throws Error(usage) for one channel of another type, and for classes beyond 0 .. 255.
ClassMap class_map(const Tensor& output, const ImageAxes& axes, const std::string& name);

/// The colours of class maps: black, then those of Okabe and Ito, which people who see colours in
/// other ways tell from each other; from the eighth on these again, lighter and darker.
const std::vector<Colour>& class_palette();

/// Axes that hold more than one element are one at most: a list of scores.
bool is_classification(const Port& port);

struct Score {
  std::size_t index = 0;
  double score = 0;
  std::string label;
};

/// The best first, what is no number last. Labels may be empty.
std::vector<Score> best_scores(const Tensor& scores, int count,
                               const std::vector<std::string>& labels);

/// One label a line. Throws Error(bad_input, limit).
std::vector<std::string> read_labels(const std::string& file);

/// Of the elements that are finite numbers; the others are counted.
struct Summary {
  double least = 0, most = 0, mean = 0;
  std::int64_t numbers = 0, others = 0;
};

Summary summary_of(const Tensor& tensor);

/// "min -0.5  max 3.25  mean 0.125", and how many are no numbers.
std::string summary_words(const Summary& summary);

}  // namespace stowage::cli
