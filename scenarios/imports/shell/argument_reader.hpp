// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/imports/frameworks/dialect.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"

namespace foretrain {

/// Reads typed values out of Megatron-LM arguments, remembers which were asked for, and collects
/// what cannot be read.
class ArgumentReader {
 public:
  explicit ArgumentReader(const MegatronArguments& arguments) : arguments_{arguments} {}

  [[nodiscard]] bool has(const std::string& name);
  /// True for a bare flag; `--name false` is false.
  [[nodiscard]] bool flag(const std::string& name);
  [[nodiscard]] std::optional<int> integer(const std::string& name);
  [[nodiscard]] int integer(const std::string& name, int fallback);
  /// Without marking it as read.
  [[nodiscard]] std::optional<int> peek_integer(const std::string& name);
  [[nodiscard]] double number(const std::string& name, double fallback);
  [[nodiscard]] std::string text(const std::string& name, const std::string& fallback = "");
  /// Words of a list: "[a b]", "a,b" or "a b".
  [[nodiscard]] std::vector<std::string> words(const std::string& name);

  /// Marks an argument as understood where its value decides nothing.
  void accept(const std::string& name) { read_.insert(name); }

  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }
  void error(std::string message) { errors_.push_back(std::move(message)); }
  /// Arguments that nobody asked for.
  [[nodiscard]] std::vector<std::string> unread() const;
  /// Arguments that were asked for, whether they are there or not.
  [[nodiscard]] std::vector<std::string> asked() const { return {read_.begin(), read_.end()}; }
  /// Arguments that are there and were asked for.
  [[nodiscard]] std::vector<std::string> given() const;

 private:
  const std::string* find(const std::string& name);

  const MegatronArguments& arguments_;
  std::set<std::string> read_;
  std::vector<std::string> errors_;
};

/// Gives a job what the rows of a dialect's keys say: arguments that are there, else what the
/// framework takes. What is illegal is among the reader's errors.
/// @returns "name word" for words that a row does not have
[[nodiscard]] std::vector<std::string> read_dialect(const Dialect& dialect, ArgumentReader& in,
                                                    Job& job);

}  // namespace foretrain
