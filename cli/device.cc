// SPDX-License-Identifier: Apache-2.0
#include "cli/device.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "cli/io/yaml.h"
#include "cli/opencl.h"
#include "cli/rates.h"
#include "cli/selftest.h"
#include "cli/user_file.h"

namespace stowage::cli {
namespace {

/// What others call a device that is reached through OpenCL here, if at all.
bool is_gpu(std::string_view device) {
  constexpr std::string_view kNames[] = {"gpu", "cuda", "vulkan", "metal", "rocm", "hip", "sycl"};
  const auto begins = [&](std::string_view name) {
    return std::equal(name.begin(), name.end(), device.begin(),
                      device.begin() + std::min(name.size(), device.size()),
                      [](char want, char have) { return want == (have | 0x20); });
  };
  return std::any_of(std::begin(kNames), std::end(kNames), begins);
}

/// N of "opencl:N"; 0 of "opencl"; nothing for "cpu". Throws Error(usage) for anything else.
std::optional<int> opencl_number(const DeviceArguments& arguments) {
  const std::string device = arguments.device.value_or("cpu");
  if (device == "cpu") return std::nullopt;
  std::string_view rest = device;
  if (rest.starts_with("opencl")) {
    rest.remove_prefix(6);
    if (rest.empty()) return 0;
    int number = 0;
    const auto [end, problem] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), number);
    if (rest[0] == ':' && rest.size() > 1 && problem == std::errc() && number >= 0 &&
        end == rest.data() + rest.size()) {
      return number;
    }
  }
  fail(ErrorCode::usage, "--device '", device, "' is unknown; choose cpu or opencl[:N]",
       is_gpu(device) ? ", through which GPUs are reached" : "",
       "; 'stowage devices' lists what is here");
}

/// Where programs that drivers have built are kept; empty where the folder cannot be made: they are
/// built anew then.
std::string program_cache() {
  const std::string folder = user_path("XDG_CACHE_HOME", ".cache", "programs");
  std::error_code problem;
  if (!folder.empty()) std::filesystem::create_directories(folder, problem);
  return problem ? "" : folder;
}

struct Limit {
  const char* name;
  std::int64_t DeviceFacts::*member;
};

constexpr Limit kLimits[] = {{"image_width", &DeviceFacts::image_width},
                             {"image_height", &DeviceFacts::image_height},
                             {"allocation_bytes", &DeviceFacts::allocation_bytes},
                             {"memory_bytes", &DeviceFacts::memory_bytes},
                             {"alignment", &DeviceFacts::alignment},
                             {"group_items", &DeviceFacts::group_items},
                             {"local_bytes", &DeviceFacts::local_bytes}};

/// Reads the file of --device-limits: keys are the names of DeviceFacts; those of DeviceRates stand
/// under `rates`, and kernels to leave out under `avoid`.
class LimitsFile {
 public:
  LimitsFile(const std::string& file, DeviceOptions& options)
      : file_(file), facts_(options.facts), avoid_(options.avoid) {}

  void read() {
    const YamlNode all = read_yaml(file_);
    if (all.kind != Kind::map) refuse(all, "limits of a device are keys with values");
    for (const YamlNode& node : all.items) take(node);
  }

 private:
  using Kind = YamlNode::Kind;

  template <class... Parts>
  [[noreturn]] void refuse(const YamlNode& node, const Parts&... parts) const {
    fail(ErrorCode::bad_input, file_, ":", node.line, ": ", parts...);
  }

  void take(const YamlNode& node) {
    const auto* limit = std::ranges::find(kLimits, node.key, &Limit::name);
    if (limit != std::end(kLimits)) {
      facts_.*limit->member = number<std::int64_t>(node, 1, std::int64_t{1} << 46);
    } else if (node.key == "name") {
      if (node.kind != Kind::scalar) refuse(node, "'name' must be one value");
      facts_.name = node.text;
    } else if (node.key == "images" || node.key == "unified") {
      if (node.text != "true" && node.text != "false") {
        refuse(node, "'", node.key, "' is true or false");
      }
      (node.key == "images" ? facts_.images : facts_.unified) = node.text == "true";
    } else if (node.key == "rates") {
      if (node.kind != Kind::map) refuse(node, "'rates' are keys with values");
      for (const YamlNode& rate : node.items) {
        const auto known = std::ranges::find(device_rate_names(), rate.key, &DeviceRateName::name);
        if (known == device_rate_names().end()) refuse(rate, "there is no rate '", rate.key, "'");
        facts_.rates.*known->member = number<double>(rate, 1e-6, 1e9);
      }
    } else if (node.key == "avoid") {
      if (node.kind != Kind::list) refuse(node, "'avoid' is a list of kernels");
      for (const YamlNode& kernel : node.items) {
        if (kernel.kind != Kind::scalar || !kernel.text.starts_with("cl_")) {
          refuse(kernel, "'", kernel.text, "' is no kernel of devices; write cl_conv");
        }
        avoid_.push_back(kernel.text);
      }
    } else {
      refuse(node, "there is no limit '", node.key, "'; docs/opencl.md lists them");
    }
  }

  template <class T>
  T number(const YamlNode& node, T least, T most) const {
    T out{};
    const char* end = node.text.data() + node.text.size();
    const auto [stop, problem] = std::from_chars(node.text.data(), end, out);
    // Written so that NaN is refused.
    if (node.kind != Kind::scalar || problem != std::errc() || stop != end || !(out >= least) ||
        !(out <= most)) {
      refuse(node, "'", node.key, "' is no number from ", least, " to ", most);
    }
    return out;
  }

  const std::string& file_;
  DeviceFacts& facts_;
  std::vector<std::string>& avoid_;
};

}  // namespace

void add_device_options(CLI::App* command, DeviceArguments& arguments,
                        std::optional<int>& threads) {
  command
      ->add_option("--device", arguments.device,
                   "Where to compute: cpu (the default) or opencl[:N], as 'stowage devices' counts "
                   "them")
      ->type_name("cpu|opencl[:N]");
  command
      ->add_option(
          "--memory", arguments.memory,
          "Where tensors lie on an OpenCL device: any (the default: what is faster), image "
          "(a buffer where an image is too small) or buffer")
      ->type_name("any|image|buffer");
  command
      ->add_option("--data-type", arguments.data_type,
                   "How tensors are stored on an OpenCL device: fp32 (the default) or fp16_fp32, "
                   "half precision with arithmetic in fp32")
      ->type_name("fp32|fp16_fp32");
  command
      ->add_option("--device-limits", arguments.device_limits,
                   "Plan for a device with the limits of this YAML file; 'plan' needs no device "
                   "then")
      ->type_name("FILE");
  command->add_option("--threads", threads, "Threads to use (default: every CPU)")->type_name("N");
}

void add_tune_option(CLI::App* command, DeviceArguments& arguments) {
  command->add_flag(
      "--tune", arguments.tune,
      "Before the model runs, measure work-group sizes that nobody has measured on "
      "this OpenCL device, for half a minute at most; later runs use them without it");
}

bool on_device(const DeviceArguments& arguments) { return opencl_number(arguments).has_value(); }

bool is_memory(std::string_view word) {
  return word == "any" || word == "image" || word == "buffer";
}

void expect_device(const DeviceArguments& arguments) {
  if (on_device(arguments)) return;
  const std::string memory = arguments.memory.value_or("any"),
                    type = arguments.data_type.value_or("fp32");
  const std::string option = !arguments.device_limits.empty() ? "--device-limits"
                             : arguments.tune                 ? "--tune"
                             : memory != "any"                ? "--memory " + memory
                             : type != "fp32"                 ? "--data-type " + type
                                                              : "";
  if (!option.empty()) fail(ErrorCode::usage, option, " needs --device opencl");
}

void check_device(const DeviceArguments& arguments, bool deployed) {
  const std::string memory = arguments.memory.value_or("any");
  if (!is_memory(memory)) {
    fail(ErrorCode::usage, "--memory '", memory, "' is unknown; choose any, image or buffer");
  }
  const std::string type = arguments.data_type.value_or("fp32");
  if (type != "fp32" && type != "fp16_fp32") {
    fail(ErrorCode::usage, "--data-type '", type, "' is unknown; choose fp32 or fp16_fp32");
  }
  if (!deployed || arguments.device.has_value()) expect_device(arguments);
}

void open_device(DeviceArguments& arguments) {
  const std::optional<int> number = opencl_number(arguments);
  if (!number.has_value() || arguments.opened != nullptr) return;
  OpenClOptions options{.loader = "",
                        .cache = program_cache(),
                        .tune = arguments.tune,
                        .profile = arguments.profile,
                        .fill_nan = arguments.fill_nan};
  try {
    arguments.opened = cli::open_opencl(*number, options);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::device) throw;
    if (!arguments.or_cpu) fail(ErrorCode::device, e.sentence(), "; --device cpu needs none");
    arguments.device = "cpu";
    arguments.missing = e.sentence();
  }
}

void expect_no_cpu(const DeviceArguments& arguments) {
  if (on_device(arguments)) return;
  fail(ErrorCode::usage, "this is for other devices than the CPU; use --device opencl[:N]");
}

std::optional<DeviceOptions> device_options(const DeviceArguments& arguments,
                                            const std::string& rates) {
  if (!on_device(arguments)) return std::nullopt;
  DeviceOptions options;
  if (arguments.memory == "image") options.memory = DeviceOptions::Memory::image;
  if (arguments.memory == "buffer") options.memory = DeviceOptions::Memory::buffer;
  options.half = arguments.data_type == "fp16_fp32";
  DeviceFacts& facts = options.facts;
  if (arguments.opened != nullptr) {
    facts = arguments.opened->facts();
    facts.rates = load_device_rates(rates, facts);
    options.avoid = failed_kernels(rates, facts);
  }
  if (!arguments.winograd) options.avoid.emplace_back("cl_winograd");
  if (arguments.device_limits.empty()) return options;
  const DeviceFacts have = facts;
  LimitsFile(arguments.device_limits, options).read();
  if (arguments.opened == nullptr) return options;
  // A plan that is made for more than the device has would be refused.
  facts.images &= have.images;
  facts.image_width = std::min(facts.image_width, have.image_width);
  facts.image_height = std::min(facts.image_height, have.image_height);
  facts.allocation_bytes = std::min(facts.allocation_bytes, have.allocation_bytes);
  facts.memory_bytes = std::min(facts.memory_bytes, have.memory_bytes);
  facts.alignment = std::max(facts.alignment, have.alignment);
  return options;
}

}  // namespace stowage::cli
