// SPDX-License-Identifier: Apache-2.0
// What conversions say of themselves.
#include <algorithm>

#include "base/text.h"
#include "convert/blocks.h"
#include "convert/conversion.h"
#include "convert/passes.h"
#include "convert/stage.h"
#include "convert/walk.h"

namespace stowage::conversion {
namespace {

/// Whether the job is done in squares that fill lines and may be taken in any order, for explain().
bool walks_squares(const Job& job) {
  const bool any = job.walk == Walk::free || job.walk == Walk::panels || job.walk == Walk::runs;
  return any && kernels().vectors_are_lines() && job.parts == Parts::none && job.col_stride != 0 &&
         job.a.block >= columns_of_square(job.dst_bytes) && job.b.block * job.dst_bytes >= kLine;
}

/// Of rows that crowd the L2: how many at a time are transposed in squares of whole lines; 0: the
/// job is done otherwise.
std::int64_t rows_of_squares(const Job& job, const Tuning& tuning) {
  const int element = std::min(job.src_bytes, job.dst_bytes);  // of a cast, what is moved
  if (!walks_squares(job) || job.walk != Walk::free || tuning.streams > 0 || element < 4) return 0;
  const TransposeBlock block =
      block_of(job.a.block, job.b.block, job.row_stride, job.col_stride, tuning, job.walk);
  const Squares squares = squares_of(block, kLine / element, true);
  return squares.pay && squares.whole_lines && squares.rows_crowd ? squares.rows_at_a_time() : 0;
}

/// In which order tiles or squares are walked, likewise.
std::string order_of(const Job& job, const Tuning& tuning) {
  switch (job.walk) {
    case Walk::staggered:
      return "a few columns at a time, each a line behind those before, for many in a line crowd "
             "the L1 cache";
    case Walk::diagonal:
      return "squares along diagonals, for rows and columns crowd the L1 cache";
    case Walk::runs:
      return "in runs of lines of a few columns, put together in the L1 cache, for columns crowd "
             "it";
    case Walk::pieces:
      return "in pieces that bypass the caches";
    case Walk::panels:
      return "a few rows or columns at a time, each line loaded once, for tiles would load it "
             "again";
    case Walk::free:
      break;
  }
  if (const std::int64_t rows = rows_of_squares(job, tuning); rows > 0)
    return text(rows, " far rows at a time in squares of whole lines, for all crowd the L2 cache");
  return tuning.streams > 0 ? "as many far rows or columns at once as fill a line"
                            : "all rows and columns of a block at once";
}

/// What moves a unit of a transposition.
std::string_view name_of(const Job& job) noexcept {
  if (job.move == UnitMove::join) return "join";
  if (job.move == UnitMove::part) return "part";
  return job.transpose->name;
}

std::string bytes_text(int bytes) { return text(bytes, bytes == 1 ? " byte" : " bytes"); }

}  // namespace

std::string Program::kernel() const {
  if (alias_) return "alias";
  const Job* const job = main_job();
  if (job == nullptr) return "nothing";
  if (job->fill) return "fill";
  std::string out;
  if (cast_) out = text(dtype_name(src_dtype_), "->", dtype_name(dst_dtype_), " ");
  if (sliced_) return out + "slices";
  if (job->kind == Kind::strided) return text(out, "strided ", job->dst_bytes);
  if (job->kind == Kind::stage) return out + "stage";
  if (job->kind == Kind::shuffle) return text("shuffle ", job->dst_bytes);
  if (job->kind == Kind::passes) return text("two passes ", job->dst_bytes);
  // Rows are cast run by run.
  if (job->kind == Kind::copy) return out + (cast_ ? "copy" : std::string(job->copy->name));
  if (moves_pixels(job->move))
    return text(out, name_of(*job), " ", job->move == UnitMove::join ? job->b.n : job->a.n);
  const TransposeKernel& kernel = *job->transpose;
  const int element = cast_ ? std::min(job->src_bytes, job->dst_bytes) : job->dst_bytes;
  const std::int64_t number = kernel.number == TransposeKernel::Number::rows      ? job->b.block
                              : kernel.number == TransposeKernel::Number::columns ? job->columns
                                                                                  : element;
  return text(out, kernel.name, " ", number);
}

std::string Program::explain_moves(const Job& job, bool cast) const {
  const bool transposed = job.kind == Kind::transpose;
  std::string out =
      text(transposed               ? name_of(job)
           : job.kind == Kind::copy ? (cast ? std::string_view("cast") : job.copy->name)
                                    : std::string_view("strided"),
           ": ", job.bytes(), " bytes in ", job.units, " blocks, each of ", job.a.block, " x ",
           job.b.block * job.across.n, " elements of ",
           job.src_bytes == job.dst_bytes
               ? bytes_text(job.dst_bytes)
               : text(bytes_text(job.src_bytes), ", written as ", bytes_text(job.dst_bytes)));
  if (transposed && job.transpose->name == "transpose" && !moves_blocks(job.move)) {
    out += text("; ", order_of(job, tuning_),
                !goes_by_buffer(job.walk) && tuning_.prefetch_for_write
                    ? ", lines asked for before they are written"
                    : "",
                walks_squares(job) && order_of_steps(size_, tuning_) == StepOrder::scattered
                    ? ", in scattered steps, for the L2 cache holds all"
                    : "");
  }
  if (!transposed && job.across.n > 1) {
    const bool in_order = job.across.os == job.a.block * job.dst_bytes;
    out += text("; of each row ", job.across.n, " runs that follow each other in the ",
                in_order ? "destination" : "source");
  }
  if (job.non_temporal && job.walk != Walk::pieces)
    out += "; stores that fill whole lines bypass the caches";
  if (cast && job.move != UnitMove::none) out += "; cast and moved in one step";
  if (job.parts == Parts::rows) out += "; rows are gathered in scratch memory first";
  if (job.parts == Parts::columns) out += "; columns are made in scratch memory and copied";
  if (transposed && job.columns > job.a.n) {
    out +=
        text("; ", job.columns - job.a.n, " of ", job.columns, " columns are gaps and thrown away");
  }
  return out + "\n";
}

std::string Program::explain(const Nest& nest, const Job& job, bool cast) const {
  const auto begin = [&](std::string_view name, std::string_view units) {
    return text(name, ": ", job.bytes(), " bytes in ", job.units, " ", units, ", each of ");
  };
  const std::string elements = text(" elements of ", bytes_text(job.dst_bytes));
  if (job.fill) return text("fill: zeros, ", job.bytes(), " bytes\n");
  switch (job.kind) {
    case Kind::stage: {
      Stage stage;
      const Job move = move_of_stage(nest, job, stage);
      return text(begin("stage", "parts"), job.a.n,
                  " elements, which are cast as they lie and moved by way of scratch memory:\n  ",
                  explain(stage.move, move, false));
    }
    case Kind::shuffle:
      return text(begin("shuffle", "blocks"), job.a.block * job.b.block, " chunks of ", job.chunk.n,
                  elements, ", which are put together in registers\n");
    case Kind::passes: {
      Passes passes;
      make_passes(nest, job, job.a.block, passes);
      PassJobs jobs;
      make_jobs_of_passes(nest, job, false, jobs);
      return text(begin("two passes", "tiles"), job.a.block * job.b.n, elements,
                  ", by way of another layout in scratch memory. Of a tile:\n  ",
                  explain(passes.first, jobs.first, false), "  ",
                  explain(passes.second, jobs.second, false));
    }
    default:
      return explain_moves(job, cast);
  }
}

std::string Program::explain() const {
  if (alias_) return "the bytes are the same on both sides: nothing moves\n";
  std::string out;
  if (sliced_) {
    out += text("slices: ", slices_.parts.n + slices_.rests(), ", each of ",
                slices_.ranges.n * slices_.elements, " elements, cast as they lie in ",
                slices_.ranges.n, slices_.ranges.n == 1 ? " range" : " ranges",
                " and moved by way of scratch memory. The first one:\n");
  }
  for (std::int64_t i = 0; i < std::min(nests_, kKept); ++i)
    out += explain(nest_of(i), jobs_[static_cast<std::size_t>(i)], casts_units());
  if (nests_ > kKept) out += text("and ", nests_ - kKept, " parts more\n");
  if (size_ >= Size::large) out += "the result is at least twice the L2 cache of a core\n";
  return out;
}

Conversion::Speed Program::speed() const noexcept {
  const Job* const job = main_job();
  if (alias_) return Conversion::Speed::none;
  if (job == nullptr) return Conversion::Speed::copy;
  if (job->kind == Kind::strided) return Conversion::Speed::single;
  const bool copied = job->kind == Kind::copy && !job->fill && !cast_;
  return copied ? Conversion::Speed::copy : Conversion::Speed::shuffle;
}

}  // namespace stowage::conversion
