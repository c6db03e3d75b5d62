// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/shell/argument_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "models/base/ranges.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {

namespace {

/// Python allows single underscores between digits.
std::string without_underscores(const std::string& text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && text[i - 1] != '_';
    if (text[i] != '_' || !between) digits += text[i];
  }
  return digits;
}

template <class T>
std::optional<T> whole_text(const std::string& text) {
  const std::string digits = without_underscores(text);
  T result{};
  const char* const end = digits.data() + digits.size();
  const auto [rest, failure] = std::from_chars(digits.data(), end, result);
  if (failure != std::errc() || rest != end) return std::nullopt;
  return result;
}

std::optional<int> whole_number(const std::string& text) { return whole_text<int>(text); }

/// What to do about a variable that the script leaves to its environment.
std::string hint(const std::string& value) {
  return value.find("${") == std::string::npos ? "" : "; give the variable with --var NAME=VALUE";
}

}  // namespace

const std::string* ArgumentReader::find(const std::string& name) {
  read_.insert(name);
  const auto found = arguments_.find(name);
  return found == arguments_.end() ? nullptr : &found->second;
}

bool ArgumentReader::has(const std::string& name) { return find(name) != nullptr; }

bool ArgumentReader::flag(const std::string& name) {
  const std::string* const value = find(name);
  return value != nullptr && *value != "false" && *value != "False" && *value != "0";
}

std::optional<int> ArgumentReader::integer(const std::string& name) {
  const std::string* const value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto result = whole_number(*value);
  if (!result) error("--" + name + ": " + in_quotes(*value) + " is not an integer" + hint(*value));
  return result;
}

std::optional<int> ArgumentReader::peek_integer(const std::string& name) {
  const auto found = arguments_.find(name);
  return found == arguments_.end() ? std::nullopt : whole_number(found->second);
}

int ArgumentReader::integer(const std::string& name, int fallback) {
  return integer(name).value_or(fallback);
}

double ArgumentReader::number(const std::string& name, double fallback) {
  const std::string* const value = find(name);
  if (value == nullptr) return fallback;
  const auto result = whole_text<double>(*value);
  if (!result || !std::isfinite(*result)) {
    error("--" + name + ": " + in_quotes(*value) + " is not a number" + hint(*value));
    return fallback;
  }
  return *result;
}

std::string ArgumentReader::text(const std::string& name, const std::string& fallback) {
  const std::string* const value = find(name);
  return value == nullptr ? fallback : *value;
}

std::vector<std::string> ArgumentReader::words(const std::string& name) {
  std::vector<std::string> result;
  const std::string* const value = find(name);
  if (value == nullptr) return result;
  std::string word;
  for (const char c : *value + ' ') {
    if (std::string_view("[], \"'").find(c) == std::string_view::npos) {
      word += c;
    } else if (!word.empty()) {
      result.push_back(std::move(word));
      word.clear();
    }
  }
  return result;
}

std::vector<std::string> ArgumentReader::unread() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : arguments_)
    if (read_.count(name) == 0) result.push_back(name);
  return result;
}

std::vector<std::string> ArgumentReader::given() const {
  std::vector<std::string> result;
  for (const auto& [name, value] : arguments_)
    if (read_.count(name) > 0) result.push_back(name);
  return result;
}

namespace {

/// The word of a key in arguments; empty where nothing is said and nothing usual.
std::string argument_word(const DialectKey& key, ArgumentReader& in) {
  const std::string& name = key.keys.front();
  if (!in.has(name)) {
    if (!key.needs.empty()) in.error(fmt::format("--{}: {} is missing", name, key.needs));
    return key.usual;
  }
  if (is_switch(key)) return in.flag(name) ? "true" : key.usual;
  const FieldKind kind = key.means->field.kind;
  if (!key.values.empty()) return in.text(name);
  if (kind == FieldKind::number) return format_number(in.number(name, 0.0));
  if (kind != FieldKind::integer) return in.text(name);
  const auto number = in.integer(name);
  return number ? std::to_string(*number) : std::string();
}

}  // namespace

std::vector<std::string> read_dialect(const Dialect& dialect, ArgumentReader& in, Job& job) {
  std::vector<std::string> unknown;
  for (const DialectKey& key : dialect.keys) {
    const std::string& name = key.keys.front();
    const std::string word = argument_word(key, in);
    if (word.empty() || !key_counts(key, job)) continue;
    auto value = dialect_value(key, word);
    if (value.value)
      set_plan_key(*key.means, *value.value, job);
    else if (has_word(key, word))
      in.error(fmt::format("--{}: {}", name, value.error));
    else
      unknown.push_back(name + " " + word);
  }
  return unknown;
}

}  // namespace foretrain
