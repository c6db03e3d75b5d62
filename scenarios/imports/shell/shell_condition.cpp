// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/shell/shell_condition.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace foretrain {
namespace {

using Words = std::vector<std::string>;

ShellTruth truth(bool value) { return value ? ShellTruth::yes : ShellTruth::no; }

ShellTruth opposite(ShellTruth value) {
  if (value == ShellTruth::unknown) return value;
  return value == ShellTruth::yes ? ShellTruth::no : ShellTruth::yes;
}

ShellTruth both(ShellTruth a, ShellTruth b) {
  if (a == ShellTruth::no || b == ShellTruth::no) return ShellTruth::no;
  return a == ShellTruth::yes && b == ShellTruth::yes ? ShellTruth::yes : ShellTruth::unknown;
}

ShellTruth either(ShellTruth a, ShellTruth b) { return opposite(both(opposite(a), opposite(b))); }

/// One side of a comparison. A variable that nothing sets is empty, one that is doubted is unknown.
std::optional<std::string> side(const std::string& word, const ShellVariables& variables) {
  std::string text = variables.text(word);
  while (text.find("${") != std::string::npos) {
    const std::size_t start = text.find("${");
    const std::size_t end = text.find('}', start);
    if (end == std::string::npos) return std::nullopt;
    const std::string name = text.substr(start + 2, end - start - 2);
    const bool plain =
        name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") ==
        std::string::npos;
    if (!plain || variables.doubted().count(name) > 0) return std::nullopt;
    text.erase(start, end - start + 1);
  }
  if (is_unknown(text)) return std::nullopt;
  return text;
}

ShellTruth compare_numbers(const std::string& left, const std::string& operation,
                           const std::string& right) {
  const auto a = shell_arithmetic(left);
  const auto b = shell_arithmetic(right);
  if (!a || !b) return ShellTruth::unknown;
  if (operation == "-eq") return truth(*a == *b);
  if (operation == "-ne") return truth(*a != *b);
  if (operation == "-lt") return truth(*a < *b);
  if (operation == "-le") return truth(*a <= *b);
  if (operation == "-gt") return truth(*a > *b);
  if (operation == "-ge") return truth(*a >= *b);
  return ShellTruth::unknown;
}

/// The inside of one pair of brackets, without && and ||.
ShellTruth test(Words words, const ShellVariables& variables) {
  const auto first =
      std::ranges::find_if(words, [](const std::string& word) { return word != "!"; });
  const bool negated = (first - words.begin()) % 2 == 1;
  words.erase(words.begin(), first);
  ShellTruth result = ShellTruth::unknown;
  const auto left = words.empty() ? std::nullopt : side(words.front(), variables);
  if (words.size() == 1 && left) {
    result = truth(!left->empty());
  } else if (words.size() == 2 && (words[0] == "-z" || words[0] == "-n")) {
    const auto text = side(words[1], variables);
    if (text) result = truth(text->empty() == (words[0] == "-z"));
  } else if (words.size() == 3 && left) {
    const auto right = side(words[2], variables);
    if (right && (words[1] == "=" || words[1] == "=="))
      result = truth(shell_pattern_matches(*right, *left));
    else if (right && words[1] == "!=")
      result = truth(!shell_pattern_matches(*right, *left));
    else if (right)
      result = compare_numbers(*left, words[1], *right);
  }
  return negated ? opposite(result) : result;
}

/// Words of [ ], joined by -a and -o or, in [[ ]], by && and ||: from left to right.
ShellTruth joined_tests(const Words& words, const ShellVariables& variables) {
  ShellTruth result = ShellTruth::unknown;
  std::string joint;
  Words part;
  const auto close = [&] {
    const ShellTruth value = test(part, variables);
    result = joint.empty()                    ? value
             : joint == "-a" || joint == "&&" ? both(result, value)
                                              : either(result, value);
    part.clear();
  };
  for (const std::string& word : words) {
    const bool joins = word == "-a" || word == "-o" || word == "&&" || word == "||";
    if (!joins) {
      part.push_back(word);
      continue;
    }
    close();
    joint = word;
  }
  close();
  return result;
}

ShellTruth one_command(const Words& words, const ShellVariables& variables) {
  if (words.empty()) return ShellTruth::unknown;
  if (words.front() == "!" && words.size() > 1 && words[1] != "!")
    return opposite(one_command(Words(words.begin() + 1, words.end()), variables));
  if (words.size() == 1 && (words.front() == "true" || words.front() == ":"))
    return ShellTruth::yes;
  if (words.size() == 1 && words.front() == "false") return ShellTruth::no;
  const bool single = words.front() == "[" && words.back() == "]";
  const bool twice = words.front() == "[[" && words.back() == "]]";
  if (words.front() == "test")
    return joined_tests(Words(words.begin() + 1, words.end()), variables);
  if (words.size() < 3 || (!single && !twice)) return ShellTruth::unknown;
  return joined_tests(Words(words.begin() + 1, words.end() - 1), variables);
}

}  // namespace

bool shell_pattern_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t]) && pattern[p] != '*') {
      ++p;
      ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {

/// A list of commands joined by && and ||, token by token.
class Condition {
 public:
  explicit Condition(const ShellVariables& variables) : variables_{variables} {}

  /// @return false where only running the script would tell
  bool take(const ShellToken& token) {
    if (token.kind == ShellToken::Kind::array || token.kind == ShellToken::Kind::group)
      return false;
    const bool word = token.kind == ShellToken::Kind::word;
    if (!word && !inside_) return take_end(token.text);
    if (word && token.text == "[[") inside_ = true;
    if (word && token.text == "]]") inside_ = false;
    words_.push_back(token.text);
    return true;
  }

  ShellTruth result() {
    close();
    return result_;
  }

 private:
  bool take_end(const std::string& text) {
    const bool joins = text == "&&" || text == "||";
    if (!joins && text != "\n" && text != ";") return false;
    close();
    if (joins) joint_ = text;
    return true;
  }

  void close() {
    if (words_.empty()) return;
    const ShellTruth value = one_command(words_, variables_);
    result_ = joint_.empty()   ? value
              : joint_ == "&&" ? both(result_, value)
                               : either(result_, value);
    words_.clear();
  }

  const ShellVariables& variables_;
  ShellTruth result_ = ShellTruth::unknown;
  std::string joint_;
  Words words_;
  bool inside_ = false;  ///< of [[ ]], where && belongs to the test
};

}  // namespace

ShellTruth shell_condition(const std::vector<ShellToken>& tokens, std::size_t at, std::size_t end,
                           const ShellVariables& variables) {
  Condition condition(variables);
  for (; at < end && at < tokens.size(); ++at)
    if (!condition.take(tokens[at])) return ShellTruth::unknown;
  return condition.result();
}

}  // namespace foretrain
