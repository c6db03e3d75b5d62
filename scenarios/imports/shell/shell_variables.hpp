// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

/// Variables of a script that is read, not run: what only the machine knows stays written as
/// "${NAME}" or "$(command)".
class ShellVariables {
 public:
  /// A variable; several fields make it an array.
  struct Value {
    std::vector<std::string> fields;
    bool array = false;
  };

  void set(const std::string& name, Value value) { values_[name] = std::move(value); }
  void append(const std::string& name, const Value& value);
  [[nodiscard]] const Value* find(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, Value>& all() const { return values_; }

  /// From here on the value of `name` is not known: it was set under the condition of `line`,
  /// which cannot be decided.
  void doubt(const std::string& name, int line) { doubted_[name] = line; }
  [[nodiscard]] const std::map<std::string, int>& doubted() const { return doubted_; }

  /// The fields that a word becomes: expanded, split where it is not quoted, without quotes.
  [[nodiscard]] std::vector<std::string> fields(std::string_view word) const;
  /// The same as one text, as an assignment sees it.
  [[nodiscard]] std::string text(std::string_view word) const;

 private:
  std::map<std::string, Value> values_;
  std::map<std::string, int> doubted_;
};

/// Whether a text holds something that only running the script would tell.
[[nodiscard]] bool is_unknown(std::string_view text);

/// The value of an arithmetic expression of whole numbers, + - * / % and parentheses, whose
/// variables are expanded already; nothing where it is something else or too large.
[[nodiscard]] std::optional<long long> shell_arithmetic(std::string_view expression);

}  // namespace foretrain
