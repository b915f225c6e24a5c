// SPDX-License-Identifier: Apache-2.0
// Slips of a user about pictures, labels and outputs, each with the sentence that names the cure.
#include "cli/test_cli.h"
#include "cli/test_deploy.h"
#include "cli/test_models.h"

namespace stowage::cli {
namespace {

using test::model;

/// Files that the slips are about.
void write_files(const TestFolder& folder) {
  folder.write("m.onnx", model("Relu", {{"x", {1, 3, 4, 4}}}, {"y", {1, 3, 4, 4}}));
  folder.write("open.onnx", model("Relu", {{"x", {1, 3, -1, -1}}}, {"y", {1, 3, -1, -1}}));
  folder.write("u8.onnx", model("Identity", {{"x", {1, 3, 4, 4}, 2}}, {"y", {1, 3, 4, 4}, 2}));
  folder.write("flat.onnx", model("Relu", {{"x", {1, 4}}}, {"y", {1, 4}}));
  folder.write("seg.onnx", model("Relu", {{"x", {1, 5, 2, 2}}}, {"y", {1, 5, 2, 2}}));
  folder.write("list.onnx", model("Relu", {{"x", {5}}}, {"y", {5}}));
  write_floats(folder, "flat.npy", {1, 4}, {0.1f, 0.2f, 0.3f, 0.4f});
  write_floats(folder, "list.npy", {5}, {0, 1, 2, 3, 4});
  write_floats(folder, "seg.npy", {1, 5, 2, 2}, std::vector<float>(20, 0.5f));
  write_floats(folder, "unit.npy", {1, 3, 4, 4}, std::vector<float>(48, 0.5f));
  write_floats(folder, "bytes.npy", {1, 3, 4, 4}, std::vector<float>(48, 200));
  Picture picture = new_picture(9, 6);
  std::fill(picture.pixels.begin(), picture.pixels.end(), std::uint8_t{200});
  OutputFile file(folder.path("p.png"));
  write_png(file, picture);
  file.commit();
  const std::string png = folder.read("p.png");
  folder.write("cut.png", png.substr(0, png.size() - 20));
  folder.write("p.webp", "RIFF\x24\x01\x01\x01WEBPVP8 ");
  folder.write("gif.png", "GIF89a\x01\x01\x01\x01\x01\x01");
  folder.write("page.jpg", "<!DOCTYPE html><html><body>not found</body></html>");
  folder.write("notes.txt", "hello");
  folder.write("empty.jpg", "");
  folder.write("three.txt", "a\nb\nc\n");
}

struct Slip {
  std::string command;  ///< words that end in .onnx, .npy and so on are files of the folder
  int code;
  const char* told;  ///< on the standard error
};

const Slip kSlips[] = {
    // Pictures that are none, or not whole.
    {"run m.onnx --image p.webp", 3, "p.webp' is a WebP picture; convert it to PNG or JPEG"},
    {"run m.onnx --input p.webp", 3, "p.webp' is a WebP picture; convert it to PNG or JPEG"},
    {"run m.onnx --image gif.png", 3, "gif.png' is a GIF picture; convert it to PNG or JPEG"},
    {"run m.onnx --image page.jpg", 3, "page.jpg' is a web page; download the picture itself"},
    {"run m.onnx --image notes.txt", 3, "this is no PNG, JPEG or BMP file"},
    {"run m.onnx --image empty.jpg", 3, "the file is empty"},
    {"run m.onnx --image cut.png", 3, "the PNG is damaged: the file is cut short"},
    // How they become inputs.
    {"run m.onnx --image p.png --preprocess ImageNet", 2,
     "--preprocess 'ImageNet' is unknown; choose one of imagenet, keras-tf"},
    {"run flat.onnx --input flat.npy --preprocess imagenet", 2,
     "--preprocess is about pictures, and no picture is given"},
    {"run flat.onnx --input flat.npy --crop 224", 2, "--crop '224' cuts nothing off"},
    {"run m.onnx --image p.png --resize 256", 2,
     "choose one of stretch, letterbox, shorter=N, none"},
    {"run m.onnx --image p.png --resize shorter", 2, "write shorter=256"},
    {"run m.onnx --image p.png --resize shorter=3", 3, "use --resize shorter=4"},
    {"run m.onnx --image p.png --resize none --crop 5", 2,
     "--crop makes a picture of 5 x 5 but the input wants 4 x 4"},
    {"run m.onnx --image p.png --resize none", 3, "or --crop 4x4"},
    {"run open.onnx --image p.png --resize none --crop 7", 3, "use --resize shorter=7"},
    {"run m.onnx --image p.png --resize-mode lanczos", 2, "bilinear-antialias"},
    // Numbers that do not go together.
    {"run m.onnx --image p.png --mean 0.485,0.456,0.406", 0,
     "warning: --mean 0.485,0.456,0.406 looks like one of samples from 0 to 1; it is subtracted "
     "from "
     "samples from 0 to 255, so perhaps --mean 123.675,116.28,103.53 is meant\n"},
    {"run m.onnx --image p.png --mean 127.5 --norm 0.229,0.224,0.225", 0,
     "looks like a standard deviation of samples from 0 to 1; it multiplies samples from 0 to 255, "
     "so perhaps --norm 0.0171248,0.017507,0.0174292 is meant\n"},
    {"run m.onnx --image p.png --norm 255", 0, "perhaps --norm 1/255 is meant"},
    {"run m.onnx --image p.png --norm 4.367,4.464,4.444", 0,
     "perhaps --norm 0.0171255,0.0175059,0.0174275 is meant"},
    {"run m.onnx --image p.png --mean 104,117,123", 0,
     "--mean 104,117,123 stands without --norm, which is 1/255 then"},
    {"run u8.onnx --image p.png --mean 127.5 --norm 1/127.5", 0,
     "the input is u8 and holds 0 to 255, but --mean and --norm make -1 to 1"},
    {"run m.onnx --input unit.npy --mean 123.675", 0,
     "--mean 123.675 looks like one of samples from 0 to 255, but"},
    {"run m.onnx --input bytes.npy --mean 0.5", 0,
     "--mean 0.5 looks like one of samples from 0 to 1, but"},
    // Labels.
    {"run flat.onnx --input flat.npy --top 2 --labels three.txt", 0,
     "three.txt' has 3 labels, but output 'y' has 4 classes; where class 0 is the background, "
     "every "
     "label is off by one\n"},
    {"run flat.onnx --input flat.npy --labels three.txt", 2, "--labels needs --top K or --argmax"},
    // Outputs.
    {"run seg.onnx --input seg.npy --output y.png", 2,
     "is no picture, which is like [1, 3, H, W], [1, H, W, 3] or [H, W]; --argmax writes the best "
     "class of each pixel, --channel K one channel, and a .npy file holds all"},
    {"run seg.onnx --input seg.npy --output y=y.png", 2, "--argmax writes the best class"},
    {"run seg.onnx --input seg.npy --output y.png --channel 5", 2, "has channels 0 to 4"},
    {"run seg.onnx --input seg.npy --output y.png --channel 1 --argmax", 2, "exclude each other"},
    {"run seg.onnx --input seg.npy --argmax", 2, "--argmax needs --output FILE.png"},
    {"run seg.onnx --input seg.npy --output-range 0..1", 2, "--output-range needs --output FILE"},
    {"run seg.onnx --input seg.npy --output y.png --argmax --output-range 0..1", 2,
     "--output-range is of pictures"},
    {"run list.onnx --input list.npy --output y.png", 2,
     "output 'y' of shape [5] is no picture, which is like [1, 3, H, W], [1, H, W, 3] or [H, W]; a "
     ".npy file holds it"},
    {"run seg.onnx --input seg.npy --output y.jpg", 2, "must end in .npy or .png"},
    {"run m.onnx --input unit.npy --output y.png --output-range 0..255", 0,
     "output 'y' holds 0.5 to 0.5, so with --output-range 0..255 the picture is nearly all black"},
    {"run m.onnx --input bytes.npy --output y.png --output-range 0..1", 0,
     "the picture is nearly all white"},
    // Comparisons.
    {"run list.onnx --input list.npy --rtol 1e-3", 2,
     "--rtol, --atol and --cosine need --expect FILE"},
    {"run list.onnx --input list.npy --expect p.png", 2, "is a picture; give a .npy or .pb file"},
    {"run list.onnx --input list.npy --expect z=list.npy", 2,
     "--expect names 'z', which is no output; the outputs are 'y'"},
    {"run list.onnx --input list.npy --expect flat.npy", 1, ""},
};

/// Names of files become paths in the folder.
std::vector<std::string> words_of(const std::string& command, const TestFolder& folder) {
  std::vector<std::string> words;
  std::istringstream in(command);
  for (std::string word; in >> word;) {
    const std::size_t name = word.find('=') == std::string::npos ? 0 : word.find('=') + 1;
    const std::string extension = extension_of(word);
    constexpr std::string_view kFiles[] = {"onnx", "npy", "png", "jpg", "webp", "txt"};
    if (std::find(std::begin(kFiles), std::end(kFiles), extension) != std::end(kFiles)) {
      word = word.substr(0, name) + folder.path(word.substr(name));
    }
    words.push_back(word);
  }
  return words;
}

TEST(Slips, OfPicturesLabelsAndOutputs) {
  const TestFolder folder;
  write_files(folder);
  for (const Slip& slip : kSlips) {
    const std::size_t files = folder.list().size();
    const Outcome outcome = stowage(words_of(slip.command, folder));
    EXPECT_EQ(outcome.code, slip.code) << slip.command << "\n" << outcome.err;
    EXPECT_TRUE(holds(outcome.err, slip.told)) << slip.command << "\n" << outcome.err;
    if (slip.code > 1) {
      EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
      EXPECT_EQ(folder.list().size(), files) << slip.command << ": something was left behind";
    }
  }
}

/// What is usual is not warned about.
TEST(Slips, NoneWhereAllIsWell) {
  const TestFolder folder;
  write_files(folder);
  folder.write("four.txt", "a\nb\nc\nd");
  for (const char* command : {
           "run m.onnx --image p.png",
           "run m.onnx --image p.png --mean 127.5 --norm 1/127.5",
           "run m.onnx --image p.png --mean 104,117,123 --norm 1 --pixel bgr",
           "run m.onnx --image p.png --mean 123.675,116.28,103.53 --norm 1/58.395,1/57.12,1/57.375",
           "run m.onnx --image p.png --preprocess imagenet",
           "run m.onnx --image p.png --preprocess keras-caffe",
           "run m.onnx --image p.png --preprocess keras-tf --output y.png",
           "run u8.onnx --image p.png",
           "run m.onnx --input unit.npy --mean 0.485,0.456,0.406 --norm 4.367,4.464,4.444",
           "run m.onnx --input bytes.npy --mean 127.5 --norm 1/127.5",
           "run flat.onnx --input flat.npy --top 2 --labels four.txt",
           "run open.onnx --image p.png --preprocess imagenet",
       }) {
    const Outcome outcome = stowage(words_of(command, folder));
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_EQ(outcome.err, "") << command;
  }
}

}  // namespace
}  // namespace stowage::cli
