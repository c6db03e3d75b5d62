// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/toml_tree.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "scenarios/yaml/text_file.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

class Scanner {
 public:
  Scanner(std::string_view text, std::size_t most) : text_{text}, most_{most} {}

  std::optional<TextPlace> scan() {
    for (; at_ < text_.size(); ++at_) {
      take(text_[at_]);
      if (depth() > most_) return place();
    }
    return std::nullopt;
  }

 private:
  /// An array or inline table that is open.
  struct Open {
    bool table = false;
    bool in_key = false;    ///< of an inline table: before its '='
    std::size_t parts = 1;  ///< of its present key; 1 of an array
  };

  void take(char c) {
    if (c == '#')
      skip_line();
    else if (c == '"' || c == '\'')
      skip_string(c);
    else if (open_.empty())
      take_at_top(c);
    else
      take_inside(c);
  }

  /// Outside of brackets: headers, keys, and values up to the end of their line.
  void take_at_top(char c) {
    if (c == '\n') {
      mode_ = Mode::key;
      key_parts_ = 1;
    } else if (c == '[' && mode_ == Mode::key) {
      mode_ = Mode::header;
      header_parts_ = 1;
      key_parts_ = 0;
    } else if (mode_ == Mode::header) {
      if (c == '.' || c == '[') ++header_parts_;
    } else if (mode_ == Mode::key) {
      if (c == '.') ++key_parts_;
      if (c == '=') mode_ = Mode::value;
    } else if (c == '[' || c == '{') {
      open(c);
    }
  }

  void take_inside(char c) {
    Open& innermost = open_.back();
    if (c == ']' || c == '}') {
      open_parts_ -= innermost.parts;
      open_.pop_back();
    } else if (innermost.in_key) {
      if (c == '.') {
        ++innermost.parts;
        ++open_parts_;
      }
      if (c == '=') innermost.in_key = false;
    } else if (c == '[' || c == '{') {
      open(c);
    } else if (c == ',' && innermost.table) {
      open_parts_ -= innermost.parts - 1;
      innermost = {true, true, 1};
    }
  }

  void open(char c) {
    open_.push_back({c == '{', c == '{', 1});
    ++open_parts_;
  }

  /// Up to the line's end, which is read next.
  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()) - 1; }

  void skip_string(char quote) {
    const std::string_view three = quote == '"' ? R"(""")" : "'''";
    const bool long_one = text_.substr(at_, 3) == three;
    at_ += long_one ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\' && quote == '"')
        ++at_;
      else if (!long_one && (text_[at_] == quote || text_[at_] == '\n'))
        return;
      else if (long_one && text_.substr(at_, 3) == three)
        break;
    }
    if (!long_one) return;
    at_ += 2;  // at the third quote; two more may belong to the text
    for (int more = 0; more < 2 && at_ + 1 < text_.size() && text_[at_ + 1] == quote; ++more) ++at_;
  }

  [[nodiscard]] std::size_t depth() const { return header_parts_ + key_parts_ + open_parts_; }

  [[nodiscard]] TextPlace place() const {
    TextPlace place;
    for (const char c : text_.substr(0, at_)) {
      place.column = c == '\n' ? 1 : place.column + 1;
      if (c == '\n') ++place.line;
    }
    return place;
  }

  enum class Mode { header, key, value };

  std::string_view text_;
  std::size_t most_;
  std::size_t at_ = 0;
  Mode mode_ = Mode::key;
  std::size_t header_parts_ = 0;
  std::size_t key_parts_ = 1;
  std::size_t open_parts_ = 0;  ///< sum of the parts of what is open
  std::vector<Open> open_;
};

class Converter {
 public:
  Converter(const std::string& name, const YamlLimits& limits, Diagnostics& diagnostics)
      : file_{std::make_shared<const std::string>(name)},
        limits_{limits},
        diagnostics_{diagnostics} {}

  YamlNode convert(const toml::node& node, std::size_t depth) {
    YamlNode result;
    result.mark = mark_of(node.source());
    if (++nodes_ > limits_.nodes || depth > limits_.nesting) {
      if (!full_)
        diagnostics_.add(result.mark, "", "holds too many values or nests them too deeply");
      full_ = true;
      return result;
    }
    if (const auto* table = node.as_table()) {
      result.kind = YamlNode::Kind::map;
      for (const auto& [key, value] : *table)
        result.entries.push_back(
            {std::string(key.str()), mark_of(key.source()), convert(value, depth + 1)});
    } else if (const auto* array = node.as_array()) {
      result.kind = YamlNode::Kind::sequence;
      for (const toml::node& item : *array) result.items.push_back(convert(item, depth + 1));
    } else {
      convert_value(node, result);
    }
    return result;
  }

 private:
  [[nodiscard]] Mark mark_of(const toml::source_region& source) const {
    return {file_, static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
  }

  static void convert_value(const toml::node& node, YamlNode& result) {
    result.kind = YamlNode::Kind::scalar;
    if (const auto* text = node.as_string()) {
      result.text = text->get();
      result.quoted = true;
    } else if (const auto* integer = node.as_integer()) {
      result.text = std::to_string(integer->get());
    } else if (const auto* number = node.as_floating_point()) {
      result.text = std::isfinite(number->get()) ? format_number(number->get()) : "inf";
    } else if (const auto* boolean = node.as_boolean()) {
      result.text = boolean->get() ? "true" : "false";
    } else {
      result.text = "date";  // none of the dates and times decides anything
      result.quoted = true;
    }
  }

  std::shared_ptr<const std::string> file_;
  const YamlLimits& limits_;
  Diagnostics& diagnostics_;
  std::size_t nodes_ = 0;
  bool full_ = false;
};

}  // namespace

std::optional<TextPlace> too_deep_toml(std::string_view text, std::size_t most) {
  return Scanner{text, most}.scan();
}

std::optional<YamlNode> parse_toml(std::string_view text, const std::string& name,
                                   const YamlLimits& limits, Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.count();
  const Mark top{std::make_shared<const std::string>(name), 1, 1};
  if (text.size() > limits.file_bytes) {
    diagnostics.add(top, "", "is larger than " + std::to_string(limits.file_bytes) + " bytes");
    return std::nullopt;
  }
  if (!check_encoding(text, top, diagnostics)) return std::nullopt;
  if (const auto place = too_deep_toml(text, limits.nesting)) {
    diagnostics.add(Mark{top.file, place->line, place->column}, "",
                    fmt::format("nested deeper than {} levels", limits.nesting));
    return std::nullopt;
  }
  try {
    const toml::table table = toml::parse(text, name);
    YamlNode root = Converter(name, limits, diagnostics).convert(table, 0);
    if (diagnostics.count() != before) return std::nullopt;
    return root;
  } catch (const toml::parse_error& error) {
    const auto& place = error.source().begin;
    diagnostics.add(Mark{top.file, static_cast<int>(place.line), static_cast<int>(place.column)},
                    "", "is no TOML: " + in_quotes(error.description()));
    return std::nullopt;
  }
}

}  // namespace foretrain
