// SPDX-License-Identifier: Apache-2.0
// What a Conversion is made of, for its tests.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "convert/cast_rows.h"
#include "convert/job.h"
#include "convert/slices.h"
#include "convert/stage.h"
#include "convert/tuning.h"
#include "stowage/convert.h"

namespace stowage::conversion {

/// What conversions have beside what is moved; but for the first, for tests and benches.
struct Options {
  NextUse next_use = NextUse::soon;
  Fault fault = Fault::none;
  bool plain_casts = false;
  /// A destination of so many bytes takes non-temporal stores; none: as the caches say.
  std::optional<std::size_t> huge_from = {};
  Tuning tuning = current_tuning();
  std::int64_t least_of_stage = 2048;  ///< fewer elements are not worth another way than the first
};

/// mean and norm, each `size` values: few of them in place.
class ScalarTable {
 public:
  ScalarTable() = default;

  std::span<const float> mean() const noexcept { return {data(), size_}; }

  std::span<const float> norm() const noexcept { return {data() + size_, size_}; }

  /// An empty span stands for `none` everywhere, one value for all.
  void assign(std::size_t size, std::span<const float> mean, std::span<const float> norm);

 private:
  static constexpr std::size_t kInPlace = 16;

  const float* data() const noexcept { return size_ <= kInPlace ? few_.data() : many_.data(); }

  std::size_t size_ = 0;
  std::array<float, 2 * kInPlace> few_;
  std::vector<float> many_;
};

/// A compiled conversion. Nests beyond the first few are made again whenever it runs: their
/// number has no small bound, and compiling shall not allocate.
class Program {
 public:
  Program(DType src_dtype, const Mapping& src, DType dst_dtype, const Mapping& dst,
          const ScalarMap& map, const Options& options = {});

  void run(const Byte* src, Byte* dst, ThreadPool* pool) const noexcept;

  bool alias() const noexcept { return alias_; }

  std::size_t bytes_moved() const noexcept { return bytes_moved_; }

  std::string kernel() const;

  std::string explain() const;

  Conversion::Speed speed() const noexcept;

 private:
  static constexpr std::int64_t kKept = 4;

  /// What a job moves from where to where.
  struct Memory {
    const Byte *src, *src_end;
    Byte* dst;
    bool to_scratch;
  };

  /// Into scratch memory and out of it, of whole tiles and of those that have `rest` iterations of
  /// chain a.
  struct PassJobs {
    Job first, second, first_of_rest, second_of_rest;
    std::int64_t rest;
  };

  /// Whether the units of jobs are cast.
  bool casts_units() const noexcept { return cast_ && !sliced_; }

  /// A line, or one for each step too, of a job of the nest; of one that moves without any.
  std::string explain(const Nest& nest, const Job& job, bool cast) const;
  std::string explain_moves(const Job& job, bool cast) const;

  /// Bytes of the narrower scalars, which scratch memory holds.
  int narrow() const noexcept { return std::min(src_scalar_, dst_scalar_); }

  /// The job that writes most; null where there is none.
  const Job* main_job() const noexcept;

  std::size_t bytes_of_both() const noexcept {
    return static_cast<std::size_t>(src_size_) + dst_size_;
  }

  Size choose_size(const Options& options) const noexcept;
  Bypass choose_bypass(const Options& options) const noexcept;
  /// Of the last step of what goes by way of scratch memory.
  Bypass bypass_of_last() const noexcept;
  void set_map(const ScalarMap& map, const Mapping& src, const Mapping& dst);
  template <class F>
  void each_unit(const Job& job, std::int64_t begin, std::int64_t end, const Byte* src, Byte* dst,
                 F f) const noexcept;
  void make_jobs() noexcept;
  /// Two nests that are one job each by itself, or ragged ends joined, if that is faster.
  void choose_ends() noexcept;
  /// The jobs of all nests of a plan, and what they cost; infinity: an end cannot be shuffled.
  double make_nests(const NestPlan& plan, std::array<Job, kKept>& out) const noexcept;
  void choose_slices(const Mapping& src, const Mapping& dst, Fault fault);
  void make(const Nest& nest, bool alone, Bypass bypass, Job& out) const noexcept;
  void run_job(const Job& job, std::int64_t begin, std::int64_t end,
               const Memory& memory) const noexcept;
  /// Casts n ranges of so many elements each.
  void cast_ranges(const Chain& ranges, std::int64_t n, std::int64_t elements, const Byte* src,
                   Byte* dst) const noexcept;
  void run_slices(std::int64_t begin, std::int64_t end, const Byte* src, Byte* dst) const noexcept;
  void run_slice(const Byte* src, const Byte* src_end, Byte* dst,
                 const std::array<PassJobs, kKept>& passes) const noexcept;
  /// The stage of a nest, and what moves it: in the first way, and as the job of the nest says.
  Job uncast_move(const Nest& nest, Stage& out) const noexcept;
  Job move_of_stage(const Nest& nest, const Job& job, Stage& out) const noexcept;
  void run_stages(std::int64_t nest_index, const Job& job, std::int64_t begin, std::int64_t end,
                  const Byte* src, Byte* dst) const noexcept;
  /// Each unit of the job by way of scratch memory; `zero`: none has a source.
  void run_passes(const Job& job, const PassJobs& jobs, std::int64_t begin, std::int64_t end,
                  const Memory& memory, bool zero) const noexcept;
  void make_jobs_of_passes(const Nest& nest, const Job& job, bool to_scratch,
                           PassJobs& out) const noexcept;
  /// Another way than the job, without a cast, that is done so many times, if there is a faster
  /// one.
  void choose_way(const Nest& nest, int scalar, std::int64_t times, Job& job) const noexcept;
  /// Of the job, which is one of stages.
  void choose_move_of_stage(const Nest& nest, Job& job) const noexcept;
  Nest nest_of(std::int64_t i) const noexcept;
  void run_part(std::int64_t part, std::int64_t parts, const Byte* src, Byte* dst) const noexcept;

  NestPlan plan_;
  std::int64_t nests_;  ///< of the plan; two that are done as one count as one
  bool alias_, cast_, mapped_ = false, sliced_ = false;
  Size size_;
  Bypass bypass_;
  Tuning tuning_;
  std::int64_t least_of_stage_;
  int src_scalar_, dst_scalar_;  ///< of the nests: of slices in scratch memory where there are some
  std::int64_t src_size_;
  std::size_t dst_size_, bytes_moved_ = 0;
  DType src_dtype_, dst_dtype_;
  RowCast row_cast_;
  ScalarTable scalars_;
  std::array<Job, kKept> jobs_;
  Slices slices_;
};

}  // namespace stowage::conversion
