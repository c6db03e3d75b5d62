// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/diagnostics.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "scenarios/yaml/safe_text.hpp"

namespace foretrain {
namespace {

constexpr std::size_t longest_quote = 60;

/// Short and made of letters, digits and `extra` only.
bool is_plain(std::string_view text, std::string_view extra) {
  const auto plain = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           extra.find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= longest_quote && std::ranges::all_of(text, plain);
}

std::string join_lines(const std::vector<Diagnostic>& diagnostics) {
  std::string result;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!result.empty()) result += '\n';
    result += diagnostic.text();
  }
  return result;
}

}  // namespace

std::string Diagnostic::text() const {
  std::string result = escaped(file);
  if (line > 0)
    result += column > 0 ? fmt::format(":{}:{}", line, column) : fmt::format(":{}", line);
  if (!result.empty()) result += ": ";
  if (!path.empty()) result += path + ": ";
  return result + message;
}

ScenarioError::ScenarioError(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(join_lines(diagnostics)), diagnostics_(std::move(diagnostics)) {}

std::string Mark::origin() const {
  if (!file) return {};
  return line > 0 && *file != "--set" ? fmt::format("{}:{}", *file, line) : *file;
}

void Diagnostics::add(const Mark& mark, std::string_view path, std::string message) {
  add({mark.file ? *mark.file : std::string{}, mark.line, mark.column, std::string(path),
       std::move(message)});
}

void Diagnostics::add(Diagnostic diagnostic) {
  ++count_;
  if (items_.size() < capacity) items_.push_back(std::move(diagnostic));
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  std::map<std::string, std::size_t> file_order;
  for (const Diagnostic& item : items_) file_order.emplace(item.file, file_order.size());
  std::vector<Diagnostic> result = items_;
  std::ranges::stable_sort(result, [&](const Diagnostic& a, const Diagnostic& b) {
    return std::tuple(file_order.at(a.file), a.line, a.column) <
           std::tuple(file_order.at(b.file), b.line, b.column);
  });
  const auto same = [](const Diagnostic& a, const Diagnostic& b) { return a.text() == b.text(); };
  result.erase(std::unique(result.begin(), result.end(), same), result.end());
  if (count_ > items_.size())
    result.push_back(
        {{}, 0, 0, {}, fmt::format("{} more errors are not listed", count_ - items_.size())});
  return result;
}

void Diagnostics::throw_if_any() const {
  if (!empty()) throw ScenarioError(sorted());
}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (std::size_t at = 0; at < text.size();) {
    if (result.size() > longest_quote) {
      result += "...";
      break;
    }
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text, at));
    result += escaped(text.substr(at, length));
    at += length;
  }
  return result + "'";
}

std::string printable_key(std::string_view key) {
  return is_plain(key, "_-+") ? std::string(key) : in_quotes(key);
}

std::string printable_path(std::string_view path) {
  return is_plain(path, "_-+.[]") ? std::string(path) : in_quotes(path);
}

std::string joined_or_none(const std::vector<std::string>& names) {
  return names.empty() ? "none" : joined(names);
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace foretrain
