// SPDX-License-Identifier: Apache-2.0
#include "kernels/copy/parts.h"

#include <algorithm>
#include <utility>

#include "base/numbers.h"
#include "base/thread_pool.h"

namespace stowage {

std::vector<PartCopy> part_copies(const PartsParams& p, bool split) {
  std::vector<PartCopy> pieces;
  for (std::size_t i = 0; i < p.parts.size(); ++i) {
    const PartsParams::Part& part = p.parts[i];
    if (!part.there) continue;
    const auto map = [&](int axis, std::int64_t x) { return axis == p.axis ? part.begin + x : x; };
    pieces.push_back(
        {i,
         BoxCopy(part.mapping, p.whole,
                 split ? BoxCopy::Direction::into_walked : BoxCopy::Direction::from_walked, map)});
  }
  return pieces;
}

namespace {

struct BoundParts {
  std::vector<PartCopy> pieces;
  std::vector<std::pair<std::size_t, TailZero>> tails;  ///< by output
};

template <bool Split>
BoundParts bind(const PartsParams& p) {
  BoundParts b{part_copies(p, Split), {}};
  const auto add = [&](std::size_t output, const Mapping& written) {
    if (TailZero tails(written); !tails.empty()) b.tails.emplace_back(output, std::move(tails));
  };
  if (!Split) add(0, p.whole);
  for (std::size_t i = 0; Split && i < p.parts.size(); ++i) {
    if (p.parts[i].there) add(i, p.parts[i].mapping);
  }
  return b;
}

/// Parts advance together: what they have in common of the whole is a line in a cache then.
template <bool Split>
void run(const BoundParts& b, const KernelArgs& args) noexcept {
  const auto from = [&](const PartCopy& p) { return args.in[Split ? 0 : p.part]; };
  const auto to = [&](const PartCopy& p) { return args.out[Split ? p.part : 0]; };
  std::int64_t slices = 0;
  for (const PartCopy& p : b.pieces) {
    if (!p.copy.in_place(from(p), to(p))) slices = std::max(slices, p.copy.tasks());
  }
  parallel(args.pool, at(slices), [&](std::size_t i) {
    const auto slice = static_cast<std::int64_t>(i);
    for (const PartCopy& p : b.pieces) {
      if (p.copy.in_place(from(p), to(p))) continue;
      const std::int64_t end = p.copy.tasks() * (slice + 1) / slices;
      for (std::int64_t t = p.copy.tasks() * slice / slices; t < end; ++t) {
        p.copy.run_task(t, from(p), to(p));
      }
    }
  });
  for (const auto& [output, tails] : b.tails) tails.run(args.out[output]);
}

}  // namespace

constexpr KernelDef kConcat = kernel_def<PartsParams, bind<false>, run<false>>("concat");
constexpr KernelDef kSplit = kernel_def<PartsParams, bind<true>, run<true>>("split");

}  // namespace stowage
