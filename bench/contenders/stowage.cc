// SPDX-License-Identifier: Apache-2.0
// bench_contender MODEL THREADS FILE=SHAPE...: a session that obeys lines on its standard input, as
// the contenders of engines.py do.
//   run SECONDS    runs for so long, at least five times; answers the milliseconds of each run
//   output FILE    writes the outputs of the last run as f32, one after the other
// A FILE has the elements of one input, row-major; its shape is written 1x224x224x3.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "stowage/convert.h"
#include "stowage/inspect.h"
#include "stowage/model.h"

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class Contender {
 public:
  struct Input {
    std::string file;
    std::vector<std::int64_t> shape;
  };

  Contender(const std::string& model, int threads, const std::vector<Input>& inputs)
      : session_(make(model, threads, inputs)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const stowage::Port& port = session_.inputs()[i];
      inputs_.emplace_back(port.dtype, port.shape);
      std::ifstream(inputs[i].file, std::ios::binary)
          .read(reinterpret_cast<char*>(inputs_.back().data()),
                static_cast<std::streamsize>(inputs_.back().bytes()));
    }
    for (const stowage::Port& port : session_.outputs())
      outputs_.emplace_back(port.dtype, port.shape);
  }

  void once() {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      session_.set_input(static_cast<int>(i), inputs_[i].view());
    }
    session_.run();
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      session_.read_output(static_cast<int>(i), outputs_[i].mutable_view());
    }
  }

  void run(double seconds) {
    const Clock::time_point begin = Clock::now();
    std::string times;
    for (int runs = 0; runs < 5 || ms_since(begin) < seconds * 1e3; ++runs) {
      const Clock::time_point start = Clock::now();
      once();
      times += (runs == 0 ? "[" : ", ") + std::to_string(ms_since(start));
    }
    std::cout << times << "]" << std::endl;
  }

  void write(const std::string& path) {
    std::ofstream file(path, std::ios::binary);
    for (const stowage::Tensor& output : outputs_) {
      const stowage::Tensor floats = stowage::convert(output, stowage::DType::f32, output.layout());
      file.write(reinterpret_cast<const char*>(floats.data()),
                 static_cast<std::streamsize>(floats.bytes()));
    }
    file.close();
    std::cout << "\"written\"" << std::endl;
  }

 private:
  static stowage::Session make(const std::string& path, int threads,
                               const std::vector<Input>& inputs) {
    stowage::ImportOptions shapes;
    const stowage::ModelInfo info = stowage::inspect_model(path);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      shapes.shapes[info.inputs.at(i).name] = inputs[i].shape;
    }
    stowage::PlanOptions options;
    options.threads = threads;
    return stowage::Session(stowage::make_plan(stowage::import_model(path, shapes), options));
  }

  stowage::Session session_;
  std::vector<stowage::Tensor> inputs_, outputs_;
};

Contender::Input input_of(const std::string& argument) {
  const std::size_t equals = argument.rfind('=');
  Contender::Input input{argument.substr(0, equals), {}};
  std::istringstream extents(equals == std::string::npos ? "" : argument.substr(equals + 1));
  for (std::string extent; std::getline(extents, extent, 'x');) {
    input.shape.push_back(std::atoll(extent.c_str()));
  }
  return input;
}

int serve(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: bench_contender MODEL THREADS FILE=SHAPE...\n";
    return 2;
  }
  std::vector<Contender::Input> inputs;
  std::transform(argv + 3, argv + argc, std::back_inserter(inputs), input_of);
  Contender contender(argv[1], std::atoi(argv[2]), inputs);
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb, rest;
    words >> verb >> rest;
    if (verb == "run") {
      contender.run(std::atof(rest.c_str()));
    } else if (verb == "output") {
      contender.write(rest);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return serve(argc, argv);
  } catch (const std::exception& problem) {
    std::cerr << problem.what() << "\n";
    return 1;
  }
}
