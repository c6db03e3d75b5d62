// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/json_document.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "calibration/imports/record_text.hpp"

namespace foretrain {
namespace {

using Json = nlohmann::json;

/// Where the parser is; its iterators share one.
struct Cursor {
  int line = 1;
  char last = '\0';
};

/// An input iterator that counts lines as the parser reads.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Cursor* cursor) : at_{at}, cursor_{cursor} {}
  const char& operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_ == '\n') ++cursor_->line;
    cursor_->last = *at_;
    ++at_;
    return *this;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  Cursor* cursor_;
};

/// nlohmann's sentence without its decoration.
std::string parser_words(const std::string& what) {
  const auto from = what.find("syntax error");
  std::string words = from == std::string::npos ? what : what.substr(from);
  for (char& c : words)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '?';
  constexpr std::size_t most = 160;
  return words.size() > most ? words.substr(0, most) + "..." : words;
}

/// Builds the tree; a value under way is found by the path of indices from the root.
class TreeBuilder {
 public:
  TreeBuilder(const std::string& file, Diagnostics& diagnostics, const Cursor& cursor,
              const JsonStream& stream, const JsonLimits& limits)
      : file_{file}, diagnostics_{diagnostics}, cursor_{cursor}, stream_{stream}, limits_{limits} {}

  bool null() { return add({}); }
  bool boolean(bool value) {
    JsonValue made;
    made.kind = JsonValue::Kind::boolean;
    made.truth = value;
    return add(std::move(made));
  }
  bool number_integer(Json::number_integer_t value) { return number(static_cast<double>(value)); }
  bool number_unsigned(Json::number_unsigned_t value) { return number(static_cast<double>(value)); }
  bool number_float(Json::number_float_t value, const Json::string_t&) { return number(value); }
  bool string(Json::string_t& value) {
    JsonValue made;
    made.kind = JsonValue::Kind::text;
    made.text = value;
    return add(std::move(made));
  }
  bool binary(Json::binary_t&) { return refuse("binary data"); }
  bool start_object(std::size_t) { return open(JsonValue::Kind::object); }
  bool start_array(std::size_t) { return open(JsonValue::Kind::list); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(Json::string_t& value) {
    JsonValue& object = open_.back();
    if (object.members.size() >= limits_.members) return refuse("an object with too many members");
    constexpr std::size_t searched = 512;  // beyond it, a repeated key costs more than it tells
    if (object.members.size() < searched && object.find(value) != nullptr)
      return refuse("the member " + in_quotes(value) + " stands twice in one object");
    keys_.back() = value;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) {
    return refuse("this is not JSON: " + parser_words(error.what()));
  }

  [[nodiscard]] bool refused() const { return refused_; }
  [[nodiscard]] JsonValue take() { return std::move(root_); }

 private:
  bool number(double value) {
    JsonValue made;
    made.kind = JsonValue::Kind::number;
    made.number = value;
    // A number ends where the next character has been read.
    return add(std::move(made), cursor_.last == '\n' ? 1 : 0);
  }

  bool open(JsonValue::Kind kind) {
    if (open_.size() >= limits_.nesting)
      return refuse(fmt::format("more than {} levels of nesting", limits_.nesting));
    JsonValue made;
    made.kind = kind;
    made.line = cursor_.line;
    open_.push_back(std::move(made));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    JsonValue made = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    const int line = made.line;
    if (!add(std::move(made))) return false;
    if (last_ != nullptr) last_->line = line;
    return true;
  }

  /// Elements of the streamed list are given away instead.
  [[nodiscard]] bool streams() const {
    return stream_.take && open_.size() == 2 && open_[1].is_list() && keys_[0] == stream_.key;
  }

  bool add(JsonValue value, int back = 0) {
    if (++count_ > limits_.values) return refuse("more values than a log has");
    if (value.kind != JsonValue::Kind::object && value.kind != JsonValue::Kind::list)
      value.line = cursor_.line - back;
    last_ = nullptr;
    if (streams()) {
      stream_.take(value);
      count_ = 0;
      return true;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      last_ = &root_;
      return true;
    }
    JsonValue& parent = open_.back();
    if (parent.is_object()) {
      parent.members.push_back({keys_.back(), std::move(value)});
      last_ = &parent.members.back().value;
    } else {
      parent.items.push_back(std::move(value));
      last_ = &parent.items.back();
    }
    return true;
  }

  bool refuse(std::string why) {
    if (!refused_) diagnostics_.add(Diagnostic{file_, cursor_.line, 1, "", std::move(why)});
    refused_ = true;
    return false;
  }

  const std::string& file_;
  Diagnostics& diagnostics_;
  const Cursor& cursor_;
  const JsonStream& stream_;
  const JsonLimits& limits_;
  JsonValue root_;
  std::vector<JsonValue> open_;
  std::vector<std::string> keys_;
  JsonValue* last_ = nullptr;
  std::size_t count_ = 0;
  bool refused_ = false;
};

}  // namespace

const JsonValue* JsonValue::find(std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return &value;
  return nullptr;
}

std::optional<double> JsonValue::as_number() const {
  if (kind == Kind::text) return number_in(text);
  if (kind == Kind::number && std::isfinite(number)) return number;
  return std::nullopt;
}

std::optional<double> JsonValue::number_of(std::string_view key) const {
  const JsonValue* const value = find(key);
  return value == nullptr ? std::nullopt : value->as_number();
}

std::string JsonValue::text_of(std::string_view key) const {
  const JsonValue* const value = find(key);
  return value != nullptr && value->kind == Kind::text ? value->text : std::string();
}

std::optional<JsonValue> parse_json(std::string_view text, const std::string& file,
                                    Diagnostics& diagnostics, int first_line,
                                    const JsonStream& stream) {
  Cursor cursor{first_line, '\0'};
  const JsonLimits limits;
  TreeBuilder builder(file, diagnostics, cursor, stream, limits);
  const char* const begin = text.data();
  // A value may be followed by blanks alone; nlohmann checks that.
  const bool fine = Json::sax_parse(CountingIterator(begin, &cursor),
                                    CountingIterator(begin + text.size(), &cursor), &builder);
  if (!fine || builder.refused()) return std::nullopt;
  return builder.take();
}

namespace {

/// The last character of the string that begins at `at`: its quote, the line end that shows that
/// the quote was damaged (JSON has none in strings), or the end of the text.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    if (text[at] == '\\' && at + 1 < text.size() && text[at + 1] != '\n') ++at;
  return at;
}

}  // namespace

std::vector<JsonPiece> split_json_objects(std::string_view text) {
  std::vector<JsonPiece> pieces;
  int line = 1;
  std::size_t depth = 0;
  std::size_t begin = 0;
  int begin_line = 1;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && depth > 0) i = end_of_string(text, i);
    if (i >= text.size()) break;
    const char c = text[i];
    if (c == '\n') ++line;
    if (c == '{' && depth++ == 0) {
      begin = i;
      begin_line = line;
    }
    if (c == '}' && depth > 0 && --depth == 0)
      pieces.push_back({begin_line, text.substr(begin, i + 1 - begin), true});
  }
  if (depth > 0) pieces.push_back({begin_line, text.substr(begin), false});
  return pieces;
}

}  // namespace foretrain
