// SPDX-License-Identifier: Apache-2.0
// bench_contender MODEL THREADS INPUT...: a session that obeys lines on its standard input, as the
// contenders of engines.py do.
//   run SECONDS    runs for so long, at least five times; answers the milliseconds of each run
//   output FILE    writes the outputs of the last run, one after the other
// An INPUT is a file with the elements of one input, row-major.
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "stowage/model.h"

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

class Contender {
 public:
  Contender(const std::string& model, int threads, const std::vector<std::string>& files)
      : session_(make(model, threads)) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const stowage::Port& port = session_.inputs()[i];
      inputs_.emplace_back(port.dtype, port.shape);
      std::ifstream(files[i], std::ios::binary)
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
    for (stowage::Tensor& output : outputs_) {
      const auto bytes = output.as<float>();
      file.write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size_bytes()));
    }
    file.close();
    std::cout << "\"written\"" << std::endl;
  }

 private:
  static stowage::Session make(const std::string& model, int threads) {
    stowage::PlanOptions options;
    options.threads = threads;
    return stowage::Session(stowage::make_plan(stowage::import_model(model), options));
  }

  stowage::Session session_;
  std::vector<stowage::Tensor> inputs_, outputs_;
};

int serve(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: bench_contender MODEL THREADS INPUT...\n";
    return 2;
  }
  Contender contender(argv[1], std::atoi(argv[2]), {argv + 3, argv + argc});
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
