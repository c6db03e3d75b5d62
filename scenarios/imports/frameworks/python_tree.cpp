// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/python_tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/imports/frameworks/override_tree.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_python_bytes = std::size_t{1} << 20;
constexpr int deepest_python = 64;
constexpr int most_calls = 1000;

struct PythonToken {
  enum class Kind { name, number, text, sign } kind = Kind::sign;
  std::string text;
  int line = 1;
  int column = 1;
};

/// A statement: its tokens, up to the end of a line outside of all brackets.
using PythonLine = std::vector<PythonToken>;

/// Cuts a text into statements.
class PythonLines {
 public:
  explicit PythonLines(std::string_view text) : text_{text} {}

  std::vector<PythonLine> take() {
    while (at_ < text_.size()) next();
    end_line();
    return std::move(lines_);
  }

 private:
  [[nodiscard]] char ahead(std::size_t by = 0) const {
    return at_ + by < text_.size() ? text_[at_ + by] : '\0';
  }
  void end_line() {
    if (!line_.empty()) lines_.push_back(std::move(line_));
    line_.clear();
  }
  void put(PythonToken::Kind kind, std::string text, std::size_t begin) {
    line_.push_back({kind, std::move(text), number_, static_cast<int>(begin - start_) + 1});
  }

  void next() {
    const char c = ahead();
    const std::size_t begin = at_;
    if (c == '\n') {
      if (depth_ == 0) end_line();
      ++at_;
      ++number_;
      start_ = at_;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '"' || c == '\'') {
      quoted(c, begin);
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_') {
      while (std::isalnum(static_cast<unsigned char>(ahead())) != 0 || ahead() == '_') ++at_;
      put(PythonToken::Kind::name, std::string(text_.substr(begin, at_ - begin)), begin);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      number(begin);
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\') {
      ++at_;
    } else {
      sign(c, begin);
    }
  }

  void number(std::size_t begin) {
    while (std::isalnum(static_cast<unsigned char>(ahead())) != 0 || ahead() == '.' ||
           ahead() == '_' ||
           ((ahead() == '-' || ahead() == '+') && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E')))
      ++at_;
    std::string digits(text_.substr(begin, at_ - begin));
    std::erase(digits, '_');
    put(PythonToken::Kind::number, std::move(digits), begin);
  }

  void quoted(char quote, std::size_t begin) {
    const bool three = ahead(1) == quote && ahead(2) == quote;
    const std::string end(three ? 3 : 1, quote);
    at_ += end.size();
    std::string text;
    while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
      if (ahead() == '\\') ++at_;
      if (ahead() == '\n') ++number_;
      text += ahead();
      ++at_;
    }
    at_ = std::min(at_ + end.size(), text_.size());
    put(PythonToken::Kind::text, std::move(text), begin);
  }

  void sign(char c, std::size_t begin) {
    const bool two = (c == '*' && ahead(1) == '*') || (c == '/' && ahead(1) == '/') ||
                     (ahead(1) == '=' && std::string_view("=!<>+-*/").find(c) != std::string::npos);
    at_ += two ? 2 : 1;
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    put(PythonToken::Kind::sign, std::string(text_.substr(begin, two ? 2 : 1)), begin);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
  int number_ = 1;
  int depth_ = 0;
  PythonLine line_;
  std::vector<PythonLine> lines_;
};

using Names = std::map<std::string, YamlNode>;

std::optional<double> value_of_number(const YamlNode& node) {
  return node.is_scalar() && !node.quoted ? parse_number(node.text).value : std::nullopt;
}

/// Reads configurations out of statements.
class PythonReader {
 public:
  PythonReader(std::vector<PythonLine> lines, std::string name)
      : lines_{std::move(lines)}, file_{std::make_shared<const std::string>(std::move(name))} {}

  /// False: too deep.
  bool read(Names& result) {
    find_functions();
    for (const PythonLine& line : lines_)
      if (line.front().column == 1 && line.size() > 2 && line[1].text == "=")
        globals_[line[0].text] = whole(line, 2, globals_);
    for (const auto& [name, value] : globals_)
      if (!value.text.empty() && value.is_map()) result[name] = value;
    for (const auto& [name, place] : functions_)
      if (auto value = call(name); value && value->is_map()) result[name] = std::move(*value);
    return !too_deep_;
  }

  /// False: too deep.
  bool read_calls(const WantedCall& wanted, std::vector<PythonCall>& result) {
    for (const PythonLine& line : lines_) {
      enter_branch(line);
      if (runs() == Runs::never) continue;
      if (contains(no_values, line.front().text)) continue;
      read_statement(line, runs() == Runs::maybe, wanted, result);
    }
    return !too_deep_;
  }

 private:
  /// Statements without a value of their own.
  static constexpr std::array<std::string_view, 17> no_values{
      "def",  "class", "import", "from", "if",   "elif",   "else",   "for",    "while",
      "with", "try",   "except", "@",    "pass", "assert", "global", "finally"};

  /// Whether a branch is taken, as far as can be seen.
  enum class Runs { always, maybe, never };

  struct Branch {
    int column = 1;
    Runs runs = Runs::maybe;
    bool open = true;  ///< an `else` of it may run
  };

  static Runs runs_of(const PythonLine& line) {
    const std::string& word = line.size() > 2 ? line[1].text : std::string();
    const bool alone = line.size() > 2 && line[2].text == ":";
    if (line.size() > 1 && word == "__name__") return Runs::always;
    if (alone && (word == "False" || word == "0")) return Runs::never;
    return alone && (word == "True" || word == "1") ? Runs::always : Runs::maybe;
  }

  /// Leaves the branches that end before a statement, and enters the one that it begins.
  void enter_branch(const PythonLine& line) {
    const std::string& first = line.front().text;
    std::optional<Branch> before;
    for (; !branches_.empty() && line.front().column <= branches_.back().column;
         branches_.pop_back())
      before = branches_.back();
    Branch branch{line.front().column};
    if (first == "if") {
      branch.runs = runs_of(line);
    } else if (first == "elif" || first == "else") {
      const bool known = before && before->runs != Runs::maybe;
      if (before && !before->open)
        branch.runs = Runs::never;
      else if (known)
        branch.runs = first == "else" ? Runs::always : runs_of(line);
    } else if (first != "for" && first != "while" && first != "except") {
      return;
    }
    branch.open = branch.runs != Runs::always && !(before && !before->open);
    branches_.push_back(branch);
  }

  [[nodiscard]] Runs runs() const {
    Runs result = Runs::always;
    for (const Branch& branch : branches_) result = std::max(result, branch.runs);
    return result;
  }

  void read_statement(const PythonLine& line, bool conditional, const WantedCall& wanted,
                      std::vector<PythonCall>& result) {
    std::size_t at = value_begin(line);
    const std::size_t target = at;
    if (line.front().text == "return") at = 1;
    if (at >= line.size()) return;
    YamlNode value = sum(line, at, globals_);
    Gathered{line.front().line, conditional, wanted, result}.add(value);
    const bool whole_value = at >= line.size();
    if (target == 4 && is(line, 1, ".")) return set_later(line, value, conditional, result);
    const bool one = target == 2 && line[0].kind == PythonToken::Kind::name;
    for (std::size_t i = 0; i + 1 < target; ++i)
      if (line[i].kind == PythonToken::Kind::name && (is(line, i + 1, ",") || is(line, i + 1, "=")))
        globals_.erase(line[i].text);
    if (!one || conditional || !whole_value) return;
    if (value.is_map() && !value.text.empty() && !wanted(value.text)) value = bare(value);
    globals_[line[0].text] = std::move(value);
  }

  /// `arguments.key = value` behind the call that made them.
  void set_later(const PythonLine& line, const YamlNode& value, bool conditional,
                 std::vector<PythonCall>& result) {
    const auto known = globals_.find(line[0].text);
    if (known == globals_.end() || !known->second.is_map() || known->second.text.empty()) return;
    YamlNode call = bare(known->second);
    call.mark = mark_of(line[0]);
    call.entries.push_back({line[2].text, mark_of(line[2]), value});
    put_value(known->second, line[2].text, value);
    result.push_back({std::move(call), conditional, true});
  }

  /// A call without its arguments.
  static YamlNode bare(const YamlNode& call) {
    YamlNode node;
    node.kind = call.kind;
    node.text = call.text;
    node.mark = call.mark;
    return node;
  }

  /// Behind the first `=` outside of brackets; the statement's begin where it has none.
  static std::size_t value_begin(const PythonLine& line) {
    int depth = 0;
    for (std::size_t at = 0; at < line.size(); ++at) {
      const std::string& text = line[at].text;
      if (line[at].kind != PythonToken::Kind::sign) continue;
      if (text == "(" || text == "[" || text == "{") ++depth;
      if (text == ")" || text == "]" || text == "}") --depth;
      if (depth == 0 && text == "=") return at + 1;
    }
    return 0;
  }

  /// Calls that stand in a statement; those of variables were found where they were set.
  struct Gathered {
    int line = 1;
    bool conditional = false;
    const WantedCall& wanted;
    std::vector<PythonCall>& result;

    void add(const YamlNode& node) {
      if (node.is_map() && !node.text.empty() && node.mark.line >= line && wanted(node.text))
        result.push_back({node, conditional});
      for (const YamlNode& item : node.items) add(item);
      for (const YamlEntry& entry : node.entries) add(entry.value);
    }
  };

  void find_functions() {
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (lines_[i].size() > 2 && lines_[i][0].text == "def" && lines_[i][0].column == 1)
        functions_[lines_[i][1].text] = i + 1;
  }

  /// What a function of the file returns; nothing where it branches or returns nothing.
  std::optional<YamlNode> call(const std::string& name) {
    const auto found = functions_.find(name);
    if (found == functions_.end() || depth_ > 20 || ++calls_ > most_calls) return std::nullopt;
    ++depth_;
    Names names = globals_;
    std::optional<YamlNode> result;
    for (std::size_t i = found->second; i < lines_.size(); ++i) {
      const PythonLine& line = lines_[i];
      if (line.front().column == 1) break;
      const std::string& first = line.front().text;
      if (first == "if" || first == "for" || first == "while" || first == "with") break;
      if (first == "return") {
        result = whole(line, 1, names);
        break;
      }
      assign(line, names);
    }
    --depth_;
    return result;
  }

  /// `name = value`, `name.part.key = value`; other statements are passed over.
  void assign(const PythonLine& line, Names& names) {
    std::string path;
    std::size_t at = 1;
    while (at + 1 < line.size() && line[at].text == "." &&
           line[at + 1].kind == PythonToken::Kind::name) {
      path += (path.empty() ? "" : ".") + line[at + 1].text;
      at += 2;
    }
    if (line[0].kind != PythonToken::Kind::name || at >= line.size() || line[at].text != "=")
      return;
    YamlNode value = whole(line, at + 1, names);
    if (path.empty())
      names[line[0].text] = std::move(value);
    else
      put_value(names[line[0].text], path, std::move(value));
  }

  [[nodiscard]] Mark mark_of(const PythonToken& token) const {
    return {file_, token.line, token.column};
  }
  YamlNode scalar(const PythonToken& token, std::string text) const {
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.text = std::move(text);
    node.mark = mark_of(token);
    return node;
  }

  /// The value of a statement from a token on; its text where it is no value.
  YamlNode whole(const PythonLine& line, std::size_t at, const Names& names) {
    if (at >= line.size()) return {};
    const std::size_t begin = at;
    YamlNode node = sum(line, at, names);
    return at >= line.size() ? node : raw(line, begin, line.size());
  }

  YamlNode raw(const PythonLine& line, std::size_t begin, std::size_t end) const {
    std::string text;
    end = std::min(end, line.size());
    for (std::size_t i = begin; i < end && text.size() < 80; ++i) text += line[i].text + " ";
    if (!text.empty()) text.pop_back();
    return scalar(line[begin], std::move(text));
  }

  static bool is(const PythonLine& line, std::size_t at, std::string_view sign) {
    return at < line.size() && line[at].kind == PythonToken::Kind::sign && line[at].text == sign;
  }

  YamlNode sum(const PythonLine& line, std::size_t& at, const Names& names) {
    YamlNode left = product(line, at, names);
    while (is(line, at, "+") || is(line, at, "-")) {
      const std::string sign = line[at++].text;
      left = computed(left, sign, product(line, at, names));
    }
    return left;
  }
  YamlNode product(const PythonLine& line, std::size_t& at, const Names& names) {
    YamlNode left = atom(line, at, names);
    while (is(line, at, "*") || is(line, at, "/") || is(line, at, "//") || is(line, at, "**")) {
      const std::string sign = line[at++].text;
      left = computed(left, sign, atom(line, at, names));
    }
    return left;
  }

  static YamlNode computed(YamlNode left, const std::string& sign, const YamlNode& right) {
    const auto a = value_of_number(left);
    const auto b = value_of_number(right);
    if (!a || !b) {
      if (left.text.size() < 200) left.text += " " + sign + " " + right.text.substr(0, 200);
      left.kind = YamlNode::Kind::scalar;
      return left;
    }
    const double value = sign == "+"    ? *a + *b
                         : sign == "-"  ? *a - *b
                         : sign == "*"  ? *a * *b
                         : sign == "**" ? std::pow(*a, *b)
                         : sign == "//" ? std::floor(*a / *b)
                                        : *a / *b;
    left.text = fmt::format("{}", value);
    return left;
  }

  /// Values up to a closing sign; keywords and pairs become entries, others items.
  void arguments(const PythonLine& line, std::size_t& at, const std::string& close, YamlNode& into,
                 const Names& names) {
    while (at < line.size() && !is(line, at, close)) {
      const bool keyword = line[at].kind != PythonToken::Kind::sign &&
                           (is(line, at + 1, "=") || (close == "}" && is(line, at + 1, ":")));
      const std::size_t begin = keyword ? at + 2 : at;
      const std::string key = line[at].text;
      const Mark mark = mark_of(line[at]);
      at = begin;
      if (at >= line.size()) break;
      YamlNode value = sum(line, at, names);
      if (!is(line, at, ",") && !is(line, at, close)) {
        skip(line, at, close);
        value = raw(line, begin, at);
      }
      if (keyword)
        into.entries.push_back({key, mark, std::move(value)});
      else
        into.items.push_back(std::move(value));
      if (is(line, at, ",")) ++at;
    }
    if (at < line.size()) ++at;
  }

  /// To the comma or the closing sign of this level.
  static void skip(const PythonLine& line, std::size_t& at, const std::string& close) {
    int depth = 0;
    for (; at < line.size(); ++at) {
      const std::string& text = line[at].text;
      if (line[at].kind != PythonToken::Kind::sign) continue;
      if (depth == 0 && (text == "," || text == close)) return;
      if (text == "(" || text == "[" || text == "{") ++depth;
      if (text == ")" || text == "]" || text == "}") --depth;
    }
  }

  YamlNode atom(const PythonLine& line, std::size_t& at, const Names& names) {
    if (at >= line.size()) return {};
    if (depth_ > deepest_python) too_deep_ = true;
    if (too_deep_) {
      at = line.size();
      return {};
    }
    const PythonToken& token = line[at++];
    if (token.kind == PythonToken::Kind::text || token.kind == PythonToken::Kind::number) {
      YamlNode node = scalar(token, token.text);
      node.quoted = token.kind == PythonToken::Kind::text;
      return node;
    }
    if (token.kind == PythonToken::Kind::name) return named(line, at, names);
    ++depth_;
    YamlNode node = scalar(token, token.text);
    if (token.text == "-") {
      node = atom(line, at, names);
      node.text.insert(0, "-");
    } else if (token.text == "(") {
      node = enclosed(line, at, names);
    } else if (token.text == "[" || token.text == "{") {
      node.kind = token.text == "[" ? YamlNode::Kind::sequence : YamlNode::Kind::map;
      node.text.clear();
      arguments(line, at, token.text == "[" ? "]" : "}", node, names);
    }
    --depth_;
    return node;
  }

  /// What stands in parentheses: a value, or several.
  YamlNode enclosed(const PythonLine& line, std::size_t& at, const Names& names) {
    YamlNode node = scalar(line[at - 1], "");
    node.kind = YamlNode::Kind::sequence;
    arguments(line, at, ")", node, names);
    const bool one = node.items.size() == 1 && node.entries.empty();
    return one ? YamlNode(std::move(node.items.front())) : node;
  }

  /// A name with dots: a variable, a part of one, a call, or itself.
  YamlNode named(const PythonLine& line, std::size_t& at, const Names& names) {
    const PythonToken& first = line[at - 1];
    std::string path = first.text;
    while (is(line, at, ".") && at + 1 < line.size()) {
      path += "." + line[at + 1].text;
      at += 2;
    }
    if (is(line, at, "(")) {
      ++depth_;
      YamlNode node = scalar(first, path);
      node.kind = YamlNode::Kind::map;
      arguments(line, ++at, ")", node, names);
      --depth_;
      if (node.entries.empty() && node.items.empty())
        if (auto value = call(path)) return std::move(*value);
      return node;
    }
    const auto dot = path.find('.');
    const auto found = names.find(path.substr(0, dot));
    const YamlNode* known = found == names.end() ? nullptr : &found->second;
    if (known != nullptr && dot != std::string::npos) known = node_at(*known, path.substr(dot + 1));
    if (known != nullptr && spend(*known)) return *known;
    YamlNode node = scalar(first, path);
    if (path == "None") node.kind = YamlNode::Kind::null;
    return node;
  }

  /// Counts what a copy of a value adds: variables of variables would grow without end.
  bool spend(const YamlNode& node) {
    budget_ -= 1 + static_cast<int>(node.text.size() / 64);
    if (budget_ < 0) too_deep_ = true;
    for (const YamlNode& item : node.items)
      if (too_deep_ || !spend(item)) return false;
    for (const YamlEntry& entry : node.entries)
      if (too_deep_ || !spend(entry.value)) return false;
    return !too_deep_;
  }

  std::vector<PythonLine> lines_;
  std::shared_ptr<const std::string> file_;
  std::map<std::string, std::size_t> functions_;
  Names globals_;
  std::vector<Branch> branches_;  ///< around a statement
  int depth_ = 0;
  int calls_ = 0;
  int budget_ = 1'000'000;
  bool too_deep_ = false;
};

}  // namespace

namespace {

/// What `read` makes of a text that is short and flat enough.
template <class Result, class Read>
std::optional<Result> read_python(const std::string& text, const std::string& name,
                                  Diagnostics& diagnostics, const Read& read) {
  const Mark top{std::make_shared<const std::string>(name), 1, 1};
  if (text.size() > most_python_bytes) {
    diagnostics.add(top, "", "is longer than 1 MiB");
    return std::nullopt;
  }
  PythonReader reader(PythonLines(text).take(), name);
  Result result;
  if (!read(reader, result)) {
    diagnostics.add(top, "",
                    fmt::format("is nested more than {} deep, or grows too large", deepest_python));
    return std::nullopt;
  }
  return result;
}

}  // namespace

std::optional<std::map<std::string, YamlNode>> python_configurations(const std::string& text,
                                                                     const std::string& name,
                                                                     Diagnostics& diagnostics) {
  return read_python<Names>(text, name, diagnostics, [](PythonReader& reader, Names& result) {
    return reader.read(result);
  });
}

std::optional<std::vector<PythonCall>> python_calls(const std::string& text,
                                                    const std::string& name,
                                                    const WantedCall& wanted,
                                                    Diagnostics& diagnostics) {
  using Calls = std::vector<PythonCall>;
  return read_python<Calls>(text, name, diagnostics, [&](PythonReader& reader, Calls& result) {
    return reader.read_calls(wanted, result);
  });
}

}  // namespace foretrain
