// SPDX-License-Identifier: Apache-2.0
#include "cli/io/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>

#include "base/text.h"
#include "cli/io/file.h"

namespace stowage::cli {
namespace {

/// Builds the tree from events, so that every bound holds while the file is being read.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& file) : file_(file) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) refuse(mark, "a second document begins; keep one in a file");
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    if (wants_key()) refuse(mark, "a key is missing");
    add(mark, YamlNode::Kind::null);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "aliases are not understood; write the value out");
  }

  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    if (value.find('\0') != std::string::npos) refuse(mark, "a value holds a zero byte");
    if (!wants_key()) {
      add(mark, YamlNode::Kind::scalar).text = value;
      return;
    }
    const std::vector<YamlNode>& members = stack_.back()->items;
    if (std::any_of(members.begin(), members.end(),
                    [&](const YamlNode& member) { return member.key == value; })) {
      refuse(mark, text("the key '", value, "' stands there twice"));
    }
    key_ = value;
    key_line_ = mark.line + 1;
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, YamlNode::Kind::list);
  }

  void OnSequenceEnd() override { stack_.pop_back(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, YamlNode::Kind::map);
  }

  void OnMapEnd() override { stack_.pop_back(); }

 private:
  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& why) const {
    fail(ErrorCode::bad_input, file_, ":", mark.line + 1, ": ", why);
  }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) refuse(mark, "anchors are not understood; write the value out");
  }

  bool wants_key() const {
    return !stack_.empty() && stack_.back()->kind == YamlNode::Kind::map && !key_.has_value();
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind) {
    refuse_anchor(mark, anchor);
    if (wants_key()) refuse(mark, "a key must be a word");
    if (stack_.size() >= kMaxYamlDepth) {
      refuse(mark, text("lists and maps are nested deeper than ", kMaxYamlDepth));
    }
    stack_.push_back(&add(mark, kind));
  }

  YamlNode& add(const YAML::Mark& mark, YamlNode::Kind kind) {
    if (++nodes_ > kMaxYamlNodes)
      refuse(mark, text("there are more than ", kMaxYamlNodes, " values"));
    // Those on the stack stay where they are: only the innermost list grows.
    YamlNode& node = stack_.empty() ? root_ : stack_.back()->items.emplace_back();
    node.kind = kind;
    node.line = key_.has_value() ? key_line_ : mark.line + 1;
    if (key_.has_value()) node.key = *std::move(key_);
    key_.reset();
    return node;
  }

  const std::string& file_;
  YamlNode root_;
  std::vector<YamlNode*> stack_;
  std::optional<std::string> key_;
  int key_line_ = 0, documents_ = 0, nodes_ = 0;
};

/// What the parser says, with what to do about it.
std::string told(const std::string& message, std::string_view line) {
  const std::string_view blanks = line.substr(0, line.find_first_not_of(" \t"));
  if (blanks.find('\t') != blanks.npos) return "indent by spaces, not by tabs";
  if (message == YAML::ErrorMsg::MAP_VALUE) {
    return "a ':' stands where no key can be; indent the lines of a list or a map alike, and quote "
           "a value that holds ': '";
  }
  return message;
}

/// Line `number`, from 0 on.
std::string_view line_of(std::string_view all, int number) {
  for (; number > 0 && !all.empty(); --number) {
    all.remove_prefix(std::min(all.find('\n'), all.size() - 1) + 1);
  }
  return all.substr(0, all.find('\n'));
}

/// No text has such bytes: a model, a picture.
bool is_binary(std::span<const std::byte> bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](std::byte b) {
    const int c = std::to_integer<int>(b);
    return c < ' ' && c != '\n' && c != '\r' && c != '\t';
  });
}

}  // namespace

YamlNode read_yaml(const std::string& file) {
  const std::vector<std::byte> bytes = read_file(file, kMaxYamlBytes);
  if (is_binary(bytes)) fail(ErrorCode::bad_input, file, ":1: this is no text, so no YAML");
  const std::string all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::istringstream in(all);
  Builder builder(file);
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const int line = std::max(error.mark.line, 0);
    fail(ErrorCode::bad_input, file, ":", line + 1, ": ", told(error.msg, line_of(all, line)));
  }
  return builder.take();
}

}  // namespace stowage::cli
