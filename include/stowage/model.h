// SPDX-License-Identifier: Apache-2.0
// A model's life: open_model, specialise, simplify, make_plan, Session::run. import_model is the
// first two in one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/data_format.h"
#include "stowage/device.h"
#include "stowage/tensor.h"

namespace stowage {

class Graph;  ///< the logical computation: no layout exists yet
class Plan;   ///< layouts, kernels, conversions, memory: immutable

/// Bounds on what a model file may ask for; exceeding one is Error(limit).
struct Limits {
  std::int64_t file_bytes = std::int64_t{2} << 30;
  std::int64_t tensor_bytes = std::int64_t{4} << 30;  ///< one value
  std::int64_t total_bytes = std::int64_t{16} << 30;  ///< all values of a model
  int nodes = 100'000;
  int name_bytes = 4096;
};

/// How open_model reads a file. What is said of weights is for ncnn's .param files; Error(usage)
/// with others.
struct OpenOptions {
  Limits limits;
  /// The file of weights; empty: the .bin that has the .param's name and lies beside it.
  std::string weights;
  /// Weights are made up, the same every time, and no file of them is read: to measure times.
  bool generate_weights = false;
};

/// A dim of a model input as the file has it.
struct ModelDim {
  std::int64_t extent = -1;  ///< negative: open
  std::string symbol;        ///< what the file calls an open dim; dims of one name are equal
};

/// An input of a model as the file has it.
struct ModelInput {
  std::string name;
  DType dtype = DType::f32;
  std::optional<std::vector<ModelDim>> dims;  ///< nothing: not even the rank is known
};

struct SpecialiseOptions {
  /// Extents by input name; they bind symbolic dims and replace static ones.
  std::map<std::string, std::vector<std::int64_t>> shapes;
  /// Inputs whose elements are known now, by name. They become constants and are no inputs of a
  /// session: where a model takes axes, shapes or sizes as inputs, it can be planned only so.
  std::map<std::string, Tensor> known;
};

/// Both in one, as SpecialiseOptions and OpenOptions have them.
struct ImportOptions {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  std::map<std::string, Tensor> known;
  Limits limits;
  std::string weights;
  bool generate_weights = false;
};

/// A model as its file has it, for whatever shapes, with its weights. Immutable: any number of
/// threads may use it at once. In the library stowage::import, as is all that makes one.
class Model {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::string& name() const noexcept { return name_; }  ///

  std::span<const ModelInput> inputs() const noexcept { return inputs_; }  ///< in the file's order

  std::span<const std::string> outputs() const noexcept { return outputs_; }  ///

 protected:
  Model() = default;

  std::string name_;
  std::vector<ModelInput> inputs_;
  std::vector<std::string> outputs_;

 private:
  friend std::shared_ptr<const Model> open_model(const std::string&, const OpenOptions&);
  friend std::shared_ptr<const Model> open_model(std::span<const std::byte>, const Limits&);
  friend std::shared_ptr<const Model> open_model(std::span<const std::byte>,
                                                 std::span<const std::byte>, const Limits&);
  friend std::shared_ptr<Graph> specialise(const Model&, const SpecialiseOptions&);

  virtual std::shared_ptr<Graph> graph(const SpecialiseOptions& options) const = 0;

  std::string source_;  // the path, for messages
};

/// Reads an ONNX or a TFLite file, or a .param of ncnn, text or binary; its bytes say which. All
/// that does not depend on shapes is checked here, the rest by `specialise`. The file is not needed
/// any longer when it returns. Throws Error(bad_input, unsupported, limit, usage).
std::shared_ptr<const Model> open_model(const std::string& path, const OpenOptions& options);
std::shared_ptr<const Model> open_model(const std::string& path, const Limits& limits = {});
/// The same from memory. Weights in files of their own are Error(unsupported): there is no folder.
std::shared_ptr<const Model> open_model(std::span<const std::byte> bytes,
                                        const Limits& limits = {});
/// ncnn's .param and .bin from memory.
std::shared_ptr<const Model> open_model(std::span<const std::byte> param,
                                        std::span<const std::byte> weights,
                                        const Limits& limits = {});

/// The computation for one set of input shapes. Graphs share the weights of their model. A leading
/// (batch) dim that is open and not bound by `shapes` becomes 1. Variables of a TFLite model begin
/// at zero in every run. Throws Error(bad_input, unsupported, limit, usage).
std::shared_ptr<Graph> specialise(const Model& model, const SpecialiseOptions& options = {});

/// open_model, then specialise; the graph alone owns the weights then, so that make_plan can
/// release them one by one.
std::shared_ptr<Graph> import_model(const std::string& path, const ImportOptions& options = {});

/// Labelled patches: folds constants and BatchNorm, fuses what follows a kernel. make_plan
/// does it where it has not been done.
void simplify(Graph& graph);

/// What one thread of a machine does, as far as plans depend on it; `stowage calibrate` measures
/// it. The defaults are round numbers between a laptop and a server core: only ratios decide
/// between layouts.
struct Rates {
  double gflops_per_lane = 8;              ///< a kernel of efficiency 1, one f32 lane
  double kernel_gb_per_s = 20;             ///< bytes that a kernel reads and writes
  double memory_gb_per_s = 20;             ///< weights of a model that has more than cached_mb
  double cached_mb = 16;                   ///< weights that the next run finds in a cache
  double copy_gb_per_s = 20;               ///< a conversion that copies runs
  double shuffle_gb_per_s = 18;            ///< a conversion that transposes or interleaves
  double generic_gb_per_s = 3;             ///< a conversion that moves single elements
  double reference_elements_per_us = 100;  ///< what a reference writes
  double reference_gflops = 1;             ///< and computes
  double call_us = 0.2;                    ///< of a step, whatever it does
};

struct PlanOptions {
  int threads = 1;  ///< that a session of the plan runs on, the caller included; 1 to 256
  /// Runs `simplify` first, unless the graph has been simplified already.
  bool simplify = true;
  /// optimal: the cheapest plan that can be found, never dearer than the other two.
  /// rule: MACE's lists and its pass forward. source: every value in the order of the file.
  enum class Planner { optimal, rule, source } planner = Planner::optimal;
  /// Kernels of the CPU add up the products that the model asks for: no convolution by Winograd's
  /// method, whose results may be off by 1e-4 of the largest result of their layer.
  bool exact = false;
  Rates rates;
  std::optional<DeviceOptions> device;  ///< without one everything runs on the CPU
  /// Layouts in which the caller will give inputs and take outputs, by name; by default
  /// row-major in source order. The planner counts the conversion between that and the layout of
  /// the plan, and has nothing to convert where a kernel reads or writes it. It binds nobody:
  /// set_input and read_output take views of any layout.
  std::map<std::string, Layout> layouts;
  /// The data formats of the caller's inputs and outputs, by name. nchw and nhwc are short for a
  /// layout in `layouts` and need a value that has a data format, see Port; Error(usage) otherwise.
  /// none says that the tensor is no batch of images, MACE's NONE: it is taken as the model has
  /// it, Port::data_format is none, and under Planner::rule an input is not AUTO.
  std::map<std::string, DataFormat> formats;
  Limits limits;
};

/// Simplifies, chooses layouts and kernels, inserts conversions, converts the weights, lays out
/// the arena. The graph's constants are released as they are converted when the plan is its only
/// owner: pass a graph you no longer need. Those of a Model stay with it. Throws Error(usage)
/// without a graph or for a number of threads out of range, Error(limit) above the limits.
std::shared_ptr<const Plan> make_plan(std::shared_ptr<Graph> graph,
                                      const PlanOptions& options = {});

/// The plan as a person wants it. `step_us` are measured, as Session::step_us has them, and stand
/// beside what was predicted then, or nothing.
std::string explain(const Plan& plan, std::span<const double> step_us = {});

/// An input or output of a session.
struct Port {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;  ///< source order
  /// In which the model has it: nchw or nhwc when the model's operators name its axes n, c, h and
  /// w in that order, whatever kind of file it comes from. none: no batch of images; names of
  /// axes that no operator gave are letters without a meaning, and views match by position, as do
  /// views over a, b, c, ... in this order.
  DataFormat data_format = DataFormat::none;
};

/// The memory that Session::bind_input or bind_output takes for a port.
struct PortFormat {
  DType dtype = DType::f32;   ///< of the cells; f16 where a device keeps f32 values as halves
  Mapping mapping;            ///< where elements lie, over the axes of the port
  std::size_t alignment = 0;  ///< cell 0 lies at a multiple of so many bytes
  /// That the memory has from cell 0 on: those of the mapping, and behind them some that kernels
  /// may read whatever they hold, and never write.
  std::size_t bytes = 0;
  /// That a run copies for the port nevertheless; 0: kernels read or write the memory itself.
  std::size_t copied_bytes = 0;
};

/// A plan with its memory. `run` allocates nothing but what it returns. Not thread-safe;
/// sessions of one plan are independent of each other.
class Session {
 public:
  /// Starts the threads that the plan was made for, the caller being one of them, but no more than
  /// the process has CPUs (its affinity and the CPU limits of its control groups). Between runs
  /// they sleep. The result does not depend on their number. Throws Error(usage) without a plan,
  /// Error(limit) when memory or threads are short, and for a plan with steps on a device
  /// Error(usage) without one, Error(device) for one that has less than the plan was made for, or
  /// whose driver fails.
  explicit Session(std::shared_ptr<const Plan> plan, std::shared_ptr<Device> device = nullptr);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  std::span<const Port> inputs() const noexcept;
  std::span<const Port> outputs() const noexcept;

  /// Gives input `i` for the next runs. The view may have any layout; a view of another dtype
  /// is converted when the input is f32. `scale` is applied on the way: (x - mean) * norm.
  /// The bytes are read here, in one conversion into the layout of the plan.
  /// Axes are matched by name where the names are the port's, whatever their order, else by
  /// position. So data in another format than the model's needs no copy: the picture [1,H,W,3] for
  /// a port over n c h w is a view with Mapping(Layout::parse("NHWC"), port.shape, 1).
  /// Throws Error(bad_input) when shape or dtype do not fit, Error(usage) for a null pointer.
  void set_input(int i, const TensorView& view, std::span<const float> mean = {},
                 std::span<const float> norm = {});

  /// Computes. Throws Error(usage) when an input is neither set nor bound, Error(bad_input) for
  /// what only the data can show (an index out of range, a tail), Error(device) when the driver of
  /// a device fails, nothing else. Denormals of f32 and f64 are zero meanwhile, as operands and as
  /// results, in this thread and in all others that work (FTZ and DAZ on x86, FPCR.FZ on Arm); this
  /// thread's mode comes back at the end. What only moves keeps its bits, and so do set_input and
  /// read_output.
  void run();

  /// Output `i` of the last run, row-major in source order. Throws Error(usage) before the first,
  /// after one that threw, and where the output was bound or unbound since.
  Tensor output(int i) const;
  /// Likewise, into a view of any layout and the same shape.
  void read_output(int i, const MutableTensorView& into) const;

  /// Index of the input or output of that name. Throws Error(usage) that lists the names.
  int input_index(std::string_view name) const;
  int output_index(std::string_view name) const;

  /// In which format memory is bound to a port: the plan's. It is the one of PlanOptions::layouts
  /// where a kernel of the plan has that. Throws Error(usage) for a number that no port has.
  PortFormat input_format(int i) const;
  PortFormat output_format(int i) const;

  /// From now on every run reads input `i` from this memory, in place of set_input: nothing is
  /// copied now, and later only PortFormat::copied_bytes. `bytes` are those that may be read from
  /// view.data on. The memory stays the caller's: it outlives the binding, which ends with
  /// unbind_input, another bind_input or set_input of the port, or the session; it changes between
  /// runs only, and an output is not bound to any of its cells. Tails of the mapping hold zero: the
  /// first run looks, and throws Error(bad_input) if not; gaps hold anything. A Tensor has all that
  /// it takes. Throws Error(usage) for a view of another layout or dtype than input_format(i) (it
  /// is set_input that converts), for memory off its alignment, of fewer bytes, or bound to an
  /// output; Error(bad_input) for another shape.
  void bind_input(int i, const TensorView& view, std::size_t bytes);
  void bind_input(int i, const Tensor& tensor);
  void bind_input(int i, Tensor&& tensor) = delete;
  /// As before the first set_input or bind_input: a run needs one of them.
  void unbind_input(int i);

  /// Likewise, every run writes output `i` there: elements, zeros into tails, and perhaps gaps. A
  /// run that throws leaves anything. `output` and `read_output` read the memory.
  void bind_output(int i, const MutableTensorView& view, std::size_t bytes);
  void bind_output(int i, Tensor& tensor);
  /// The session has the output again, from the next run on.
  void unbind_output(int i);

  /// Whether runs measure their steps from now on: off at first, when it costs nothing.
  void profile(bool on);
  /// Microseconds of each step of the last run under `profile`, as PlanReport::steps has them;
  /// empty before one. A step of a device is measured by the device where it was opened to (see
  /// OpenClOptions::profile), else by the host, which waits after each step then.
  std::span<const double> step_us() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stowage
