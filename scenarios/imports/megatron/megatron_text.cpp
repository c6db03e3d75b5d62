// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>

#include "scenarios/imports/megatron/megatron_arguments.hpp"

namespace foretrain {
namespace {

/// Recursive descent over the two small expression languages of Megatron's arguments.
class Cursor {
 public:
  explicit Cursor(const std::string& text) {
    for (const char c : text)
      if (!std::isspace(static_cast<unsigned char>(c)) && c != ',') text_ += c;
  }
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  char next() { return done() ? '\0' : text_[at_++]; }
  /// `*count` behind an item; 1 without one; empty when no number follows the star.
  std::optional<int> repeat() {
    if (!take('*')) return 1;
    int count = 0;
    bool any = false;
    while (std::isdigit(static_cast<unsigned char>(peek()))) {
      count = 10 * count + (next() - '0');
      any = true;
      if (count > 10000) return std::nullopt;
    }
    return any ? std::optional<int>(count) : std::nullopt;
  }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

constexpr int deepest = 16;                  ///< parentheses inside parentheses
constexpr std::size_t most_items = 100'000;  ///< of an expanded text

/// Expands stars and parentheses of a layout; false when malformed or too large.
bool expand(Cursor& cursor, int depth, std::string& out) {
  while (!cursor.done()) {
    if (cursor.peek() == ')') return depth > 0;
    std::string item;
    if (cursor.take('(')) {
      if (depth == deepest || !expand(cursor, depth + 1, item) || !cursor.take(')')) return false;
    } else {
      item = cursor.next();
      if (std::string("Etdm|LI").find(item) == std::string::npos) return false;
    }
    const std::optional<int> count = cursor.repeat();
    if (!count) return false;
    if (out.size() + item.size() * static_cast<std::size_t>(*count) > most_items) return false;
    for (int i = 0; i < *count; ++i) out += item;
  }
  return depth == 0;
}

/// Adds a list `count` times; false when it gets too large.
bool repeat_list(const std::vector<int>& list, int count, std::vector<int>& out) {
  if (out.size() + list.size() * static_cast<std::size_t>(count) > most_items) return false;
  for (int i = 0; i < count; ++i) out.insert(out.end(), list.begin(), list.end());
  return true;
}

bool add_list(Cursor& cursor, std::vector<int>& out) {
  std::vector<int> list;
  if (!cursor.take('[')) return false;
  while (!cursor.take(']')) {
    const char c = cursor.next();
    if (c != '0' && c != '1') return false;
    list.push_back(c - '0');
  }
  const std::optional<int> count = cursor.repeat();
  return count && repeat_list(list, *count, out);
}

bool add_sum(Cursor& cursor, int depth, std::vector<int>& out) {
  do {
    if (cursor.take('(')) {
      std::vector<int> inner;
      if (depth == deepest || !add_sum(cursor, depth + 1, inner) || !cursor.take(')')) return false;
      const std::optional<int> count = cursor.repeat();
      if (!count || !repeat_list(inner, *count, out)) return false;
    } else if (!add_list(cursor, out)) {
      return false;
    }
  } while (cursor.take('+'));
  return true;
}

}  // namespace

std::vector<int> megatron_pipeline_layout(const std::string& text) {
  Cursor cursor(text);
  std::string expanded;
  if (!expand(cursor, 0, expanded)) return {};
  std::vector<int> layers{0};
  for (const char c : expanded) {
    if (c == '|') layers.push_back(0);
    if (c == 't' || c == 'd') ++layers.back();
  }
  return layers;
}

std::optional<int> megatron_prediction_chunk(const std::string& text) {
  Cursor cursor(text);
  std::string expanded;
  if (!expand(cursor, 0, expanded)) return std::nullopt;
  const auto module = expanded.find('m');
  if (module == std::string::npos) return std::nullopt;
  return static_cast<int>(
      std::count(expanded.begin(), expanded.begin() + static_cast<std::ptrdiff_t>(module), '|'));
}

std::vector<int> megatron_layer_pattern(const std::string& text, int layers) {
  std::vector<int> pattern;
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos) {
    if (text.size() > 6 || std::stoi(text) < 1) return {};
    for (int layer = 0; layer < layers; ++layer)
      pattern.push_back(layer % std::stoi(text) == 0 ? 1 : 0);
    return pattern;
  }
  Cursor cursor(text);
  if (!add_sum(cursor, 0, pattern) || !cursor.done()) return {};
  return static_cast<int>(pattern.size()) == layers ? pattern : std::vector<int>{};
}

}  // namespace foretrain
