// SPDX-License-Identifier: Apache-2.0
#include "convert/conversion.h"

#include <algorithm>
#include <limits>
#include <new>

#include "base/checked.h"
#include "base/thread_pool.h"
#include "convert/cost.h"
#include "convert/passes.h"
#include "convert/ragged.h"
#include "convert/shuffle.h"
#include "convert/slices.h"
#include "convert/stage.h"
#include "convert/unit.h"
#include "convert/walk.h"

namespace stowage::conversion {
namespace {

/// What a thread is woken for.
constexpr std::size_t kThreadBytes = 32 * 1024;
/// Each thread has up to kTasks, so that others can help it; but whoever does finds the lines in
/// another core's cache, so that a task is never smaller than this.
constexpr std::size_t kTaskBytes = 128 * 1024, kTasks = 4;
/// What each of several nests writes before the next one has its turn.
constexpr std::size_t kTurnBytes = 32 * 1024;
/// What another way has to save, for choosing it and making its tables takes time too: nanoseconds,
/// times least_of_stage_.
constexpr double kShuffleCost = 0.5, kPassesCost = 2;
/// Stages, passes and shuffles are described anew for each turn, which takes a microsecond.
constexpr std::size_t kTurnOfSteps = 512 * 1024;

/// Cells up to the last that a digit reaches. The gap behind it, of the last row of a view into a
/// larger array, may belong to nobody.
std::int64_t reach(const Mapping& mapping) {
  if (mapping.cells() == 0) return 0;
  std::int64_t last = 0;
  for (const Digit& digit : mapping.linear_digits()) last += (digit.e - 1) * digit.stride;
  return last + 1;
}

}  // namespace

void ScalarTable::assign(std::size_t size, std::span<const float> mean,
                         std::span<const float> norm) {
  size_ = size;
  if (size > kInPlace) many_.resize(2 * size);
  float* const to = size > kInPlace ? many_.data() : few_.data();
  const auto spread = [&](std::span<const float> from, float none, float* out) {
    std::fill_n(out, size, from.empty() ? none : from[0]);
    if (from.size() > 1) std::copy(from.begin(), from.end(), out);
  };
  spread(mean, 0.0f, to);
  spread(norm, 1.0f, to + size);
}

Program::Program(DType src_dtype, const Mapping& src, DType dst_dtype, const Mapping& dst,
                 const ScalarMap& map, const Options& options)
    : plan_(Side(src, dtype_bytes(src_dtype)), Side(dst, dtype_bytes(dst_dtype)), map.axis,
            options.fault),
      tuning_(options.tuning),
      least_of_stage_(options.least_of_stage),
      src_scalar_(dtype_bytes(src_dtype)),
      dst_scalar_(dtype_bytes(dst_dtype)),
      src_size_(reach(src) * src_scalar_),
      dst_size_(static_cast<std::size_t>(dst.cells() * dst_scalar_)),
      src_dtype_(src_dtype),
      dst_dtype_(dst_dtype) {
  set_map(map, src, dst);
  size_ = choose_size(options);
  cast_ = mapped_ || src_dtype != dst_dtype;
  bypass_ = choose_bypass(options);
  alias_ = !cast_ && src.same_bytes(dst);
  if (cast_) row_cast_ = RowCast(src_dtype, dst_dtype, mapped_, options.plain_casts);
  bytes_moved_ = static_cast<std::size_t>(src.shape().elements() * src_scalar_);
  make_jobs();
  // Describing slices takes as long as a few stages.
  constexpr std::int64_t kStages = 4;
  if (cast_ && !mapped_ && src.shape().elements() >= kStages * least_of_stage_)
    choose_slices(src, dst, options.fault);
  const auto cells = dst.count();
  bytes_moved_ += static_cast<std::size_t>((cells.data + cells.tail) * dtype_bytes(dst_dtype));
}

void Program::make_jobs() noexcept {
  Nest nest;
  nests_ = plan_.count();
  if (nests_ == 2 && !casts_units()) {
    Nest ends;
    plan_.make(0, nest);
    plan_.make(1, ends);
    if (choose_ragged(nest, ends, dst_scalar_, jobs_[0])) nests_ = 1;
  }
  for (std::int64_t i = nests_ < plan_.count() ? nests_ : 0; i < std::min(nests_, kKept); ++i) {
    plan_.make(i, nest);
    make(nest, nests_ == 1, bypass_, jobs_[static_cast<std::size_t>(i)]);
  }
  if (!casts_units() && plan_.count() > 1 && plan_.count() <= kKept) choose_ends();
}

void Program::choose_ends() noexcept {
  constexpr double kGain = 0.8, kWorth = 1.25;  // ns of a line
  constexpr std::int64_t kMostCells = 64;
  const double least = kShuffleCost * static_cast<double>(least_of_stage_);
  double before = 0;
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < nests_; ++i) {
    const Job& job = jobs_[static_cast<std::size_t>(i)];
    before += cost_of(job, tuning_);
    bytes += job.bytes();
  }
  double best = most_of_other(before, bytes, kWorth, kGain, least);
  if (best <= 0) return;
  std::array<Job, kKept> made;
  const auto take = [&](const NestPlan& plan) {
    const double cost = make_nests(plan, made);
    if (cost >= best) return;
    best = cost;
    plan_ = plan;
    nests_ = plan.count();
    std::copy_n(made.begin(), nests_, jobs_.begin());
  };
  NestPlan joined = plan_;
  if (nests_ < plan_.count()) take(plan_);
  if (joined.join_ends(kMostCells) && joined.count() <= kKept) take(joined);
}

double Program::make_nests(const NestPlan& plan, std::array<Job, kKept>& out) const noexcept {
  double cost = 0;
  for (std::int64_t i = 0; i < plan.count(); ++i) {
    Nest nest;
    plan.make(i, nest);
    Job& job = out[static_cast<std::size_t>(i)];
    if (!has_end(nest)) {
      make(nest, plan.count() == 1, bypass_, job);
    } else if (!set_shuffle(nest, dst_scalar_, job)) {
      return std::numeric_limits<double>::infinity();
    }
    cost += cost_of(job, tuning_);
  }
  return cost;
}

void Program::choose_slices(const Mapping& src, const Mapping& dst, Fault fault) {
  const Job* const most = main_job();
  // Others find long ranges in a nest. Beside tiles of runs that become 16-bit floats the tails are
  // few; wide elements are made in lines that the tiles have written, bytes in short parts of
  // lines.
  const bool tiles = most != nullptr && most->move == UnitMove::transpose_runs &&
                     most->src_bytes > most->dst_bytes && most->dst_bytes > 1,
             scattered =
                 nests_ > 1 && most != nullptr && !tiles &&
                 (most->kind == Kind::stage ||
                  (most->kind == Kind::copy && most->a.n * most->dst_bytes < kLongRunBytes));
  if (!scattered) return;
  Side from(src, src_scalar_), to(dst, dst_scalar_);
  if (!cut_slices(from, to, slices_)) return;
  NestPlan plan(from, to, {}, fault);
  if (plan.count() > kKept) return;
  plan_ = plan;
  sliced_ = true;
  src_scalar_ = dst_scalar_ = narrow();
  bypass_ = slices_.cast_first ? bypass_of_last() : Bypass::none;
  make_jobs();
}

Size Program::choose_size(const Options& options) const noexcept {
  const auto l2 = static_cast<std::size_t>(tuning_.caches.l2);
  if (dst_size_ >= options.huge_from.value_or(static_cast<std::size_t>(tuning_.huge_from())))
    return Size::huge;
  if (dst_size_ >= 2 * l2) return Size::large;
  return bytes_of_both() > l2 ? Size::small : Size::tiny;
}

Bypass Program::choose_bypass(const Options& options) const noexcept {
  // What the L2 almost holds is stored to it faster.
  const auto l2 = static_cast<std::size_t>(tuning_.caches.l2);
  const bool pieces = tuning_.non_temporal && size_ != Size::tiny,
             beyond = 4 * bytes_of_both() >= 5 * l2,
             later = options.next_use == NextUse::later && pieces && beyond && !cast_ &&
                     dst_scalar_ >= kLeastOfBypass;
  if (later || size_ == Size::huge) return pieces ? Bypass::all : Bypass::lines;
  return pieces ? Bypass::wide : Bypass::none;
}

Bypass Program::bypass_of_last() const noexcept {
  return bypass_ >= Bypass::lines ? Bypass::lines : Bypass::none;
}

void Program::set_map(const ScalarMap& map, const Mapping& src, const Mapping& dst) {
  mapped_ = !map.mean.empty() || !map.norm.empty();
  if (!mapped_) return;
  const std::size_t several = std::max(map.mean.size(), map.norm.size());
  std::size_t n = 1;
  if (several > 1) {
    const int i = src.shape().index_of(map.axis), j = dst.shape().index_of(map.axis);
    if (i < 0 && j < 0) {
      fail(ErrorCode::usage, "mean and norm are given along axis '", map.axis.name(),
           "', which the tensor lacks");
    }
    n = static_cast<std::size_t>(i >= 0 ? src.shape()[i] : dst.shape()[j]);
  }
  for (const auto& values : {map.mean, map.norm}) {
    if (values.size() > 1 && values.size() != n) {
      fail(ErrorCode::usage, "mean or norm has ", values.size(), " values, but axis '",
           map.axis.name(), "' is ", n);
    }
  }
  scalars_.assign(n, map.mean, map.norm);
}

void Program::run(const Byte* src, Byte* dst, ThreadPool* pool) const noexcept {
  std::size_t parts = 1;
  if (pool != nullptr && pool->threads() > 1) {
    const auto threads = std::clamp<std::size_t>(dst_size_ / kThreadBytes, 1,
                                                 static_cast<std::size_t>(pool->threads()));
    parts = threads * std::clamp<std::size_t>(dst_size_ / threads / kTaskBytes, 1, kTasks);
  }
  // Where several nests make one tensor, each part of it is finished while its lines are near.
  const bool several = !sliced_ && nests_ > 1 && nests_ <= kKept;
  const bool steps =
      std::any_of(jobs_.begin(), jobs_.begin() + (several ? nests_ : 0), [](const Job& job) {
        return job.kind == Kind::stage || job.kind == Kind::shuffle || job.kind == Kind::passes;
      });
  const std::size_t turn_bytes = steps ? kTurnOfSteps : kTurnBytes;
  const std::size_t turns = several ? dst_size_ / (parts * turn_bytes) + 1 : 1;
  parallel(pool, parts, [&](std::size_t part) {
    for (std::size_t turn = 0; turn < turns; ++turn) {
      run_part(static_cast<std::int64_t>(part * turns + turn),
               static_cast<std::int64_t>(parts * turns), src, dst);
    }
  });
}

void Program::run_part(std::int64_t part, std::int64_t parts, const Byte* src,
                       Byte* dst) const noexcept {
  const std::int64_t kept = std::min(nests_, kKept);
  const auto cut = [&](std::int64_t n, std::int64_t p) {
    return static_cast<std::int64_t>(static_cast<__int128>(n) * p / parts);
  };
  if (sliced_)
    return run_slices(cut(slices_.parts.n, part), cut(slices_.parts.n, part + 1), src, dst);
  const Memory memory{src, src + src_size_, dst, false};
  const auto range = [&](std::int64_t i, const Job& job) {
    const std::int64_t begin = cut(job.units, part), end = cut(job.units, part + 1);
    if (job.kind == Kind::stage) {
      run_stages(i, job, begin, end, src, dst);
    } else if (job.kind == Kind::passes) {
      if (begin == end) return;
      PassJobs passes;
      make_jobs_of_passes(nest_of(i), job, false, passes);
      run_passes(job, passes, begin, end, memory, false);
    } else {
      run_job(job, begin, end, memory);
    }
  };
  // Nothing bypasses the caches where the result begins within a line.
  const bool within = reinterpret_cast<std::uintptr_t>(dst) % kLine != 0;
  const auto make_again = [&](std::int64_t i) {
    Nest nest;
    Job job;
    plan_.make(i, nest);
    make(nest, nests_ == 1, within ? Bypass::none : bypass_, job);
    range(i, job);
  };
  for (std::int64_t i = 0; i < kept; ++i) {
    const Job& job = jobs_[static_cast<std::size_t>(i)];
    within&& job.walk == Walk::pieces ? make_again(i) : range(i, job);
  }
  for (std::int64_t i = kept; i < nests_; ++i) make_again(i);
}

void Program::make(const Nest& nest, bool alone, Bypass bypass, Job& out) const noexcept {
  make_job(nest, alone, src_scalar_, dst_scalar_, casts_units(), row_cast_.moves(), bypass, tuning_,
           out);
  if (!casts_units()) choose_way(nest, dst_scalar_, 1, out);
  if (!casts_units() || mapped_) return;
  choose_stage(nest, src_scalar_, dst_scalar_, least_of_stage_, out);
  if (out.kind == Kind::stage) choose_move_of_stage(nest, out);
}

void Program::choose_way(const Nest& nest, int scalar, std::int64_t times,
                         Job& job) const noexcept {
  const double least = static_cast<double>(least_of_stage_) / static_cast<double>(times);
  choose_shuffle(nest, scalar, kShuffleCost * least, tuning_, job);
  choose_passes(nest, scalar, kPassesCost * least, tuning_, job);
}

void Program::choose_move_of_stage(const Nest& nest, Job& job) const noexcept {
  Stage stage;
  Job move = uncast_move(nest, stage);
  choose_way(stage.move, narrow(), job.units, move);
  job.stage_move = move.kind;
  job.between = move.between;
}

Job Program::uncast_move(const Nest& nest, Stage& out) const noexcept {
  Pool outer_loops(nest);
  cut_stage(outer_loops, src_scalar_, dst_scalar_, out);
  Job move;
  make_job(out.move, true, narrow(), narrow(), false, {},
           out.cast_first ? bypass_of_last() : Bypass::none, tuning_, move);
  return move;
}

/// f(unit) for units [begin, end) of the job.
template <class F>
void Program::each_unit(const Job& job, std::int64_t begin, std::int64_t end, const Byte* src,
                        Byte* dst, F f) const noexcept {
  std::array<std::int64_t, kMaxLoops + 2> index;
  std::int64_t rest = begin;
  for (int i = 0; i < job.step_count; ++i) {
    index[static_cast<std::size_t>(i)] = rest % job.steps[static_cast<std::size_t>(i)].n;
    rest /= job.steps[static_cast<std::size_t>(i)].n;
  }
  for (std::int64_t u = begin; u < end; ++u) {
    Unit unit{src + job.src, dst + job.dst, job.param, 0, 0, job.fill};
    for (int i = 0; i < job.step_count; ++i) {
      const Step& step = job.steps[static_cast<std::size_t>(i)];
      const std::int64_t v = index[static_cast<std::size_t>(i)];
      if (step.what == Step::What::blocks_a) {
        unit.a = v * job.a.block;
      } else if (step.what == Step::What::blocks_b) {
        unit.b = v * job.b.block;
      } else {
        const Loop& loop = step.loop;
        unit.zero |= v >= loop.valid;
        unit.dst += loop.dim < 0 ? v * loop.os : plan_.destination_offset(loop, v);
        unit.param += v * loop.ps;
        if (!unit.zero) unit.src += loop.dim < 0 ? v * loop.is : plan_.source_offset(loop, v);
      }
    }
    f(unit);
    for (int i = 0; i < job.step_count; ++i) {
      const auto k = static_cast<std::size_t>(i);
      if (++index[k] < job.steps[k].n) break;
      index[k] = 0;
    }
  }
}

void Program::run_job(const Job& job, std::int64_t begin, std::int64_t end,
                      const Memory& memory) const noexcept {
  if (begin >= end) return;
  UnitRunner runner(job, row_cast_, casts_units(), mapped_, scalars_.mean(), scalars_.norm(),
                    memory.src_end, memory.to_scratch ? Size::small : size_, tuning_);
  each_unit(job, begin, end, memory.src, memory.dst, [&](const Unit& unit) { runner.run(unit); });
  if (job.non_temporal || job.walk == Walk::pieces) finish_stores();
}

void Program::cast_ranges(const Chain& ranges, std::int64_t n, std::int64_t elements,
                          const Byte* src, Byte* dst) const noexcept {
  walk(ranges, 0, n, [&](std::int64_t, std::int64_t is, std::int64_t os, std::int64_t, bool) {
    row_cast_(src + is, dst + os, elements, {});
  });
}

void Program::run_slices(std::int64_t begin, std::int64_t end, const Byte* src,
                         Byte* dst) const noexcept {
  if (begin >= end) return;
  const Byte* const src_end = src + src_size_;
  std::array<PassJobs, kKept> passes;
  for (std::int64_t i = 0; i < nests_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (jobs_[k].kind == Kind::passes)
      make_jobs_of_passes(nest_of(i), jobs_[k], !slices_.cast_first, passes[k]);
  }
  walk(slices_.parts, begin, end - begin,
       [&](std::int64_t i, std::int64_t is, std::int64_t os, std::int64_t, bool) {
         run_slice(src + is, src_end, dst + os, passes);
         // By the thread that writes what both do.
         if (slices_.has_rest(begin + i))
           run_slice(src + is + slices_.rest_is, src_end, dst + os + slices_.rest_os, passes);
       });
}

void Program::run_slice(const Byte* src, const Byte* src_end, Byte* dst,
                        const std::array<PassJobs, kKept>& passes) const noexcept {
  alignas(64) Byte scratch[kSliceScratch + 64];
  const Chain& ranges = slices_.ranges;
  const std::int64_t elements = slices_.elements;
  const bool first = slices_.cast_first;
  if (first) cast_ranges(ranges, ranges.n, elements, src, scratch);
  const Memory memory = first ? Memory{scratch, scratch + sizeof scratch, dst, false}
                              : Memory{src, src_end, scratch, true};
  for (std::int64_t i = 0; i < nests_; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Job& job = jobs_[k];
    job.kind == Kind::passes ? run_passes(job, passes[k], 0, job.units, memory, false)
                             : run_job(job, 0, job.units, memory);
  }
  if (!first) cast_ranges(ranges, ranges.n, elements, scratch, dst);
}

Job Program::move_of_stage(const Nest& nest, const Job& job, Stage& out) const noexcept {
  Job move = uncast_move(nest, out);
  if (job.stage_move == Kind::shuffle) set_shuffle(out.move, narrow(), move);
  if (job.stage_move == Kind::passes) set_passes(out.move, narrow(), job.between, move);
  return move;
}

void Program::run_stages(std::int64_t nest_index, const Job& job, std::int64_t begin,
                         std::int64_t end, const Byte* src, Byte* dst) const noexcept {
  if (begin >= end) return;
  Stage stage;
  const Job move = move_of_stage(nest_of(nest_index), job, stage);
  PassJobs passes;
  if (move.kind == Kind::passes) make_jobs_of_passes(stage.move, move, !stage.cast_first, passes);
  alignas(64) Byte scratch[kStageBytes + 64];
  Chain ranges;
  ranges.count = 1;
  ranges.loops[0] = stage.ranges;
  const Byte* const src_end = stage.cast_first ? scratch + sizeof scratch : src + src_size_;
  const Size size = stage.cast_first ? size_ : Size::small;
  UnitRunner runner(move, row_cast_, false, false, {}, {}, src_end, size, tuning_);
  each_unit(job, begin, end, src, dst, [&](const Unit& outer) {
    if (stage.cast_first && !outer.zero)
      cast_ranges(ranges, stage.ranges.valid, stage.elements, outer.src, scratch);
    const Memory memory{stage.cast_first ? scratch : outer.src, src_end,
                        stage.cast_first ? outer.dst : scratch, !stage.cast_first};
    if (move.kind == Kind::passes) {
      run_passes(move, passes, 0, move.units, memory, outer.zero);
    } else {
      each_unit(move, 0, move.units, memory.src, memory.dst, [&](Unit& unit) {
        unit.zero |= outer.zero;
        runner.run(unit);
      });
    }
    if (!stage.cast_first) cast_ranges(ranges, stage.ranges.n, stage.elements, scratch, outer.dst);
  });
  if (move.non_temporal) finish_stores();
}

void Program::run_passes(const Job& job, const PassJobs& jobs, std::int64_t begin, std::int64_t end,
                         const Memory& memory, bool zero) const noexcept {
  alignas(64) Byte scratch[kTileBytes + 64];
  const Size size = memory.to_scratch ? Size::small : size_;
  const Loop& uneven = job.a.count > 0 ? job.a.loops[0] : kOneIteration;
  const auto run = [&](const Job& first, const Job& second, std::int64_t part) {
    UnitRunner reader(first, row_cast_, false, false, {}, {}, memory.src_end, Size::small, tuning_);
    UnitRunner writer(second, row_cast_, false, false, {}, {}, scratch + sizeof scratch, size,
                      tuning_);
    each_unit(job, begin, end, memory.src, memory.dst, [&](const Unit& outer) {
      if (std::min(job.a.block, job.a.n - outer.a) != part) return;
      const bool zeros = zero || outer.zero;
      each_unit(first, 0, zeros ? 0 : first.units, outer.src + outer.a * uneven.is, scratch,
                [&](const Unit& unit) { reader.run(unit); });
      each_unit(second, 0, second.units, scratch, outer.dst + outer.a * uneven.os, [&](Unit& unit) {
        unit.zero |= zeros;
        writer.run(unit);
      });
    });
    if (second.non_temporal) finish_stores();
  };
  run(jobs.first, jobs.second, job.a.block);
  if (jobs.rest > 0) run(jobs.first_of_rest, jobs.second_of_rest, jobs.rest);
}

void Program::make_jobs_of_passes(const Nest& nest, const Job& job, bool to_scratch,
                                  PassJobs& out) const noexcept {
  const int element = job.dst_bytes;
  const Bypass bypass = to_scratch ? Bypass::none : bypass_of_last();
  const auto make = [&](std::int64_t part, Job& first, Job& second) {
    Passes passes;
    make_passes(nest, job, part, passes);
    make_job(passes.first, true, element, element, false, {}, Bypass::none, tuning_, first);
    make_job(passes.second, true, element, element, false, {}, bypass, tuning_, second);
    choose_shuffle(passes.first, element, 0, tuning_, first);
    choose_shuffle(passes.second, element, 0, tuning_, second);
  };
  out.rest = job.a.n % job.a.block;
  make(job.a.block, out.first, out.second);
  if (out.rest > 0) make(out.rest, out.first_of_rest, out.second_of_rest);
}

Nest Program::nest_of(std::int64_t i) const noexcept {
  Nest nest;
  plan_.make(i, nest);
  return nest;
}

const Job* Program::main_job() const noexcept {
  const Job* most = nullptr;
  for (std::int64_t i = 0; i < std::min(nests_, kKept); ++i) {
    const Job& job = jobs_[static_cast<std::size_t>(i)];
    if (most == nullptr || job.bytes() > most->bytes()) most = &job;
  }
  return most;
}

}  // namespace stowage::conversion

namespace stowage {

struct Conversion::Program : conversion::Program {
  using conversion::Program::Program;
};

Conversion::Program& Conversion::program() noexcept {
  return *std::launder(reinterpret_cast<Program*>(program_));
}

const Conversion::Program& Conversion::program() const noexcept {
  return *std::launder(reinterpret_cast<const Program*>(program_));
}

Conversion::Conversion(DType src_dtype, const Mapping& src, DType dst_dtype, const Mapping& dst,
                       const ScalarMap& map, NextUse next_use) {
  static_assert(sizeof(Program) <= sizeof program_ && alignof(Program) <= 16);
  new (program_) Program(src_dtype, src, dst_dtype, dst, map, {.next_use = next_use});
}

Conversion::Conversion(const Conversion& other) { new (program_) Program(other.program()); }

Conversion& Conversion::operator=(const Conversion& other) {
  program() = other.program();
  return *this;
}

Conversion::~Conversion() { program().~Program(); }

bool Conversion::is_alias() const noexcept { return program().alias(); }

std::size_t Conversion::bytes_moved() const noexcept { return program().bytes_moved(); }

std::string Conversion::kernel() const { return program().kernel(); }

std::string Conversion::explain() const { return program().explain(); }

Conversion::Speed Conversion::speed() const noexcept { return program().speed(); }

void Conversion::run(const void* src, void* dst, ThreadPool* pool) const noexcept {
  program().run(static_cast<const conversion::Byte*>(src), static_cast<conversion::Byte*>(dst),
                pool);
}

Tensor convert(const Tensor& src, const Layout& layout) {
  return convert(src, src.dtype(), layout);
}

Tensor convert(const Tensor& src, DType dtype, const Layout& layout) {
  Tensor out(dtype, src.shape(), layout);
  Conversion(src.dtype(), src.mapping(), dtype, out.mapping()).run(src.data(), out.data());
  return out;
}

}  // namespace stowage
