// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/yaml_tree.hpp"

#include <istream>
#include <map>
#include <memory>
#include <streambuf>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "models/base/require.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

/// Thrown through yaml-cpp to leave a document that broke a limit.
struct GaveUp {};

/// Where parsed text sits in the user's world.
struct Origin {
  std::shared_ptr<const std::string> file;
  int first_line = 1;
  int first_column = 1;

  /// yaml-cpp counts from 0.
  [[nodiscard]] Mark at(const YAML::Mark& mark) const {
    if (mark.is_null()) return {file, first_line, first_column};
    return {file, mark.line + first_line, mark.column + (mark.line == 0 ? first_column : 1)};
  }
};

/// Builds the tree from parse events and enforces the limits while doing so.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const Origin& origin, const YamlLimits& limits, Diagnostics& diagnostics)
      : origin_(origin), limits_(limits), diagnostics_(diagnostics) {}

  [[nodiscard]] YamlNode take_root() { return std::move(root_); }
  /// Offset of the last scalar's first byte.
  [[nodiscard]] std::size_t last_scalar() const { return last_scalar_; }

  void OnDocumentStart(const YAML::Mark& mark) override { root_.mark = origin_.at(mark); }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    YamlNode node;
    node.mark = origin_.at(mark);
    accept(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    refuse(mark,
           "aliases (*name) are not supported; repeat the value, or put what is shared into "
           "another file and name it with extends:");
    YamlNode node;
    node.refused = true;
    node.mark = origin_.at(mark);
    accept(std::move(node));
  }

  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    refuse(mark, fmt::format("anchors (&{}) are not supported; put what is shared into another "
                             "file and name it with extends:",
                             printable_key(name)));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    const bool legal_tag = check_tag(mark, tag);
    last_scalar_ = static_cast<std::size_t>(mark.pos);
    if (value.size() > limits_.string_bytes)
      give_up(mark,
              fmt::format("text of {} bytes; the limit is {}", value.size(), limits_.string_bytes));
    const bool shown = check_shown(mark, value);
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.text = value;
    node.quoted = tag == "!";
    node.refused = !legal_tag || !shown;
    node.mark = origin_.at(mark);
    accept(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, YamlNode::Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, tag, YamlNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  /// A collection being filled. In a map, `key` waits for its value.
  struct Frame {
    YamlNode node;
    std::optional<YamlNode> key;
    std::map<std::string, int, std::less<>> keys;  ///< with the line they stand in
  };

  void refuse(const YAML::Mark& mark, std::string message) {
    diagnostics_.add(origin_.at(mark), path(), std::move(message));
  }

  [[noreturn]] void give_up(const YAML::Mark& mark, std::string message) {
    refuse(mark, std::move(message));
    throw GaveUp{};
  }

  /// What an escape such as "\\e" stands for; lines of a text are for its reader to judge.
  bool check_shown(const YAML::Mark& mark, const std::string& value) {
    const auto acting = find_acting(value, "\t\n\r");
    if (acting) refuse(mark, in_quotes(value) + " " + acting_refusal(*acting));
    return !acting;
  }

  bool check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return true;
    refuse(mark, fmt::format("tags ({}) are not supported; leave it out", in_quotes(tag)));
    return false;
  }

  void count_node(const Mark& mark) {
    if (++nodes_ <= limits_.nodes) return;
    diagnostics_.add(
        mark, path(),
        fmt::format("more than {} values; that is the limit of one file", limits_.nodes));
    throw GaveUp{};
  }

  void open(const YAML::Mark& mark, const std::string& tag, YamlNode::Kind kind) {
    const bool legal_tag = check_tag(mark, tag);
    if (stack_.size() >= limits_.nesting)
      give_up(mark, fmt::format("nested deeper than {} levels", limits_.nesting));
    count_node(origin_.at(mark));
    Frame frame;
    frame.node.kind = kind;
    frame.node.refused = !legal_tag;
    frame.node.mark = origin_.at(mark);
    stack_.push_back(std::move(frame));
  }

  void close() {
    FORETRAIN_REQUIRE(!stack_.empty());
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    place(std::move(node));
  }

  void accept(YamlNode node) {
    count_node(node.mark);
    place(std::move(node));
  }

  void place(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == YamlNode::Kind::sequence) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.key) {
      frame.key = std::move(node);
    } else {
      const YamlNode key = std::move(*frame.key);
      frame.key.reset();
      add_entry(frame, key, std::move(node));
    }
  }

  void add_entry(Frame& frame, const YamlNode& key, YamlNode value) {
    if (!key.is_scalar()) {
      diagnostics_.add(key.mark, path(), "a key must be a plain name");
      return;
    }
    if (key.refused) return;
    const auto [first, is_new] = frame.keys.emplace(key.text, key.mark.line);
    // yaml-cpp places a missing value at the token after it.
    if (value.is_null() && !value.refused) value.mark = key.mark;
    if (is_new)
      frame.node.entries.push_back({key.text, key.mark, std::move(value)});
    else
      diagnostics_.add(key.mark, path(),
                       fmt::format("duplicate key {}; it stands in line {} already",
                                   in_quotes(key.text), first->second));
  }

  /// Key path of what is being read, for messages.
  [[nodiscard]] std::string path() const {
    std::string result;
    for (const Frame& frame : stack_) {
      if (frame.node.is_sequence())
        result += fmt::format("[{}]", frame.node.items.size());
      else if (frame.key && frame.key->is_scalar())
        result += (result.empty() ? "" : ".") + printable_key(frame.key->text);
    }
    return result;
  }

  const Origin& origin_;
  const YamlLimits& limits_;
  Diagnostics& diagnostics_;
  YamlNode root_;
  std::vector<Frame> stack_;
  std::size_t nodes_ = 0;
  std::size_t last_scalar_ = 0;
};

/// Reads from a string_view without copying it.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    // The get area of a streambuf is not const; nothing writes through it here.
    char* begin = const_cast<char*>(text.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    setg(begin, begin, begin + text.size());
  }
};

/// The mark of a byte offset.
Mark place_of(std::string_view text, std::size_t offset, const Origin& origin) {
  YAML::Mark mark;
  for (const char c : text.substr(0, offset)) {
    mark.column = c == '\n' ? 0 : mark.column + 1;
    if (c == '\n') ++mark.line;
  }
  return origin.at(mark);
}

/// Whether a quoted scalar starts at `start` and never ends. yaml-cpp 0.7 takes the end of the file
/// for its closing quote when a line end stands before it.
bool is_unclosed_quote(std::string_view text, std::size_t start) {
  if (start >= text.size() || (text[start] != '"' && text[start] != '\'')) return false;
  const char quote = text[start];
  for (std::size_t at = start + 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote) {
      const bool escaped = quote == '\'' && at + 1 < text.size() && text[at + 1] == quote;
      if (!escaped) return false;
      ++at;
    }
  }
  return true;
}

/// What a parser message means for the person who wrote the file.
std::string explained(const std::string& message) {
  const std::map<std::string, std::string> explanations = {
      {YAML::ErrorMsg::END_OF_MAP, "the indentation of this line fits no group above it"},
      {YAML::ErrorMsg::END_OF_SEQ, "the indentation of this line fits no list above it"},
      {YAML::ErrorMsg::END_OF_MAP_FLOW, "a comma or a closing } is missing before this place"},
      {YAML::ErrorMsg::END_OF_SEQ_FLOW, "a comma or a closing ] is missing before this place"},
      {YAML::ErrorMsg::FLOW_END, "this closing bracket was never opened"},
      {YAML::ErrorMsg::MAP_VALUE,
       "no key can stand here; check the indentation, and put texts with "
       "a colon in quotes"},
      {YAML::ErrorMsg::BLOCK_ENTRY, "no list entry can stand here; check the indentation"},
      {YAML::ErrorMsg::UNKNOWN_ANCHOR, "this alias names nothing, and aliases are not supported"},
      {YAML::ErrorMsg::BAD_FILE, "nested too deeply to read"},
      {YAML::ErrorMsg::UNKNOWN_TOKEN, "no value can start with this character; put it in quotes"},
  };
  const auto found = explanations.find(message);
  std::string text = found == explanations.end() ? message : found->second;
  // The parser names the offending character; past the last one that is a control character.
  if (!text.empty() && static_cast<unsigned char>(text.back()) < 0x20)
    text.replace(text.size() - 1, 1, "the end of the text");
  return "not YAML: " + text;
}

/// Whether the line holds a tab before its first text; `number` counts from 0.
bool is_indented_by_tab(std::string_view text, int number) {
  std::size_t start = 0;
  for (int line = 0; line < number && start != std::string_view::npos; ++line) {
    const auto end = text.find('\n', start);
    start = end == std::string_view::npos ? end : end + 1;
  }
  if (start == std::string_view::npos) return false;
  const auto first = text.find_first_not_of(" \t", start);
  return text.substr(start, first - start).find('\t') != std::string_view::npos;
}

/// The document, as long as parsing and limits let it come to its end.
std::optional<YamlNode> build_tree(std::string_view text, const Origin& origin,
                                   const YamlLimits& limits, Diagnostics& diagnostics) {
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  TreeBuilder builder(origin, limits, diagnostics);
  YAML::Parser parser(stream);
  if (!parser.HandleNextDocument(builder)) {
    diagnostics.add({origin.file, origin.first_line, origin.first_column}, {},
                    "the document is empty");
    return std::nullopt;
  }
  YamlNode root = builder.take_root();
  if (is_unclosed_quote(text, builder.last_scalar())) {
    diagnostics.add(place_of(text, builder.last_scalar(), origin), {},
                    "not YAML: the closing quote is missing");
    return std::nullopt;
  }
  TreeBuilder second(origin, limits, diagnostics);
  if (parser.HandleNextDocument(second))
    diagnostics.add(second.take_root().mark, {},
                    "a second document starts here; one file holds one document");
  return root;
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const YamlEntry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

std::optional<YamlNode> parse_yaml(std::string_view text, const std::string& name,
                                   const YamlLimits& limits, Diagnostics& diagnostics,
                                   TextStart start) {
  const Origin origin{std::make_shared<const std::string>(name), start.line, start.column};
  if (text.size() > limits.file_bytes) {
    diagnostics.add(
        {origin.file, 0, 0}, {},
        fmt::format("file of {} bytes; the limit is {}", text.size(), limits.file_bytes));
    return std::nullopt;
  }
  if (!check_encoding(text, {origin.file, start.line, start.column}, diagnostics))
    return std::nullopt;
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);  // byte order mark
  try {
    return build_tree(text, origin, limits, diagnostics);
  } catch (const GaveUp&) {
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    diagnostics.add(origin.at(error.mark), {},
                    is_indented_by_tab(text, error.mark.line)
                        ? "not YAML: this line is indented by a tab; use blanks"
                        : explained(error.msg));
    return std::nullopt;
  }
}

}  // namespace foretrain
