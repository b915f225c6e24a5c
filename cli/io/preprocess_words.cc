// SPDX-License-Identifier: Apache-2.0
#include "cli/io/preprocess_words.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace stowage::cli {
namespace {

struct Named {
  std::string_view name;
  PreprocessWords words;
};

/// docs/cli.md has the same table.
const Named kNamed[] = {
    // What torchvision's weights of ImageNet come with: Resize(256), CenterCrop(224), Normalize.
    {"imagenet",
     {"shorter=256/224", "bilinear-antialias", "", "123.675,116.28,103.53",
      "1/58.395,1/57.12,1/57.375", ""}},
    // load_img(target_size) and preprocess_input of Keras, by its modes.
    {"keras-tf", {"stretch", "nearest", "", "127.5", "1/127.5", ""}},
    {"keras-caffe", {"stretch", "nearest", "", "103.939,116.779,123.68", "1", "bgr"}},
    {"keras-torch",
     {"stretch", "nearest", "", "123.675,116.28,103.53", "1/58.395,1/57.12,1/57.375", ""}},
};

template <class T>
struct Word {
  std::string_view word;
  T value;
};

template <class T, std::size_t N>
T parse_word(std::string_view option, std::string_view word, const Word<T> (&words)[N]) {
  std::string known;
  for (const Word<T>& w : words) {
    if (w.word == word) return w.value;
    known += text(known.empty() ? "" : ", ", w.word);
  }
  fail(ErrorCode::usage, option, " '", word, "' is unknown; choose one of ", known);
}

/// The numbers of a text such as "256" or "256/224", from 1 up to the longest side; none when it is
/// something else.
std::vector<int> sides(std::string_view text, std::string_view separators) {
  std::vector<int> out;
  while (true) {
    int side = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), side);
    if (problem != std::errc() || side < 1 || side > kMaxSide) return {};
    out.push_back(side);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return out;
    if (separators.find(text.front()) == std::string_view::npos) return {};
    text.remove_prefix(1);
  }
}

void parse_resize(std::string_view word, Preprocess& how) {
  constexpr std::string_view kShorter = "shorter=";
  if (!word.starts_with("shorter")) {
    constexpr Word<ResizeFit> words[] = {{"stretch", ResizeFit::stretch},
                                         {"letterbox", ResizeFit::letterbox},
                                         {"shorter=N", ResizeFit::shorter},
                                         {"none", ResizeFit::none}};
    how.fit = parse_word("--resize", word, words);
    return;
  }
  const std::vector<int> list = sides(word.substr(std::min(kShorter.size(), word.size())), "/");
  if (!word.starts_with(kShorter) || list.empty() || list.size() > 2) {
    fail(ErrorCode::usage, "--resize '", word,
         "' names no size; write shorter=256, or shorter=256/224 for 256 of the shorter side where "
         "the model takes 224");
  }
  how.fit = ResizeFit::shorter;
  how.shorter = list[0];
  how.shorter_of = list.size() == 2 ? list[1] : 0;
}

ResizeFilter parse_resize_mode(std::string_view word) {
  constexpr Word<ResizeFilter> words[] = {{"nearest", ResizeFilter::nearest},
                                          {"bilinear", ResizeFilter::bilinear},
                                          {"bicubic", ResizeFilter::bicubic},
                                          {"bilinear-antialias", ResizeFilter::bilinear_antialias},
                                          {"bicubic-antialias", ResizeFilter::bicubic_antialias}};
  return parse_word("--resize-mode", word, words);
}

PictureSize parse_crop(std::string_view word) {
  const std::vector<int> list = sides(word, "x");
  if (list.empty() || list.size() > 2) {
    fail(ErrorCode::usage, "--crop '", word, "' is no size; write 224, or WIDTHxHEIGHT as 320x240");
  }
  return {list.front(), list.back()};
}

PixelOrder parse_pixel_order(std::string_view word) {
  constexpr Word<PixelOrder> words[] = {
      {"rgb", PixelOrder::rgb}, {"bgr", PixelOrder::bgr}, {"gray", PixelOrder::gray}};
  return parse_word("--pixel", word, words);
}

}  // namespace

const PreprocessWords* preprocess_named(std::string_view name) {
  for (const Named& named : kNamed) {
    if (named.name == name) return &named.words;
  }
  return nullptr;
}

std::string preprocess_names() {
  std::string all;
  for (const Named& named : kNamed) all += text(all.empty() ? "" : ", ", named.name);
  return all;
}

Preprocess parse_preprocess(const PreprocessWords& words, const PreprocessWords& usual) {
  Preprocess how;
  const auto said = [](const std::string& word, const std::string& other) -> const std::string& {
    return word.empty() ? other : word;
  };
  const std::string& resize = said(words.resize, usual.resize);
  const std::string& mode = said(words.resize_mode, usual.resize_mode);
  const std::string& crop = said(words.crop, usual.crop);
  const std::string& mean = said(words.mean, usual.mean);
  const std::string& norm = said(words.norm, usual.norm);
  const std::string& pixel = said(words.pixel, usual.pixel);
  if (!resize.empty()) parse_resize(resize, how);
  if (!mode.empty()) how.filter = parse_resize_mode(mode);
  if (!crop.empty()) how.crop = parse_crop(crop);
  if (!mean.empty()) how.mean = parse_reals("--mean", mean);
  if (!norm.empty()) how.norm = parse_reals("--norm", norm);
  if (!pixel.empty()) how.pixel = parse_pixel_order(pixel);
  const bool cuts = how.fit == ResizeFit::shorter || how.fit == ResizeFit::none;
  if (how.crop.has_value() && !cuts) {
    fail(ErrorCode::usage, "--crop '", crop, "' cuts nothing off what --resize ",
         resize.empty() ? "stretch" : resize,
         " makes, which has the model's size; use it with --resize shorter=N or none");
  }
  return how;
}

std::vector<float> parse_reals(std::string_view option, std::string_view list) {
  std::string_view rest = list;
  if (rest.size() >= 2 && rest.front() == '[' && rest.back() == ']') {
    rest = rest.substr(1, rest.size() - 2);
  }
  const auto refuse = [&]() {
    fail(ErrorCode::usage, option, " '", list,
         "' is no list of numbers; write 0.5 or 104,117,123 or 1/255");
  };
  const auto number = [&] {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    float value = 0;
    const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (problem != std::errc()) refuse();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return value;
  };
  std::vector<float> out;
  while (true) {
    float value = number();
    if (!rest.empty() && rest.front() == '/') {
      rest.remove_prefix(1);
      value /= number();
    }
    if (!std::isfinite(value)) refuse();
    out.push_back(value);
    if (rest.empty()) return out;
    if (rest.front() != ',') refuse();
    rest.remove_prefix(1);
  }
}

}  // namespace stowage::cli
