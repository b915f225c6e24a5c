// SPDX-License-Identifier: Apache-2.0
// Models and their runs. stowage/_model.py says in Python what of it is public.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "array.h"
#include "loaded_model.h"
#include "module.h"
#include "plan.h"
#include "stowage/error.h"
#include "stowage/machine.h"
#ifdef STOWAGE_HAS_OPENCL
#include "stowage/opencl.h"
#endif

namespace stowage::python {

namespace nb = nanobind;

namespace {

/// An array with what is said of it.
struct Named {
  nb::object array;
  std::string axes;
  std::vector<float> mean, scale;
};

/// An input of a call.
struct Feed {
  int input;
  std::string_view axes;
  ArrayView array;
  std::span<const float> mean, scale;
};

std::string letters(const Shape& shape) {
  std::string out;
  for (const Axis axis : shape.axes()) out += axis.name();
  return out;
}

/// A port seen in the order of axes that the caller wants, or in its own.
Shape ordered(const Shape& shape, std::string_view axes) {
  if (axes.empty()) return shape;
  std::vector<std::int64_t> extents;
  for (const char letter : axes) {
    const int at = shape.index_of(Axis(std::string_view(&letter, 1)));
    extents.push_back(shape[at]);
  }
  return Shape(axes, extents);
}

/// Throws Error(usage) unless `axes` are those of the port, in any order.
void expect_axes(const Port& port, std::string_view axes, const char* kind) {
  const bool same =
      std::ssize(axes) == port.shape.rank() && std::ranges::all_of(axes, [&](const char& letter) {
        return letter >= 'a' && letter <= 'z' &&
               port.shape.index_of(Axis(std::string_view(&letter, 1))) >= 0;
      });
  if (same) return;
  throw Error(ErrorCode::usage, std::string(kind) + " '" + port.name + "' has the axes '" +
                                    letters(port.shape) + "', not '" + std::string(axes) +
                                    "'; without names an array is taken in that order");
}

/// The mapping of an array whose axes have no names: those of the port, in its order.
Mapping over_port(const Mapping& array, const Port& port, const char* kind) {
  const Shape &have = array.shape(), &want = port.shape;
  if (!std::ranges::equal(have.extents(), want.extents())) {
    const auto listed = [](const Shape& shape) {
      std::string out;
      for (const std::int64_t n : shape.extents()) {
        out += (out.empty() ? "" : ", ") + std::to_string(n);
      }
      return "[" + out + "]";
    };
    throw Error(ErrorCode::bad_input, std::string(kind) + " '" + port.name + "' has the shape " +
                                          listed(want) + ", not " + listed(have));
  }
  if (std::ranges::equal(have.axes(), want.axes())) return array;
  return Mapping(array.layout().renamed(have.axes(), want.axes()), want, array.element_bytes());
}

Mapping over_port(const ArrayView& array, std::string_view axes, const Port& port,
                  const char* kind) {
  if (axes.empty()) return over_port(array.view.mapping, port, kind);
  expect_axes(port, axes, kind);
  return array.view.mapping;
}

/// What load returns to stowage/_model.py.
class NativeModel {
 public:
  NativeModel(std::shared_ptr<LoadedModel> model, std::vector<std::string> input_axes,
              std::vector<std::string> output_axes)
      : model_(std::move(model)),
        input_axes_(std::move(input_axes)),
        output_axes_(std::move(output_axes)) {}

  const std::shared_ptr<LoadedModel>& model() const noexcept { return model_; }

  nb::list run(const nb::list& arrays, const std::optional<std::vector<int>>& wanted,
               const std::optional<nb::list>& out) {
    const std::vector<Feed> feeds = read(arrays);
    std::shared_ptr<Runner> runner = runner_for(feeds);
    std::vector<int> indices;
    if (wanted) {
      indices = *wanted;
    } else {
      for (int i = 0; i < std::ssize(runner->outputs()); ++i) indices.push_back(i);
    }
    nb::list results;
    std::vector<ArrayView> into;
    std::vector<Mapping> mappings;
    for (std::size_t k = 0; k < indices.size(); ++k) {
      const Port& port = runner->outputs()[static_cast<std::size_t>(indices[k])];
      const std::string& axes = output_axes_[static_cast<std::size_t>(indices[k])];
      if (!axes.empty()) expect_axes(port, axes, "output");
      nb::object array = out ? nb::object((*out)[k]) : nb::none();
      if (array.is_none()) array = new_array(port.dtype, ordered(port.shape, axes));
      into.push_back(write_array(
          array, axes, port.dtype == DType::bf16 ? std::optional(port.dtype) : std::nullopt));
      mappings.push_back(over_port(into.back(), axes, port, "output"));
      results.append(std::move(array));
    }
    {
      const nb::gil_scoped_release release;
      const Runner::Lease session(*runner);
      set(*runner, session, feeds);
      session->run();
      for (std::size_t k = 0; k < indices.size(); ++k) {
        const MutableTensorView to = into[k].mutable_view();
        session->read_output(indices[k], {to.dtype, mappings[k], to.data});
      }
    }
    return results;
  }

  /// Medians, in microseconds, of each step.
  std::vector<double> profile(const nb::list& arrays, int runs) {
    const std::vector<Feed> feeds = read(arrays);
    const std::shared_ptr<Runner> runner = runner_for(feeds);
    const nb::gil_scoped_release release;
    const Runner::Lease session(*runner);
    set(*runner, session, feeds);
    session->run();

    struct Profile {
      const Runner::Lease& session;

      ~Profile() { session->profile(false); }
    } const profile{session};

    session->profile(true);
    std::vector<std::vector<double>> times;
    for (int r = 0; r < runs; ++r) {
      session->run();
      const std::span<const double> us = session->step_us();
      times.resize(us.size());
      for (std::size_t i = 0; i < us.size(); ++i) times[i].push_back(us[i]);
    }
    std::vector<double> medians;
    for (std::vector<double>& step : times) {
      std::ranges::nth_element(step, step.begin() + std::ssize(step) / 2);
      medians.push_back(step[step.size() / 2]);
    }
    return medians;
  }

  PlanView plan(const Shapes& shapes) const {
    std::vector<GivenShape> given;
    const std::span<const ModelInput> inputs = model_->model().inputs();
    for (int i = 0; i < std::ssize(inputs); ++i) {
      if (!model_->open(i)) continue;
      const ModelInput& input = inputs[static_cast<std::size_t>(i)];
      if (const auto at = shapes.find(input.name); at != shapes.end()) {
        given.push_back({i, "", at->second});
      }
    }
    const nb::gil_scoped_release release;
    return {model_, given, model_->runner(given)->plan()};
  }

  std::optional<PlanView> last() const {
    const nb::gil_scoped_release release;
    const std::optional<std::vector<GivenShape>> given = model_->last();
    if (!given) return std::nullopt;
    return PlanView{model_, *given, model_->runner(*given)->plan()};
  }

  PlanView plan_for(const nb::list& arrays) const {
    const std::vector<Feed> feeds = read(arrays);
    const std::shared_ptr<Runner> runner = runner_for(feeds);
    return {model_, given(feeds), runner->plan()};
  }

 private:
  std::vector<Feed> read(const nb::list& arrays) const {
    std::vector<Feed> feeds;
    feeds.reserve(arrays.size());
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const nb::handle array = arrays[i];
      const int input = static_cast<int>(i);
      // uint16 is how numpy has bfloat16 where ml_dtypes is not there.
      const bool bf16 = model_->model().inputs()[i].dtype == DType::bf16;
      const std::optional<DType> as = bf16 ? std::optional(DType::bf16) : std::nullopt;
      const Named* named = nullptr;
      if (nb::try_cast(array, named) && named != nullptr) {
        const std::string_view axes = named->axes.empty() ? input_axes_[i] : named->axes;
        feeds.push_back(
            {input, axes, read_array(named->array, axes, as), named->mean, named->scale});
      } else {
        feeds.push_back({input, input_axes_[i], read_array(array, input_axes_[i], as), {}, {}});
      }
    }
    return feeds;
  }

  std::vector<GivenShape> given(const std::vector<Feed>& feeds) const {
    std::vector<GivenShape> out;
    for (const Feed& feed : feeds) {
      if (!model_->open(feed.input)) continue;
      const std::span<const std::int64_t> extents = feed.array.view.mapping.shape().extents();
      out.push_back({feed.input, std::string(feed.axes), {extents.begin(), extents.end()}});
    }
    return out;
  }

  std::shared_ptr<Runner> runner_for(const std::vector<Feed>& feeds) const {
    const std::vector<GivenShape> shapes = given(feeds);
    const nb::gil_scoped_release release;
    return model_->runner(shapes);
  }

  /// Ports of a plan are those of the model, in its order.
  static void set(const Runner& runner, const Runner::Lease& session,
                  const std::vector<Feed>& feeds) {
    for (const Feed& feed : feeds) {
      const Port& port = runner.inputs()[static_cast<std::size_t>(feed.input)];
      const Mapping mapping = over_port(feed.array, feed.axes, port, "input");
      session->set_input(feed.input, {feed.array.view.dtype, mapping, feed.array.view.data},
                         feed.mean, feed.scale);
    }
  }

  std::shared_ptr<LoadedModel> model_;
  std::vector<std::string> input_axes_, output_axes_;
};

constexpr std::pair<const char*, double Rates::*> kRates[] = {
    {"gflops_per_lane", &Rates::gflops_per_lane},
    {"kernel_gb_per_s", &Rates::kernel_gb_per_s},
    {"memory_gb_per_s", &Rates::memory_gb_per_s},
    {"cached_mb", &Rates::cached_mb},
    {"copy_gb_per_s", &Rates::copy_gb_per_s},
    {"shuffle_gb_per_s", &Rates::shuffle_gb_per_s},
    {"generic_gb_per_s", &Rates::generic_gb_per_s},
    {"reference_elements_per_us", &Rates::reference_elements_per_us},
    {"reference_gflops", &Rates::reference_gflops},
    {"call_us", &Rates::call_us},
};

Rates rates_from(const std::map<std::string, double>& given) {
  Rates rates;
  for (const auto& [name, value] : given) {
    const auto at = std::ranges::find_if(kRates, [&](const auto& r) { return name == r.first; });
    if (at == std::end(kRates)) {
      std::string names;
      for (const auto& [known, member] : kRates)
        names += (names.empty() ? "" : ", ") + std::string(known);
      throw Error(ErrorCode::usage, "there is no rate '" + name + "'; choose among " + names);
    }
    if (!(value >= 1e-6 && value <= 1e9)) {
      throw Error(ErrorCode::usage, "the rate '" + name + "' is no positive number");
    }
    rates.*at->second = value;
  }
  return rates;
}

std::map<std::string, double> measured_rates() {
  const nb::gil_scoped_release release;
  const Rates rates = measure_rates();
  std::map<std::string, double> out;
  for (const auto& [name, member] : kRates) out[name] = rates.*member;
  return out;
}

PlanOptions::Planner planner_of(const std::string& name) {
  if (name == "optimal") return PlanOptions::Planner::optimal;
  if (name == "rule") return PlanOptions::Planner::rule;
  if (name == "source") return PlanOptions::Planner::source;
  throw Error(ErrorCode::usage,
              "there is no planner '" + name + "'; choose optimal, rule or source");
}

/// Of "cpu" or "opencl[:N]"; null: the CPU.
std::shared_ptr<Device> open_device(const std::string& name) {
  if (name == "cpu") return nullptr;
  int number = 0;
  bool right = name == "opencl";
  if (name.starts_with("opencl:")) {
    const char *begin = name.data() + 7, *end = name.data() + name.size();
    const auto [stop, problem] = std::from_chars(begin, end, number);
    right = problem == std::errc() && stop == end && number >= 0;
  }
  if (!right) {
    throw Error(ErrorCode::usage, "there is no device '" + name +
                                      "'; choose cpu, opencl or opencl:N, the N-th from 0 on");
  }
#ifdef STOWAGE_HAS_OPENCL
  return open_opencl(number);
#else
  throw Error(ErrorCode::device, "this build of stowage has no OpenCL");
#endif
}

std::map<std::string, DataFormat> formats_from(const std::map<std::string, std::string>& given) {
  std::map<std::string, DataFormat> out;
  for (const auto& [name, word] : given) {
    const std::optional<DataFormat> format = parse_data_format(word);
    if (!format) {
      throw Error(ErrorCode::usage, "the format '" + word + "' of '" + name +
                                        "' is unknown; choose nchw, nhwc or none");
    }
    out[name] = *format;
  }
  return out;
}

std::span<const std::byte> bytes_of(const nb::bytes& bytes) {
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};
}

std::string axes_of(DataFormat format) {
  if (format == DataFormat::none) return "";
  std::string out(data_format_name(format));
  std::ranges::transform(out, out.begin(), [](char c) { return static_cast<char>(c - 'A' + 'a'); });
  return out;
}

NativeModel load(const std::string& path, const std::optional<nb::bytes>& data,
                 const std::string& weights, const std::optional<nb::bytes>& weights_data,
                 bool generated_weights, const Shapes& shapes, int threads, int cpus,
                 const std::string& device, const std::string& planner, bool exact,
                 const std::map<std::string, std::string>& layouts,
                 const std::map<std::string, std::string>& formats,
                 const std::map<std::string, double>& rates, const std::string& name) {
  const std::map<std::string, DataFormat> data_formats = formats_from(formats);
  PlanOptions options{.threads = threads,
                      .planner = planner_of(planner),
                      .exact = exact,
                      .rates = rates_from(rates)};
  options.formats = data_formats;
  for (const auto& [port, text] : layouts) options.layouts[port] = Layout::parse(text);
  std::shared_ptr<LoadedModel> loaded;
  {
    const nb::gil_scoped_release release;
    const std::shared_ptr<Device> opened = open_device(device);
    if (opened != nullptr) options.device = DeviceOptions{.facts = opened->facts()};
    std::shared_ptr<const Model> model;
    if (data && weights_data) {
      model = open_model(bytes_of(*data), bytes_of(*weights_data));
    } else if (data) {
      model = open_model(bytes_of(*data));
    } else {
      model = open_model(
          path,
          OpenOptions{.limits = {}, .weights = weights, .generate_weights = generated_weights});
    }
    loaded = std::make_shared<LoadedModel>(std::move(model), name, shapes, std::move(options),
                                           opened, cpus);
    bool all_known = true;
    for (int i = 0; i < std::ssize(loaded->model().inputs()); ++i) all_known &= !loaded->open(i);
    if (all_known) loaded->runner({});
  }
  std::vector<std::string> input_axes, output_axes;
  const auto axes = [&](const std::string& port) {
    const auto at = data_formats.find(port);
    return at == data_formats.end() ? std::string() : axes_of(at->second);
  };
  for (const ModelInput& input : loaded->model().inputs()) input_axes.push_back(axes(input.name));
  for (const std::string& output : loaded->model().outputs()) output_axes.push_back(axes(output));
  return {std::move(loaded), std::move(input_axes), std::move(output_axes)};
}

std::vector<std::tuple<std::string, std::string, std::optional<nb::tuple>>> inputs_of(
    const NativeModel& native) {
  std::vector<std::tuple<std::string, std::string, std::optional<nb::tuple>>> out;
  for (const ModelInput& input : native.model()->model().inputs()) {
    std::optional<nb::tuple> dims;
    if (input.dims) {
      nb::list list;
      for (const ModelDim& dim : *input.dims) {
        if (dim.extent >= 0) {
          list.append(dim.extent);
        } else if (dim.symbol.empty()) {
          list.append(nb::none());
        } else {
          list.append(dim.symbol);
        }
      }
      dims = nb::tuple(list);
    }
    out.emplace_back(input.name, numpy_name(input.dtype), dims);
  }
  return out;
}

}  // namespace

void bind_model(nb::module_& m) {
  nb::class_<Named>(m, "Named", "An input with its axes, mean and scale; `named` makes one.")
      .def(nb::init<nb::object, std::string, std::vector<float>, std::vector<float>>(),
           nb::arg("array"), nb::arg("axes"), nb::arg("mean"), nb::arg("scale"))
      .def_ro("array", &Named::array)
      .def_ro("axes", &Named::axes)
      .def_ro("mean", &Named::mean)
      .def_ro("scale", &Named::scale);
  bind_plan(m);
  nb::class_<NativeModel>(m, "Model")
      .def("run", &NativeModel::run, nb::arg("arrays"), nb::arg("wanted").none(),
           nb::arg("out").none(),
           nb::sig("def run(self, arrays: list[Any], wanted: collections.abc.Sequence[int] | None, "
                   "out: list[numpy.typing.NDArray[Any] | None] | None) "
                   "-> list[numpy.typing.NDArray[Any]]"))
      .def("profile", &NativeModel::profile, nb::arg("arrays"), nb::arg("runs"),
           nb::sig("def profile(self, arrays: list[Any], runs: int) -> list[float]"))
      .def("plan", &NativeModel::plan, nb::arg("shapes"))
      .def("last", &NativeModel::last)
      .def("plan_for", &NativeModel::plan_for, nb::arg("arrays"),
           nb::sig("def plan_for(self, arrays: list[Any]) -> Plan"))
      .def(
          "inputs", &inputs_of,
          nb::sig("def inputs(self) -> list[tuple[str, str, tuple[int | str | None, ...] | None]]"))
      .def("outputs", [](const NativeModel& self) {
        const std::span<const std::string> names = self.model()->model().outputs();
        return std::vector<std::string>(names.begin(), names.end());
      });
  m.def("load", &load, nb::kw_only(), nb::arg("path"), nb::arg("data").none(), nb::arg("weights"),
        nb::arg("weights_data").none(), nb::arg("generated_weights"), nb::arg("shapes"),
        nb::arg("threads"), nb::arg("cpus"), nb::arg("device"), nb::arg("planner"),
        nb::arg("exact"), nb::arg("layouts"), nb::arg("formats"), nb::arg("rates"),
        nb::arg("name"));
  m.def("measure_rates", &measured_rates);
}

}  // namespace stowage::python
