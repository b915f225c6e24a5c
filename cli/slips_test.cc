// SPDX-License-Identifier: Apache-2.0
// Slips of a user: what people type who know other engines, and the words that name the cure.
#include "cli/slips.h"

#include "cli/test_cli.h"
#include "cli/test_models.h"

namespace stowage::cli {
namespace {

struct Slip {
  std::vector<std::string> arguments;  ///< {F} stands for the folder
  int code;
  const char* cure;
};

/// Files of the kinds that end up in place of a model.
void write_files(const TestFolder& folder) {
  using std::string_literals::operator""s;
  const std::string zip = "PK\3\4" + std::string(26, '\0');
  folder.write("m.onnx", test::image_model({"data", {-1, 3, 4, 5}}, {"prob", {-1, 3, 4, 5}}));
  folder.write("two.onnx", test::model("Add", {{"left", {2}}, {"right", {2}}}, {"sum", {2}}));
  folder.write("net.pth", zip + "archive/data.pkl");
  folder.write("torch.onnx", zip + "archive/data.pkl");
  folder.write("pickle.onnx", "\x80\2}q\1"s);
  folder.write("keras.h5", "\x89HDF\r\n\x1a\n");
  folder.write("keras.keras", zip + "metadata.json");
  folder.write("packed.tflite", zip + "mobilenet.tflite");
  folder.write("page.onnx", "\n<!DOCTYPE html>\n<html><title>Sign in</title></html>\n");
  folder.write("pointer.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  folder.write("empty.onnx", "");
  folder.write("array.onnx", "\x93NUMPY\1\0"s);
  folder.write("net.xml", "<?xml version=\"1.0\"?>\n<net/>\n");
  folder.write("net.json", "{\"nodes\": []}\n");
  folder.write("net.safetensors", "\x40\0\0\0\0\0\0\0{\"a\": {}}"s);
  folder.write("net.param",
               "7767517\n2 2\nInput in 0 1 in 0=4\nInnerProduct fc 1 1 in out 0=2 2=8\n");
  folder.write("other.bin", std::string(40, '\0'));
  folder.write("cut.param", "7767517\n");
  folder.write("app.yml",
               "models:\n  net:\n    model_file_path: m.onnx\n    runtmie: cpu\n"
               "    input_tensors: data\n    output_tensors: prob\n");
  folder.write("gone.yml",
               "models:\n  net:\n    model_file_path: gone.onnx\n"
               "    input_tensors: data\n    output_tensors: prob\n");
  folder.write("tabs.yml", "models:\n\tnet:\n");
  write_floats(folder, "a.npy", {60}, std::vector<float>(60, 1));
  write_floats(folder, "x.npy", {1, 3, 4, 5}, std::vector<float>(60, 1));
}

void expect_cures(const std::vector<Slip>& slips) {
  const TestFolder folder;
  write_files(folder);
  for (const Slip& slip : slips) {
    std::vector<std::string> words = slip.arguments;
    std::string line = "stowage";
    for (std::string& word : words) {
      const std::size_t at = word.find("{F}");
      if (at != std::string::npos) word.replace(at, 3, folder.root());
      line += " " + word;
    }
    SCOPED_TRACE(line);
    const Outcome outcome = stowage(words);
    EXPECT_EQ(outcome.code, slip.code) << outcome.out << outcome.err;
    EXPECT_NE(outcome.err.find(slip.cure), std::string::npos) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n') + 1, outcome.err.size()) << outcome.err;
  }
}

TEST(Slips, FilesThatAreNoModel) {
  expect_cures({
      {{"run", "{F}/net.pth"}, 4, "export it as ONNX"},
      {{"run", "{F}/torch.onnx"}, 4, "PyTorch checkpoint; export the model with torch.onnx.export"},
      {{"run", "{F}/pickle.onnx"}, 4, "torch.onnx.export"},
      {{"run", "{F}/keras.h5"}, 4, "export the model as TFLite or ONNX"},
      {{"info", "{F}/keras.keras"}, 4, "Keras model; export it as TFLite or ONNX"},
      {{"run", "{F}/packed.tflite"}, 3, "ZIP archive; unpack it"},
      {{"plan", "{F}/page.onnx"}, 3, "web page, perhaps one that leads to the model; download"},
      {{"run", "{F}/pointer.onnx"}, 3, "run 'git lfs pull'"},
      {{"run", "{F}/empty.onnx"}, 3, "empty.onnx' is empty"},
      {{"run", "{F}/array.onnx"}, 3, "a NumPy array, no model"},
      {{"run", "{F}/net.xml"}, 4, "export the model as ONNX"},
      {{"run", "{F}/net.json"}, 3, "it is text; a model is an .onnx, a .tflite or an ncnn .param"},
      {{"run", "{F}/net.safetensors"}, 4, "export the model as ONNX"},
      {{"run", "{F}"}, 3, "directory"},
      {{"run", "{F}/none.onnx"}, 3, "No such file"},
      {{"run", "{F}/other.bin"}, 4, "give the .param beside it"},
      {{"bench", "{F}/net.param"}, 3, "put that file there, or name another with --weights"},
      {{"bench", "{F}/cut.param"}, 3, "the file ends where"},
      {{"run", "{F}/app.yml"}, 2, "--deploy"},
      {{"run", "--deploy", "{F}/m.onnx"}, 3, "m.onnx:1: this is no text, so no YAML"},
  });
}

TEST(Slips, CommandsAndOptions) {
  expect_cures({
      {{}, 2, "choose one of run, info"},
      {{"benhc", "m.onnx"}, 2, "did you mean bench?"},
      {{"RUN", "m.onnx"}, 2, "did you mean run?"},
      {{"help"}, 2, "did you mean --help?"},
      {{"help", "run"}, 2, "'stowage run --help' tells"},
      {{"bench", "m.onnx", "--runs", "1", "--runs", "2"}, 2, "--runs is given twice"},
      {{"run", "m.onnx", "--input", "a=a.npy", "--input"}, 2, "--input needs a value"},
      {{"run", "m.onnx", "--image", "a", "--image", "b", "--image"}, 2, "--image needs a value"},
      {{"version"}, 2, "did you mean --version?"},
      {{"benchmark", "m.onnx"}, 2, "did you mean bench?"},
      {{"m.onnx"}, 2, "stowage run m.onnx"},
      {{"--graph=m.tflite"}, 2, "choose one of"},
      {{"run", "m.onnx", "--imge", "cat.png"}, 2, "did you mean --image?"},
      {{"run", "--imge", "cat.png", "m.onnx"}, 2, "did you mean --image?"},
      {{"run", "m.onnx", "--Image", "cat.png"}, 2, "did you mean --image?"},
      {{"run", "m.onnx", "--input_format", "NHWC"}, 2, "did you mean --input-format?"},
      {{"run", "m.onnx", "-threads", "4"}, 2, "did you mean --threads?"},
      {{"bench", "m.onnx", "--num_threads=4"}, 2, "it is --threads here"},
      {{"bench", "m.onnx", "--num-runs", "50"}, 2, "it is --runs here"},
      {{"bench", "m.onnx", "--loop_count", "50"}, 2, "it is --runs here"},
      {{"bench", "m.onnx", "-r", "50"}, 2, "it is --runs here"},
      {{"bench", "m.onnx", "--use_gpu=true"}, 2, "it is --device opencl here"},
      {{"bench", "m.onnx", "-e", "cuda"}, 2, "it is --device here"},
      {{"bench", "--graph=m.tflite"}, 2, "the model stands alone: stowage bench FILE"},
      {{"bench", "-m", "m.onnx"}, 2, "the model stands alone"},
      {{"bench", "--model", "m.onnx"}, 2, "the file of a model stands alone: stowage bench m.onnx"},
      {{"bench", "m.onnx", "--enable_op_profiling"}, 2, "it is --layers here"},
      {{"bench", "m.onnx", "--top", "5"}, 2, "run has one"},
      {{"run", "m.onnx", "--topk", "5"}, 2, "it is --top here"},
      {{"bench", "m.param", "8", "2", "0"}, 2, "'8' is too much: bench takes MODEL and options"},
      {{"run", "a.onnx", "b.onnx"}, 2, "'b.onnx' is too much"},
      {{"bench", "m.onnx", "--threads"}, 2, "--threads needs a value; --threads N[,N...]: Threads"},
      {{"bench", "m.onnx", "--threads", "all"}, 2, "'all' is no number; --threads N[,N...]"},
      {{"bench", "{F}/m.onnx", "--threads", "0"}, 2, "choose 1 to 256"},
      {{"bench", "m.onnx", "--runs", "0"}, 2, "choose 1 to"},
      {{"bench", "m.onnx", "--runs", "1e3"}, 2, "'1e3' is no number; --runs N"},
      {{"bench", "m.onnx", "--json=maybe"}, 2, "--json takes no value"},
      {{"bench", "m.onnx", "--device", "gpu"}, 2, "opencl[:N], through which GPUs are reached"},
      {{"bench", "m.onnx", "--device", "cuda:0"}, 2, "opencl[:N], through which GPUs are"},
      {{"bench", "m.onnx", "--device", "OpenCL"}, 2, "choose cpu or opencl[:N]"},
      {{"bench", "{F}/m.onnx", "--planner", "fast"}, 2, "choose optimal"},
      {{"bench", "m.onnx", "--data-type", "fp16"}, 2, "choose fp32 or fp16_fp32"},
      {{"bench", "m.onnx", "--precision", "fp16"}, 2, "it is --data-type here"},
      {{"--completion"}, 2, "--completion needs a value; --completion bash|zsh|fish"},
      {{"layout"}, 2, "give a LAYOUT, or --list"},
  });
}

TEST(Slips, ShapesAndFormats) {
  expect_cures({
      {{"bench", "{F}/two.onnx", "--shape", "2"}, 2, "'left', 'right'; write NAME=VALUE"},
      {{"bench", "{F}/m.onnx", "--shape", "dat=1,3,4,5"}, 2, "'data'; did you mean data?"},
      {{"bench", "{F}/m.onnx", "--shape", "data:1,3,4,5"}, 2, "or NAME=1,3,224,224"},
      {{"bench", "{F}/m.onnx", "--shape", "1", "3", "4", "5"}, 2, "'3' is too much"},
      {{"bench", "{F}/m.onnx", "--shape", "3,4,5"}, 2, "has rank 4"},
      {{"bench", "{F}/m.onnx", "--input-format", "NHCW"}, 2, "choose NCHW, NHWC or NONE"},
      {{"run", "{F}/m.onnx"}, 2, "--input"},
      {{"run", "{F}/m.onnx", "--input", "{F}/a.npy"}, 3, "input 'data' wants [?, 3, 4, 5]"},
      {{"run", "{F}/m.onnx", "--input", "{F}/x.npy", "--output", "{F}/no/y.npy"},
       3,
       "cannot write"},
      {{"layout", "nwhc", "--shape", "n=1,c=3,h=4,w=5"}, 2, "did you mean NHWC?"},
      {{"layout", "foo", "--shape", "n=1,c=3,h=4,w=5"}, 2, "docs/layouts.md lists the names"},
      {{"layout", "NCHWc"}, 2, "did you mean NCHW?"},
      {{"layout", "image-chanel"}, 2, "did you mean image-channel?"},
      {{"layout", "NCHW", "--shape", "1,3,4,5"}, 2, "n=1,c=3,h=4,w=5"},
      {{"layout", "NCHW", "--shape", "N=1,C=3"}, 2, "lower-case letters"},
      {{"layout", "NCHW", "--shape", "h=4,w=5"}, 2, "add n=1"},
      {{"layout", "OIHW", "--shape", "n=1,c=3,h=4,w=5"}, 2, "no place for dim 'c'"},
      {{"convert", "{F}/a.npy", "{F}/b.txt", "--from", "NCHW", "--to", "NHWC", "--shape",
        "n=1,c=3,h=4,w=5"},
       2,
       "must be a .npy file"},
      {{"convert", "{F}/a.npy", "{F}/b.npy", "--to", "NHWC", "--shape", "n=1,c=3,h=4,w=5"},
       2,
       "--from is required"},
      {{"convert", "{F}/a.npy", "{F}/b.npy", "--from", "nhwc", "--to", "NCHW", "--shape",
        "n=1,c=3,h=4,w=5"},
       2,
       "did you mean NHWC?"},
      {{"convert", "{F}/a.npy", "{F}/b.npy", "--from", "NCHW", "--to", "NHWC", "--shape",
        "n=1,c=3,h=4,w=5", "--dtype", "float32"},
       2,
       "there are f32, f16"},
  });
}

TEST(Slips, DeploymentFiles) {
  expect_cures({
      {{"run", "--deploy", "{F}/app.yml"},
       3,
       "app.yml:4: 'runtmie' is no key of a model; did you "
       "mean runtime?"},
      {{"run", "--deploy", "{F}/gone.yml"}, 3, "gone.yml:3: cannot read '"},
      {{"run", "--deploy", "{F}/gone.yml", "--model", "nte"}, 2, "did you mean net?"},
      {{"run", "--deploy", "{F}/net.json"}, 3, "net.json:1: 'nodes' is no key of a deployment"},
      {{"run", "--deploy", "{F}/tabs.yml"}, 3, "tabs.yml:2: indent by spaces, not by tabs"},
      {{"run", "--deploy", "{F}/app.yml", "{F}/m.onnx"}, 2, "the file names the model"},
  });
}

}  // namespace
}  // namespace stowage::cli
