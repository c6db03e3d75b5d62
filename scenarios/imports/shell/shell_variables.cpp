// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/shell/shell_variables.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>

#include "scenarios/imports/shell/shell_tokens.hpp"

namespace foretrain {
namespace {

constexpr std::size_t deepest = 32;  ///< expansions inside expansions

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// End of the bracketed part that opens at `at`; npos where it does not close.
std::size_t closing(std::string_view text, std::size_t at) {
  const char open = text[at];
  const char close = open == '(' ? ')' : '}';
  int level = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '\'' || text[i] == '"') {
      const std::size_t end = text.find(text[i], i + 1);
      if (end == std::string_view::npos) return end;
      i = end;
    } else if (text[i] == open) {
      ++level;
    } else if (text[i] == close && --level == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

/// Recursive descent over whole numbers.
class Arithmetic {
 public:
  explicit Arithmetic(std::string_view text) : text_{text} {}

  std::optional<long long> run() {
    const auto value = sum(0);
    skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  static constexpr long long largest = 1'000'000'000'000'000;

  void skip() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  static std::optional<long long> checked(long long value) {
    return value > largest || value < -largest ? std::nullopt : std::optional(value);
  }

  std::optional<long long> sum(std::size_t depth) {
    auto left = product(depth);
    while (left) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      const auto right = product(depth);
      if (!right) return std::nullopt;
      left = checked(plus ? *left + *right : *left - *right);
    }
    return left;
  }

  std::optional<long long> product(std::size_t depth) {
    auto left = factor(depth);
    while (left) {
      const char operation = take('*') ? '*' : take('/') ? '/' : take('%') ? '%' : '\0';
      if (operation == '\0') break;
      const auto right = factor(depth);
      if (!right) return std::nullopt;
      left = combined(*left, operation, *right);
    }
    return left;
  }

  /// Nothing where it cannot be told: by zero, or too large.
  static std::optional<long long> combined(long long left, char operation, long long right) {
    if (right == 0) return operation == '*' ? std::optional(0LL) : std::nullopt;
    if (operation == '/') return left / right;
    if (operation == '%') return left % right;
    const long long most = largest / std::abs(right);
    return left > most || left < -most ? std::nullopt : std::optional(left * right);
  }

  std::optional<long long> factor(std::size_t depth) {
    if (depth > deepest) return std::nullopt;
    if (take('(')) {
      const auto value = sum(depth + 1);
      return take(')') ? value : std::nullopt;
    }
    if (take('-')) {
      const auto value = factor(depth + 1);
      return value ? std::optional(-*value) : std::nullopt;
    }
    skip();
    long long value = 0;
    const std::size_t start = at_;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      value = 10 * value + (text_[at_] - '0');
      if (value > largest) return std::nullopt;
    }
    return at_ > start ? std::optional(value) : std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// One word on its way to fields.
class Expansion {
 public:
  Expansion(const ShellVariables& variables, bool split, std::size_t depth)
      : variables_{variables}, split_{split}, depth_{depth} {}

  std::vector<std::string> run(std::string_view word) {
    read(word);
    if (open_) fields_.push_back(std::move(field_));
    return std::move(fields_);
  }

 private:
  void put(char c) {
    open_ = true;
    if (size_++ < ShellLimits{}.word_bytes) field_ += c;
  }
  void put(std::string_view text) {
    for (const char c : text) put(c);
  }
  void end_field() {
    if (open_) fields_.push_back(std::exchange(field_, {}));
    open_ = false;
  }
  /// An expansion that is not quoted falls apart at blanks.
  void put_split(std::string_view text) {
    if (!split_) return put(text);
    for (const char c : text) is_space(c) ? end_field() : put(c);
  }

  void read(std::string_view word) {
    for (std::size_t i = 0; i < word.size();) {
      const char c = word[i];
      if (c == '\\') {
        if (i + 1 < word.size() && word[i + 1] != '\n') put(word[i + 1]);
        i += 2;
      } else if (c == '\'') {
        const std::size_t end = std::min(word.find('\'', i + 1), word.size());
        open_ = true;
        put(word.substr(i + 1, end - i - 1));
        i = end + 1;
      } else if (c == '"') {
        i = read_double_quotes(word, i + 1);
      } else if (c == '$' || c == '`') {
        i = read_expansion(word, i, false);
      } else {
        put(c);
        ++i;
      }
    }
  }

  std::size_t read_double_quotes(std::string_view word, std::size_t i) {
    open_ = true;
    while (i < word.size() && word[i] != '"') {
      if (word[i] == '\\' && i + 1 < word.size()) {
        const bool special =
            std::string_view("$`\"\\\n").find(word[i + 1]) != std::string_view::npos;
        if (!special) put('\\');
        if (word[i + 1] != '\n') put(word[i + 1]);
        i += 2;
      } else if (word[i] == '$' || word[i] == '`') {
        i = read_expansion(word, i, true);
      } else {
        put(word[i++]);
      }
    }
    return i + 1;
  }

  void give(const std::string& text, bool quoted) { quoted ? put(text) : put_split(text); }

  /// An expansion that starts at `i`; the place behind it.
  std::size_t read_expansion(std::string_view word, std::size_t i, bool quoted) {
    if (word[i] == '`') {
      const std::size_t end = std::min(word.find('`', i + 1), word.size());
      put("$(" + std::string(word.substr(i + 1, end - i - 1)) + ")");
      return end + 1;
    }
    const char next = i + 1 < word.size() ? word[i + 1] : '\0';
    if (next == '(' || next == '{') {
      const std::size_t end = std::min(closing(word, i + 1), word.size());
      const std::string_view inside =
          word.substr(std::min(i + 2, end), end > i + 2 ? end - i - 2 : 0);
      if (next == '{')
        braces(inside, quoted);
      else
        command(inside, quoted);
      return end + 1;
    }
    std::size_t end = i + 1;
    if (is_digit(next) || std::string_view("@*#?$!-").find(next) != std::string_view::npos)
      end = next == '\0' ? end : end + 1;
    else
      while (end < word.size() && is_name(word[end])) ++end;
    if (end == i + 1) {
      put('$');
      return end;
    }
    variable(std::string(word.substr(i + 1, end - i - 1)), quoted, false);
    return end;
  }

  /// $(( )) and $(expr ...) are computed; the output of another command is not known.
  void command(std::string_view inside, bool quoted) {
    if (inside.starts_with("expr "))
      if (const auto value = shell_arithmetic(with_variables(inside.substr(5))))
        return give(std::to_string(*value), quoted);
    if (inside.size() >= 2 && inside.front() == '(' && inside.back() == ')') {
      const std::string expression = with_variables(inside.substr(1, inside.size() - 2));
      if (const auto value = shell_arithmetic(expression))
        return give(std::to_string(*value), quoted);
    }
    put("$(" + std::string(inside) + ")");
  }

  /// In arithmetic, names need no dollar.
  std::string with_variables(std::string_view expression) {
    std::string marked;
    for (std::size_t i = 0; i < expression.size();) {
      const bool starts = is_name(expression[i]) && !is_digit(expression[i]);
      const bool behind = i > 0 && (is_name(expression[i - 1]) || expression[i - 1] == '$' ||
                                    expression[i - 1] == '{');
      if (starts && !behind) marked += '$';
      marked += expression[i++];
    }
    if (depth_ >= deepest) return marked;
    const auto parts = Expansion(variables_, false, depth_ + 1).run(marked);
    return parts.empty() ? std::string() : parts.front();
  }

  void variable(const std::string& name, bool quoted, bool all) {
    const auto* value = variables_.find(name);
    if (value == nullptr) return put("${" + name + (all ? "[@]}" : "}"));
    if (all && value->array) {
      for (std::size_t i = 0; i < value->fields.size(); ++i) {
        if (i > 0) end_field();
        give(value->fields[i], quoted);
      }
      return;
    }
    if (!value->fields.empty()) give(value->fields.front(), quoted);
  }

  /// ${NAME}, ${NAME[@]}, ${NAME[3]}, ${#NAME[@]}, ${NAME:-other} and its relatives.
  void braces(std::string_view inside, bool quoted) {
    std::size_t end = inside.starts_with('#') || inside.starts_with('!') ? 1 : 0;
    while (end < inside.size() && is_name(inside[end])) ++end;
    const std::string name(inside.substr(0, end));
    const std::string_view rest = inside.substr(end);
    if (rest.empty()) return variable(name, quoted, false);
    if (rest == "[@]" || rest == "[*]") {
      if (!name.starts_with('#')) return variable(name, quoted, true);
      const auto* value = variables_.find(name.substr(1));
      return give(std::to_string(value == nullptr ? 0 : value->fields.size()), quoted);
    }
    if (rest.size() > 2 && rest.front() == '[' && rest.back() == ']' && element(name, rest, quoted))
      return;
    if (otherwise(name, rest, quoted)) return;
    put("${" + std::string(inside) + "}");
  }

  bool element(const std::string& name, std::string_view index, bool quoted) {
    const auto* value = variables_.find(name);
    const auto place = shell_arithmetic(with_variables(index.substr(1, index.size() - 2)));
    if (value == nullptr || !place || *place < 0 ||
        *place >= static_cast<long long>(value->fields.size()))
      return false;
    give(value->fields[static_cast<std::size_t>(*place)], quoted);
    return true;
  }

  /// `:-`, `-`, `:=`, `=` give a default; `:+` and `+` another text where the variable is set.
  bool otherwise(const std::string& name, std::string_view rest, bool quoted) {
    const bool colon = rest.starts_with(':');
    if (colon) rest.remove_prefix(1);
    if (rest.empty() || std::string_view("-=+").find(rest.front()) == std::string_view::npos)
      return false;
    const auto* value = variables_.find(name);
    const bool empty = value != nullptr && (value->fields.empty() || value->fields.front().empty());
    const bool is_set = value != nullptr && !(colon && empty);
    const bool other = rest.front() == '+' ? is_set : !is_set;
    if (!other) {
      if (rest.front() != '+') variable(name, quoted, false);
      return true;
    }
    if (depth_ >= deepest) return false;
    const auto parts = Expansion(variables_, false, depth_ + 1).run(rest.substr(1));
    if (!parts.empty()) give(parts.front(), quoted);
    if (quoted) open_ = true;
    return true;
  }

  const ShellVariables& variables_;
  bool split_;
  std::size_t depth_;
  bool open_ = false;  ///< a field has begun, be it empty
  std::size_t size_ = 0;
  std::string field_;
  std::vector<std::string> fields_;
};

}  // namespace

void ShellVariables::append(const std::string& name, const Value& value) {
  Value& old = values_[name];
  if (value.array) {
    old.array = true;
    old.fields.insert(old.fields.end(), value.fields.begin(), value.fields.end());
    return;
  }
  if (old.fields.empty()) old.fields.emplace_back();
  if (!value.fields.empty()) old.fields.front() += value.fields.front();
}

const ShellVariables::Value* ShellVariables::find(const std::string& name) const {
  if (doubted_.count(name) > 0) return nullptr;
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<std::string> ShellVariables::fields(std::string_view word) const {
  return Expansion(*this, true, 0).run(word);
}

std::string ShellVariables::text(std::string_view word) const {
  const auto parts = Expansion(*this, false, 0).run(word);
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

bool is_unknown(std::string_view text) {
  return text.find("${") != std::string_view::npos || text.find("$(") != std::string_view::npos;
}

std::optional<long long> shell_arithmetic(std::string_view expression) {
  return Arithmetic(expression).run();
}

}  // namespace foretrain
