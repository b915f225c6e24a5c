// SPDX-License-Identifier: Apache-2.0
// Models, plans and sessions through the C interface, compared with the C++ one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>
#include <vector>

#include "c/test_util.h"
#include "stowage/stowage.h"

namespace stowage {
namespace {

using test::make_options;
using test::ModelHandle;
using test::open;
using test::OptionsHandle;
using test::plan_of;
using test::PlanHandle;
using test::session_of;
using test::SessionHandle;
using test::taken;

using test::kModels;
constexpr std::int64_t kShape[] = {1, 3, 64, 64};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::uint8_t> picture(int seed) {
  std::vector<std::uint8_t> out(64 * 64 * 3);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<std::uint8_t>(i * 7 + i / 191 * static_cast<std::size_t>(seed));
  }
  return out;
}

constexpr float kMean[] = {120, 128, 130}, kNorm[] = {1 / 127.5F, 1 / 120.0F, 1 / 110.0F};

stowage_scalar_map preprocessing() {
  stowage_scalar_map map = STOWAGE_SCALAR_MAP_INIT;
  map.mean = kMean;
  map.norm = kNorm;
  map.mean_count = map.norm_count = 3;
  return map;
}

stowage_view pixels(std::vector<std::uint8_t>& samples) {
  stowage_view view = STOWAGE_VIEW_INIT;
  view.data = samples.data();
  view.dtype = STOWAGE_U8;
  view.layout = "NHWC";
  return view;
}

stowage_view floats(std::vector<float>& values) {
  stowage_view view = STOWAGE_VIEW_INIT;
  view.data = values.data();
  return view;
}

/// What models/shapes.onnx says of a picture, by the C++ interface.
std::vector<float> by_library(std::vector<std::uint8_t>& samples, int threads = 1) {
  Session session(make_plan(import_model(kModels + "shapes.onnx"), {.threads = threads}));
  const Mapping lies(Layout::parse("NHWC"), session.inputs()[0].shape, 1);
  session.set_input(0, {DType::u8, lies, samples.data()}, kMean, kNorm);
  session.run();
  const Tensor out = session.output(0);
  const auto values = out.as<float>();
  return {values.begin(), values.end()};
}

std::vector<float> by_c(stowage_session* session, std::vector<std::uint8_t>& samples) {
  std::vector<float> scores(5);
  const stowage_view in = pixels(samples), out = floats(scores);
  const stowage_scalar_map map = preprocessing();
  EXPECT_EQ(stowage_session_set_input(session, 0, &in, &map), STOWAGE_OK) << stowage_last_error();
  EXPECT_EQ(stowage_session_run(session), STOWAGE_OK) << stowage_last_error();
  EXPECT_EQ(stowage_session_read_output(session, 0, &out), STOWAGE_OK) << stowage_last_error();
  return scores;
}

TEST(CModels, TellWhatTheFileSays) {
  const ModelHandle model = open("shapes.onnx");
  EXPECT_STREQ(stowage_model_name(model.get()), "shapes");
  ASSERT_EQ(stowage_model_input_count(model.get()), 1u);
  ASSERT_EQ(stowage_model_output_count(model.get()), 1u);
  stowage_model_input input = STOWAGE_MODEL_INPUT_INIT;
  ASSERT_EQ(stowage_model_get_input(model.get(), 0, &input), STOWAGE_OK);
  EXPECT_STREQ(input.name, "image");
  EXPECT_EQ(input.dtype, STOWAGE_F32);
  ASSERT_EQ(input.rank, 4);
  EXPECT_LT(input.extents[0], 0);
  EXPECT_STREQ(input.symbols[0], "N");
  EXPECT_EQ(input.extents[3], 64);
  EXPECT_STREQ(input.symbols[3], "");
  const char* name = nullptr;
  ASSERT_EQ(stowage_model_get_output_name(model.get(), 0, &name), STOWAGE_OK);
  EXPECT_STREQ(name, "prob");
  EXPECT_EQ(stowage_model_get_input(model.get(), 1, &input), STOWAGE_USAGE);
  EXPECT_EQ(stowage_model_get_output_name(model.get(), 1, &name), STOWAGE_USAGE);
  EXPECT_STREQ(stowage_last_error(), "there is no output 1; there are 1");
  EXPECT_STREQ(stowage_model_name(nullptr), "");
  EXPECT_EQ(stowage_model_input_count(nullptr), 0u);
  EXPECT_EQ(stowage_model_output_count(nullptr), 0u);
}

TEST(CModels, OpenFromMemoryAndWithWeights) {
  std::vector<std::uint8_t> samples = picture(3);
  const std::vector<float> want = by_library(samples);
  const std::string onnx = bytes_of(kModels + "shapes.onnx"),
                    param = bytes_of(kModels + "shapes.param"),
                    bin = bytes_of(kModels + "shapes.bin");
  stowage_model* model = nullptr;
  ASSERT_EQ(stowage_model_open_memory(onnx.data(), onnx.size(), nullptr, 0, &model), STOWAGE_OK);
  const ModelHandle from_memory(model);
  EXPECT_EQ(by_c(session_of(plan_of(from_memory)).get(), samples), want);

  ASSERT_EQ(stowage_model_open_memory(param.data(), param.size(), bin.data(), bin.size(), &model),
            STOWAGE_OK)
      << stowage_last_error();
  const ModelHandle ncnn(model);
  ASSERT_EQ(stowage_model_open((kModels + "shapes.param").c_str(), (kModels + "shapes.bin").c_str(),
                               &model),
            STOWAGE_OK)
      << stowage_last_error();
  const ModelHandle files(model);
  for (const ModelHandle* one : {&ncnn, &files}) {
    const SessionHandle session = session_of(plan_of(*one));
    std::vector<float> scores(5);
    stowage_view in = pixels(samples);
    in.layout = "h w c";
    const stowage_view out = floats(scores);
    const stowage_scalar_map map = preprocessing();
    ASSERT_EQ(stowage_session_set_input(session.get(), 0, &in, &map), STOWAGE_OK)
        << stowage_last_error();
    ASSERT_EQ(stowage_session_run(session.get()), STOWAGE_OK);
    ASSERT_EQ(stowage_session_read_output(session.get(), 0, &out), STOWAGE_OK);
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(scores[i], want[i], 1e-5);
  }
}

TEST(CModels, BadFilesAreRefused) {
  stowage_model* model = nullptr;
  EXPECT_EQ(stowage_model_open((kModels + "nothing.onnx").c_str(), nullptr, &model),
            STOWAGE_BAD_INPUT);
  EXPECT_NE(std::string(stowage_last_trail()).find("importing"), std::string::npos);
  EXPECT_EQ(stowage_model_open((kModels + "shapes.onnx").c_str(), "weights", &model),
            STOWAGE_USAGE);
  EXPECT_EQ(stowage_model_open_memory("", 0, nullptr, 0, &model), STOWAGE_BAD_INPUT);
  EXPECT_EQ(stowage_model_open_memory(nullptr, 7, nullptr, 0, &model), STOWAGE_USAGE);
  const std::string onnx = bytes_of(kModels + "shapes.onnx");
  for (std::size_t size = 1; size < onnx.size(); size += onnx.size() / 7) {
    EXPECT_EQ(stowage_model_open_memory(onnx.data(), size, nullptr, 0, &model), STOWAGE_BAD_INPUT)
        << size;
  }
  EXPECT_EQ(stowage_model_open_memory(onnx.data(), onnx.size(), onnx.data(), 9, &model),
            STOWAGE_BAD_INPUT);
  EXPECT_EQ(model, nullptr);
}

TEST(CPlans, AreExplainedAsTheLibraryDoes) {
  const ModelHandle model = open("upscale_x2.onnx");
  const OptionsHandle options = make_options();
  ASSERT_EQ(stowage_options_set_shape(options.get(), "image", kShape, 4), STOWAGE_OK);
  ASSERT_EQ(stowage_options_set_threads(options.get(), 2), STOWAGE_OK);
  ASSERT_EQ(stowage_options_set_layout(options.get(), "image", "NHWC"), STOWAGE_OK);
  ASSERT_EQ(stowage_options_set_device(options.get(), "cpu", 0), STOWAGE_OK);
  const SpecialiseOptions shapes{.shapes = {{"image", {1, 3, 64, 64}}}};
  for (const stowage_planner planner :
       {STOWAGE_PLANNER_OPTIMAL, STOWAGE_PLANNER_RULE, STOWAGE_PLANNER_SOURCE}) {
    ASSERT_EQ(stowage_options_set_planner(options.get(), planner), STOWAGE_OK);
    const bool exact = planner == STOWAGE_PLANNER_RULE;
    ASSERT_EQ(stowage_options_set_exact(options.get(), exact), STOWAGE_OK);
    const PlanHandle plan = plan_of(model, options);
    const PlanOptions as{.threads = 2,
                         .planner = static_cast<PlanOptions::Planner>(planner),
                         .exact = exact,
                         .layouts = {{"image", Layout::parse("NHWC")}}};
    const auto opened = open_model(kModels + "upscale_x2.onnx");
    const auto want = make_plan(specialise(*opened, shapes), as);
    const PlanReport told = report(*want);
    char *text = nullptr, *json = nullptr, *html = nullptr;
    ASSERT_EQ(stowage_plan_explain(plan.get(), &text), STOWAGE_OK);
    EXPECT_EQ(taken(text), explain(*want));
    ASSERT_EQ(stowage_plan_json(plan.get(), "net", nullptr, 0, &json), STOWAGE_OK);
    EXPECT_EQ(taken(json), plan_json(told, "net"));
    ASSERT_EQ(stowage_plan_json(plan.get(), nullptr, nullptr, 0, &json), STOWAGE_OK);
    EXPECT_EQ(taken(json), plan_json(told, told.model));
    const std::vector<double> us(told.steps.size(), 2.5);
    ASSERT_EQ(stowage_plan_html(plan.get(), "net", us.data(), us.size(), &html), STOWAGE_OK);
    EXPECT_EQ(taken(html), plan_html(told, "net", us));
    EXPECT_EQ(stowage_plan_html(plan.get(), "net", us.data(), us.size() + 1, &html), STOWAGE_USAGE);
    EXPECT_EQ(stowage_plan_json(plan.get(), "net", nullptr, us.size(), &json), STOWAGE_USAGE);

    ASSERT_EQ(stowage_plan_step_count(plan.get()), told.steps.size());
    for (std::size_t i = 0; i < told.steps.size(); ++i) {
      stowage_step step = STOWAGE_STEP_INIT;
      ASSERT_EQ(stowage_plan_get_step(plan.get(), i, &step), STOWAGE_OK);
      EXPECT_EQ(step.name, told.steps[i].name);
      EXPECT_EQ(step.op, told.steps[i].op);
      EXPECT_EQ(step.kernel, told.steps[i].kernel);
    }
    stowage_step step = STOWAGE_STEP_INIT;
    EXPECT_EQ(stowage_plan_get_step(plan.get(), told.steps.size(), &step), STOWAGE_USAGE);

    const auto graph = specialise(*opened, shapes);
    simplify(*graph);
    const WhyNot answer = why_not(graph, as, "#2", "NHWC");
    ASSERT_EQ(stowage_why_not(model.get(), options.get(), "#2", "NHWC", &text), STOWAGE_OK)
        << stowage_last_error();
    EXPECT_EQ(taken(text), explain(answer));
    ASSERT_EQ(stowage_why_not_json(model.get(), options.get(), "#2", "NHWC", &json), STOWAGE_OK);
    EXPECT_EQ(taken(json), why_not_json(answer));
    EXPECT_EQ(stowage_why_not(model.get(), options.get(), "nobody", "NHWC", &text), STOWAGE_USAGE);
    EXPECT_EQ(stowage_why_not_json(model.get(), options.get(), "#2", "n c/", &text), STOWAGE_USAGE);
  }
  EXPECT_EQ(stowage_plan_step_count(nullptr), 0u);
}

TEST(CPlans, BadOptionsAreRefused) {
  const ModelHandle model = open("shapes.onnx");

  struct Case {
    const char* part;  ///< of the sentence
    std::function<stowage_status(stowage_options*)> set;
  };

  const std::int64_t one[] = {-1, 3, 64, 64};
  const Case at_once[] = {
      {"rank of 9", [&](auto* o) { return stowage_options_set_shape(o, "image", one, 9); }},
      {"extents is null",
       [&](auto* o) { return stowage_options_set_shape(o, "image", nullptr, 4); }},
      {"no planner 9",
       [](auto* o) { return stowage_options_set_planner(o, static_cast<stowage_planner>(9)); }},
      {"no data format -1",
       [](auto* o) {
         return stowage_options_set_data_format(o, "image", static_cast<stowage_data_format>(-1));
       }},
      {"^", [](auto* o) { return stowage_options_set_layout(o, "image", "n c/"); }},
      {"no device 'gpu'", [](auto* o) { return stowage_options_set_device(o, "gpu", 0); }},
      {"no device 'opencl:'", [](auto* o) { return stowage_options_set_device(o, "opencl:", 0); }},
      {"no device 'opencl:-1'",
       [](auto* o) { return stowage_options_set_device(o, "opencl:-1", 0); }},
      {"no device 'opencl:1x'",
       [](auto* o) { return stowage_options_set_device(o, "opencl:1x", 0); }},
  };
  for (const Case& c : at_once) {
    const OptionsHandle options = make_options();
    EXPECT_EQ(c.set(options.get()), STOWAGE_USAGE) << c.part;
    EXPECT_NE(std::string(stowage_last_error()).find(c.part), std::string::npos)
        << stowage_last_error();
    EXPECT_NE(plan_of(model, options), nullptr);  // the options are as they were
  }
  const Case later[] = {
      {"no input 'picture'",
       [](auto* o) { return stowage_options_set_shape(o, "picture", kShape, 4); }},
      {"-1", [&](auto* o) { return stowage_options_set_shape(o, "image", one, 4); }},
      {"threads", [](auto* o) { return stowage_options_set_threads(o, 0); }},
      {"threads", [](auto* o) { return stowage_options_set_threads(o, 1000); }},
      {"picture", [](auto* o) { return stowage_options_set_layout(o, "picture", "NHWC"); }},
      {"prob",
       [](auto* o) { return stowage_options_set_data_format(o, "prob", STOWAGE_FORMAT_NHWC); }},
  };
  for (const Case& c : later) {
    const OptionsHandle options = make_options();
    ASSERT_EQ(c.set(options.get()), STOWAGE_OK) << stowage_last_error();
    stowage_plan* plan = nullptr;
    EXPECT_NE(stowage_plan_create(model.get(), options.get(), &plan), STOWAGE_OK) << c.part;
    EXPECT_NE(std::string(stowage_last_error()).find(c.part), std::string::npos)
        << stowage_last_error();
    EXPECT_EQ(plan, nullptr);
  }
}

TEST(CPlans, DataFormatsAndKnownInputsReachThePlan) {
  const ModelHandle model = open("shapes.onnx");
  OptionsHandle options = make_options();
  ASSERT_EQ(stowage_options_set_data_format(options.get(), "image", STOWAGE_FORMAT_NHWC),
            STOWAGE_OK);
  const PlanHandle plan = plan_of(model, options);
  char* text = nullptr;
  ASSERT_EQ(stowage_plan_explain(plan.get(), &text), STOWAGE_OK);
  const PlanOptions as{.formats = {{"image", DataFormat::nhwc}}};
  EXPECT_EQ(taken(text), explain(*make_plan(import_model(kModels + "shapes.onnx"), as)));

  // All inputs known: the scores are constants.
  std::vector<std::uint8_t> samples = picture(5);
  const std::vector<float> want = by_library(samples);
  std::vector<float> image(3 * 64 * 64);
  stowage_view from = pixels(samples), into = floats(image);
  from.rank = into.rank = 4;
  from.axes = into.axes = "nchw";
  std::copy(std::begin(kShape), std::end(kShape), from.extents);
  std::copy(std::begin(kShape), std::end(kShape), into.extents);
  const stowage_scalar_map map = preprocessing();
  ASSERT_EQ(stowage_convert(&from, &into, &map), STOWAGE_OK) << stowage_last_error();
  options = make_options();
  ASSERT_EQ(stowage_options_set_known(options.get(), "image", &into), STOWAGE_OK)
      << stowage_last_error();
  image.assign(image.size(), 0);  // it was copied
  const SessionHandle session = session_of(plan_of(model, options));
  EXPECT_EQ(stowage_session_input_count(session.get()), 0u);
  std::vector<float> scores(5);
  const stowage_view out = floats(scores);
  ASSERT_EQ(stowage_session_run(session.get()), STOWAGE_OK);
  ASSERT_EQ(stowage_session_read_output(session.get(), 0, &out), STOWAGE_OK);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(scores[i], want[i], 1e-5);
  into.data = nullptr;
  EXPECT_EQ(stowage_options_set_known(options.get(), "image", &into), STOWAGE_USAGE);
}

TEST(CSessions, ComputeWhatTheLibraryDoesToTheBit) {
  std::vector<std::uint8_t> samples = picture(1);
  const std::vector<float> want = by_library(samples);
  // Handles are given back before they are needed.
  const SessionHandle session = session_of(plan_of(open("shapes.onnx")));
  EXPECT_EQ(by_c(session.get(), samples), want);

  stowage_port in = STOWAGE_PORT_INIT, out = STOWAGE_PORT_INIT;
  ASSERT_EQ(stowage_session_input_count(session.get()), 1u);
  ASSERT_EQ(stowage_session_output_count(session.get()), 1u);
  ASSERT_EQ(stowage_session_get_input(session.get(), 0, &in), STOWAGE_OK);
  ASSERT_EQ(stowage_session_get_output(session.get(), 0, &out), STOWAGE_OK);
  EXPECT_STREQ(in.name, "image");
  EXPECT_EQ(in.dtype, STOWAGE_F32);
  ASSERT_EQ(in.rank, 4);
  EXPECT_TRUE(std::equal(std::begin(kShape), std::end(kShape), in.extents));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(std::string(in.axes[i]), std::string(1, "nchw"[i]));
  EXPECT_EQ(in.data_format, STOWAGE_FORMAT_NCHW);
  EXPECT_STREQ(out.name, "prob");
  EXPECT_EQ(out.rank, 2);
  EXPECT_EQ(out.data_format, STOWAGE_FORMAT_NONE);
  std::size_t index = 9;
  ASSERT_EQ(stowage_session_find_input(session.get(), "image", &index), STOWAGE_OK);
  EXPECT_EQ(index, 0u);
  ASSERT_EQ(stowage_session_find_output(session.get(), "prob", &index), STOWAGE_OK);
  EXPECT_EQ(stowage_session_find_input(session.get(), "prob", &index), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_find_output(session.get(), "image", &index), STOWAGE_USAGE);

  // Rows with a distance, another order of axes, an output of another type.
  std::vector<std::uint8_t> padded(64 * 256);
  for (std::size_t row = 0; row < 64; ++row) {
    std::copy_n(samples.begin() + static_cast<std::ptrdiff_t>(row * 192), 192,
                padded.begin() + static_cast<std::ptrdiff_t>(row * 256));
  }
  const std::int64_t strides[] = {64 * 256, 256, 3, 1};
  stowage_view view = pixels(padded);
  view.layout = nullptr;
  view.rank = 4;
  view.extents[0] = 1;
  view.extents[1] = view.extents[2] = 64;
  view.extents[3] = 3;
  view.axes = "nhwc";
  view.byte_strides = strides;
  const stowage_scalar_map map = preprocessing();
  ASSERT_EQ(stowage_session_set_input(session.get(), 0, &view, &map), STOWAGE_OK)
      << stowage_last_error();
  ASSERT_EQ(stowage_session_run(session.get()), STOWAGE_OK);
  std::vector<float> scores(10);
  const std::int64_t far[] = {40, 8};
  stowage_view into = floats(scores);
  into.byte_strides = far;
  ASSERT_EQ(stowage_session_read_output(session.get(), 0, &into), STOWAGE_OK)
      << stowage_last_error();
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(scores[2 * i], want[i]);
    EXPECT_EQ(scores[2 * i + 1], 0);
  }
}

TEST(CSessions, RefuseWhatDoesNotFit) {
  const SessionHandle session = session_of(plan_of(open("shapes.onnx")));
  std::vector<float> scores(5), image(3 * 64 * 64);
  stowage_view out = floats(scores), in = floats(image);
  EXPECT_EQ(stowage_session_run(session.get()), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_read_output(session.get(), 0, &out), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_set_input(session.get(), 1, &in, nullptr), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_set_input(session.get(), std::size_t(-1), &in, nullptr), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_read_output(session.get(), 7, &out), STOWAGE_USAGE);
  stowage_scalar_map map = preprocessing();
  map.axis = "h";
  EXPECT_EQ(stowage_session_set_input(session.get(), 0, &in, &map), STOWAGE_USAGE);
  map = preprocessing();
  map.mean_count = 2;
  EXPECT_NE(stowage_session_set_input(session.get(), 0, &in, &map), STOWAGE_OK);
  stowage_view small = in;
  small.rank = 4;
  small.extents[0] = 1;
  small.extents[1] = 3;
  small.extents[2] = small.extents[3] = 32;
  EXPECT_EQ(stowage_session_set_input(session.get(), 0, &small, nullptr), STOWAGE_BAD_INPUT);
  stowage_view nothing = in;
  nothing.data = nullptr;
  EXPECT_EQ(stowage_session_set_input(session.get(), 0, &nothing, nullptr), STOWAGE_USAGE);
  ASSERT_EQ(stowage_session_set_input(session.get(), 0, &in, nullptr), STOWAGE_OK);
  ASSERT_EQ(stowage_session_run(session.get()), STOWAGE_OK);
  nothing = out;
  nothing.data = nullptr;
  EXPECT_EQ(stowage_session_read_output(session.get(), 0, &nothing), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_read_output(session.get(), 0, &out), STOWAGE_OK);
  stowage_port port = STOWAGE_PORT_INIT;
  stowage_port_format format = STOWAGE_PORT_FORMAT_INIT;
  EXPECT_EQ(stowage_session_get_input(session.get(), 1, &port), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_get_output(session.get(), 1, &port), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_get_input_format(session.get(), 1, &format), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_get_output_format(session.get(), 1, &format), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_unbind_input(session.get(), 1), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_unbind_output(session.get(), 1), STOWAGE_USAGE);
}

TEST(CSessions, BindMemoryInTheFormatOfThePort) {
  std::vector<std::uint8_t> samples = picture(2);
  const std::vector<float> want = by_library(samples);
  const SessionHandle session = session_of(plan_of(open("shapes.onnx")));
  stowage_port_format in = STOWAGE_PORT_FORMAT_INIT, out = STOWAGE_PORT_FORMAT_INIT;
  ASSERT_EQ(stowage_session_get_input_format(session.get(), 0, &in), STOWAGE_OK);
  ASSERT_EQ(stowage_session_get_output_format(session.get(), 0, &out), STOWAGE_OK);
  ASSERT_GE(in.bytes, 3 * 64 * 64 * sizeof(float));
  ASSERT_GE(out.bytes, 5 * sizeof(float));
  EXPECT_EQ(in.row_pitch, 1);
  const auto aligned = [](const stowage_port_format& format) {
    const std::size_t size = (format.bytes + format.alignment - 1) / format.alignment;
    return std::unique_ptr<void, decltype(&std::free)>(
        std::aligned_alloc(format.alignment, size * format.alignment), std::free);
  };
  const auto image = aligned(in), scores = aligned(out);
  std::memset(image.get(), 0, in.bytes);
  stowage_view from = pixels(samples), into = STOWAGE_VIEW_INIT, result = STOWAGE_VIEW_INIT;
  into.data = image.get();
  into.dtype = in.dtype;
  into.layout = in.layout;
  result.data = scores.get();
  result.dtype = out.dtype;
  result.layout = out.layout;
  ASSERT_EQ(stowage_session_bind_input(session.get(), 0, &into, in.bytes), STOWAGE_OK)
      << stowage_last_error();
  ASSERT_EQ(stowage_session_bind_output(session.get(), 0, &result, out.bytes), STOWAGE_OK)
      << stowage_last_error();
  from.rank = into.rank = 4;
  from.axes = into.axes = "nchw";
  std::copy(std::begin(kShape), std::end(kShape), from.extents);
  std::copy(std::begin(kShape), std::end(kShape), into.extents);
  const stowage_scalar_map map = preprocessing();
  ASSERT_EQ(stowage_convert(&from, &into, &map), STOWAGE_OK) << stowage_last_error();
  ASSERT_EQ(stowage_session_run(session.get()), STOWAGE_OK) << stowage_last_error();
  std::vector<float> read(5);
  const stowage_view plain = floats(read);
  ASSERT_EQ(stowage_session_read_output(session.get(), 0, &plain), STOWAGE_OK);
  EXPECT_EQ(read, want);
  if (std::string(out.layout) == "a b") {
    EXPECT_EQ(std::memcmp(scores.get(), want.data(), 5 * sizeof(float)), 0);
  }

  EXPECT_EQ(stowage_session_bind_input(session.get(), 0, &into, in.bytes - 1), STOWAGE_USAGE);
  stowage_view off = into;
  off.data = static_cast<char*>(into.data) + 4;
  EXPECT_EQ(stowage_session_bind_input(session.get(), 0, &off, in.bytes), STOWAGE_USAGE);
  off = into;
  off.layout = "CNHW";
  EXPECT_EQ(stowage_session_bind_input(session.get(), 0, &off, in.bytes), STOWAGE_USAGE);
  EXPECT_EQ(stowage_session_bind_output(session.get(), 0, &result, 1), STOWAGE_USAGE);
  ASSERT_EQ(stowage_session_unbind_output(session.get(), 0), STOWAGE_OK);
  ASSERT_EQ(stowage_session_unbind_input(session.get(), 0), STOWAGE_OK);
  EXPECT_EQ(stowage_session_run(session.get()), STOWAGE_USAGE);
}

TEST(CSessions, MeasureSteps) {
  const PlanHandle plan = plan_of(open("shapes.onnx"));
  const SessionHandle session = session_of(plan);
  std::vector<std::uint8_t> samples = picture(4);
  std::size_t count = 9;
  ASSERT_EQ(stowage_session_step_us(session.get(), nullptr, 0, &count), STOWAGE_OK);
  EXPECT_EQ(count, 0u);
  ASSERT_EQ(stowage_session_profile(session.get(), 1), STOWAGE_OK);
  by_c(session.get(), samples);
  ASSERT_EQ(stowage_session_step_us(session.get(), nullptr, 0, &count), STOWAGE_OK);
  ASSERT_EQ(count, stowage_plan_step_count(plan.get()));
  std::vector<double> us(count + 1, -1);
  ASSERT_EQ(stowage_session_step_us(session.get(), us.data(), count, &count), STOWAGE_OK);
  for (std::size_t i = 0; i < count; ++i) EXPECT_GE(us[i], 0) << i;
  EXPECT_EQ(us[count], -1);
  us.assign(us.size(), -1);
  ASSERT_EQ(stowage_session_step_us(session.get(), us.data(), 1, &count), STOWAGE_OK);
  EXPECT_EQ(us[1], -1);
  EXPECT_EQ(stowage_session_step_us(session.get(), nullptr, 1, &count), STOWAGE_USAGE);
}

TEST(CSessions, OfOnePlanRunAtOnce) {
  const OptionsHandle options = make_options();
  ASSERT_EQ(stowage_options_set_threads(options.get(), 2), STOWAGE_OK);
  const PlanHandle plan = plan_of(open("shapes.onnx"), options);
  std::vector<std::vector<float>> want, got(3);
  for (int i = 0; i < 3; ++i) {
    std::vector<std::uint8_t> samples = picture(i);
    want.push_back(by_library(samples, 2));
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      const SessionHandle session = session_of(plan);
      std::vector<std::uint8_t> samples = picture(i);
      for (int run = 0; run < 5; ++run) {
        got[static_cast<std::size_t>(i)] = by_c(session.get(), samples);
      }
      stowage_port port = STOWAGE_PORT_INIT;
      EXPECT_EQ(stowage_session_get_input(session.get(), 10 + static_cast<std::size_t>(i), &port),
                STOWAGE_USAGE);
      EXPECT_EQ(stowage_last_error(), "there is no input 1" + std::to_string(i) + "; there are 1");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace stowage
