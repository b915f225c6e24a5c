// SPDX-License-Identifier: Apache-2.0
// Times conversions against memcpy of the same bytes, and against others.
//
// "all" are the first four sets, which the figures of docs/conversion.md are of. Prints, for each
// case, the time of memcpy for the same bytes and what fraction of its speed each contender
// reaches, each in the faster half of its turns; every contender's result is checked before it is
// timed. All cases are measured in many passes, so that no second of another program's work decides
// a case.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/caches.h"
#include "bench/convert/measure.h"
#include "stowage/convert.h"
#include "stowage/error.h"
#include "stowage/machine.h"

namespace stowage::bench {
namespace {

struct Contender {
  std::string_view name;
  Move (*make)(const Case&, ThreadPool&);
  bool own_threads = false;
  bool bound = false;  ///< computes nothing, so that it has no result to check
};

constexpr Contender kContenders[] = {
    {"stowage", make_stowage},
    {"stowage, later", make_stowage_later},
    {"HPTT's method", make_hptt},
    {"HPTT's method, later", make_hptt_later},
#ifdef STOWAGE_BENCH_ONEDNN
    {"oneDNN", make_onednn, true},
#endif
#ifdef STOWAGE_BENCH_XNNPACK
    {"XNNPACK", make_xnnpack, true},
#endif
#ifdef STOWAGE_BENCH_EIGEN
    {"Eigen", make_eigen},
#endif
#ifdef STOWAGE_BENCH_OPENBLAS
    {"OpenBLAS", make_openblas},
#endif
    {"naive", make_naive},
    {"bare copy", make_bare_copy, false, true},
    {"bare walk", make_bare_walk, false, true},
};

std::vector<std::string> names_of_contenders() {
  std::vector<std::string> out = {"memcpy"};
  for (const Contender& x : kContenders) out.emplace_back(x.name);
  return out;
}

struct Arguments {
  std::string set = "goals", filter, only, json, from, to, shape, dtype = "f32", to_dtype;
  bool check = true;
  int passes = 10;
  Settings settings;
  ConversionTuning tuning = conversion_tuning();
};

Arguments parse(CLI::App& app, int argc, char** argv) {
  constexpr int kMost = 1000000;
  Arguments a;
  app.option_defaults()->always_capture_default();
  app.add_option("--set", a.set, "Which cases; all: the first four sets, whose figures are quoted")
      ->check(CLI::IsMember({"goals", "channels", "sizes", "ranks", "packings", "ends", "all"}));
  app.add_option("--filter", a.filter, "Cases whose names have this text");
  app.add_option("--only", a.only, "One contender beside memcpy")
      ->check(CLI::IsMember(names_of_contenders()));
  CLI::Option* const shape = app.add_option("--shape", a.shape, "A case of your own: its shape");
  for (auto& [name, value, help] : {std::tuple{"--from", &a.from, "Its source layout"},
                                    std::tuple{"--to", &a.to, "Its destination layout"}}) {
    CLI::Option* const layout = app.add_option(name, *value, help)->needs(shape);
    shape->needs(layout);
  }
  app.add_option("--dtype", a.dtype, "Its type")->needs(shape);
  app.add_option("--to-dtype", a.to_dtype, "What that is cast to")->needs(shape);
  app.add_option("--threads", a.settings.threads, "Threads of each contender");
  app.add_option("--rounds", a.settings.rounds, "Rounds of a pass, in turns")
      ->check(CLI::Range(1, kMost));
  app.add_option("--passes", a.passes, "Passes over all cases")->check(CLI::Range(1, kMost));
  app.add_flag("--cold", a.settings.cold, "Flush both buffers before each call");
  app.add_flag("--no-check{false}", a.check, "Time results that have not been checked");
  app.add_option("--streams", a.tuning.streams, "Streams that the prefetchers follow; 0: all")
      ->check(CLI::Range(0, kMostStreams));
  app.add_option("--prefetch", a.tuning.prefetch_for_write,
                 "Prefetch for write, on or off; without streams it is on");
  app.add_option("--non-temporal", a.tuning.non_temporal,
                 "Non-temporal stores beyond L2, on or off");
  app.add_option("--json", a.json, "Write the figures to this file");
  app.parse(argc, argv);
  return a;
}

std::string machine() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

/// Microseconds to compile the conversion, at best.
double compile_us(const Case& c) {
  const Mapping src = c.source(), dst = c.destination();
  double best = 1e30;
  for (int i = 0; i < 200; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Conversion move(c.src, src, c.dst, dst);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

/// memcpy and those that were asked for; without a move where one cannot do the case or does it
/// wrong.
std::vector<Entry> entries_of(const Case& c, const Arguments& args, ThreadPool& pool) {
  std::vector<Entry> entries;
  entries.push_back({"memcpy", make_memcpy(c, pool)});
  for (const Contender& x : kContenders) {
    if (!args.only.empty() && x.name != args.only) continue;
    Move move = x.make(c, pool);
    if (move && args.check && !x.bound && !agrees(c, move)) {
      std::printf("%s gives a wrong result for %s\n", std::string(x.name).c_str(),
                  std::string(c.name).c_str());
      move = {};
    }
    entries.push_back({x.name, std::move(move), x.own_threads});
  }
  return entries;
}

/// Time of the baseline over that of the entry; 0: it has no move for the case.
double fraction(const Entry& baseline, const Entry& e) {
  return e.move ? baseline.fast_half_us() / e.fast_half_us() : 0;
}

std::string fraction_text(double fraction) {
  if (fraction == 0) return "-";
  if (fraction < 0.005) return "< 0.01";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", fraction);
  return text;
}

/// Only where somebody watches.
void show_progress(int pass, int passes, std::size_t done, std::size_t all) {
  if (isatty(STDERR_FILENO) == 0) return;
  if (pass + 1 < passes) {
    std::fprintf(stderr, "\rpass %d of %d, case %zu of %zu\033[K", pass + 1, passes, done + 1, all);
  } else {  // which prints a line for each case
    std::fprintf(stderr, "\r\033[K");
  }
}

/// Prints the line of a case that was measured.
nlohmann::json report_case(const Case& c, const std::vector<Entry>& entries) {
  const std::string kernel = Conversion(c.src, c.source(), c.dst, c.destination()).kernel();
  nlohmann::json out = {{"case", c.name},
                        {"from", c.from},
                        {"to", c.to},
                        {"shape", c.shape.text()},
                        {"src", dtype_name(c.src)},
                        {"dst", dtype_name(c.dst)},
                        {"bytes", c.bytes()},
                        {"kernel", kernel},
                        {"compile_us", compile_us(c)},
                        {"contenders", nlohmann::json::array()}};
  if (c.goal > 0) out["goal"] = c.goal;
  std::printf("%-29s %-24s %-3s %9.1f KB %-22s %9.2f", std::string(c.name).c_str(),
              c.shape.text().c_str(), std::string(dtype_name(c.src)).c_str(),
              static_cast<double>(c.bytes()) / 1e3, kernel.c_str(), entries[0].fast_half_us());
  bool missed = false;
  for (const Entry& e : entries) {
    const double of_baseline = fraction(entries[0], e);
    const auto figure = [&](double v) { return e.move ? nlohmann::json(v) : nlohmann::json(); };
    out["contenders"].push_back({{"name", e.name},
                                 {"us", figure(e.fast_half_us())},
                                 {"min_us", figure(e.min_us())},
                                 {"median_us", figure(e.median_us())},
                                 {"fraction_of_memcpy", figure(of_baseline)}});
    if (&e == &entries[0]) continue;
    std::printf("  %s %s", std::string(e.name).c_str(), fraction_text(of_baseline).c_str());
    missed = missed || (e.name == "stowage" && e.move && of_baseline < c.goal);
  }
  if (c.goal > 0) std::printf("  goal %.2f%s", c.goal, missed ? " MISSED" : "");
  std::printf("\n");
  std::fflush(stdout);
  return out;
}

std::vector<Case> cases_of(const Arguments& args) {
  if (!args.shape.empty()) {
    const DType dtype = parse_dtype(args.dtype);
    const DType to_dtype = args.to_dtype.empty() ? dtype : parse_dtype(args.to_dtype);
    return {{"own", args.from, args.to, Shape::parse(args.shape), dtype, to_dtype}};
  }
  const std::vector<std::string> sets =
      args.set == "all" ? std::vector<std::string>{"goals", "channels", "sizes", "ranks"}
                        : std::vector{args.set};
  std::vector<Case> out;
  for (const std::string& set : sets) {
    for (const Case& c : cases(set)) {
      if (std::string(c.name).find(args.filter) != std::string::npos) out.push_back(c);
    }
  }
  return out;
}

std::ofstream open(const std::string& file, std::ios::openmode mode) {
  std::ofstream out(file, mode);
  if (!out) throw Error(ErrorCode::bad_input, "cannot write " + file);
  return out;
}

int run(const Arguments& args) {
  const std::vector<Case> all = cases_of(args);
  if (!args.json.empty()) open(args.json, std::ios::app);  // before minutes have been spent
  ThreadPool pool(args.settings.threads);
  set_conversion_tuning(args.tuning);
  const Caches& caches = host_caches();
  nlohmann::json report = {{"machine", machine()},
                           {"caches", {{"l1", caches.l1}, {"l2", caches.l2}, {"l3", caches.l3}}},
                           {"lanes", vector_lanes()},
                           {"streams", args.tuning.streams},
                           {"prefetch_for_write", args.tuning.prefetch_for_write},
                           {"non_temporal", args.tuning.non_temporal},
                           {"threads", args.settings.threads},
                           {"state", args.settings.cold ? "cold" : "warm"},
                           {"rounds", args.settings.rounds},
                           {"passes", args.passes},
                           {"cases", nlohmann::json::array()}};
  std::printf(
      "%s, %d thread(s), %s caches; columns: case, shape, type, bytes moved, kernel, memcpy us, "
      "then fractions of memcpy's speed\n",
      machine().c_str(), args.settings.threads, args.settings.cold ? "cold" : "warm");
  std::vector<std::vector<Entry>> entries(all.size());
  for (int pass = 0; pass < args.passes; ++pass) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (pass == 0) entries[i] = entries_of(all[i], args, pool);
      show_progress(pass, args.passes, i, all.size());
      measure(all[i], entries[i], args.settings);
      if (pass + 1 == args.passes) report["cases"].push_back(report_case(all[i], entries[i]));
    }
  }
  if (args.json.empty()) return 0;
  std::ofstream out = open(args.json, std::ios::trunc);
  out << report.dump(1) << "\n" << std::flush;
  if (!out) throw Error(ErrorCode::bad_input, "cannot write all of " + args.json);
  return 0;
}

}  // namespace
}  // namespace stowage::bench

int main(int argc, char** argv) {
  CLI::App app("Conversions against memcpy of the same bytes, and against other engines.",
               "bench_convert");
  try {
    return stowage::bench::run(stowage::bench::parse(app, argc, argv));
  } catch (const CLI::ParseError& e) {
    const int code = app.exit(e);
    return code == 0 ? 0 : static_cast<int>(stowage::ErrorCode::usage);
  } catch (const stowage::Error& e) {
    std::fprintf(stderr, "bench_convert: %s\n", e.what());
    return static_cast<int>(e.code());
  }
}
