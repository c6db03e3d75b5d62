// SPDX-License-Identifier: Apache-2.0

#include "planner/text/quoting.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <string_view>

#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// With what a terminal would act on as bash's $'\x1b'.
std::string coded(const std::string& text) {
  std::string result = "$'";
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '\'' && c != '\\';
    result +=
        plain ? std::string(1, c)
              : fmt::format("\\x{:02x}", static_cast<unsigned int>(static_cast<unsigned char>(c)));
  }
  return result + "'";
}

}  // namespace

std::string shell_word(const std::string& text) {
  constexpr std::string_view harmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(harmless) == std::string::npos) return text;
  if (escaped(text) != text) return coded(text);
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result + "'";
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

std::string set_words(const std::vector<std::string>& settings) {
  std::vector<std::string> words;
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  return shell_words(words);
}

namespace {

std::vector<std::string> parts_of(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const auto dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    path.remove_prefix(dot + 1);
  }
}

}  // namespace

void YamlText::put(std::string_view path, std::string text, std::string comment) {
  Node* node = &root_;
  for (const std::string& part : parts_of(path)) {
    const auto found = std::find_if(node->children.begin(), node->children.end(),
                                    [&](const Node& child) { return child.name == part; });
    if (found != node->children.end()) {
      node = &*found;
    } else {
      node->children.push_back({part, "", "", {}});
      node = &node->children.back();
    }
  }
  node->text = std::move(text);
  node->comment = std::move(comment);
}

bool YamlText::has(std::string_view path) const {
  const Node* node = &root_;
  for (const std::string& part : parts_of(path)) {
    const auto found = std::find_if(node->children.begin(), node->children.end(),
                                    [&](const Node& child) { return child.name == part; });
    if (found == node->children.end()) return false;
    node = &*found;
  }
  return true;
}

void YamlText::write(const Node& node, int depth, std::string& out) {
  for (const Node& child : node.children) {
    out += std::string(static_cast<std::size_t>(2 * depth), ' ') + child.name + ":";
    if (child.children.empty()) out += (child.text.starts_with('\n') ? "" : " ") + child.text;
    if (!child.comment.empty()) out += "  # " + child.comment;
    out += "\n";
    write(child, depth + 1, out);
  }
}

std::string YamlText::text() const {
  std::string out;
  write(root_, 0, out);
  return out;
}

std::string YamlText::quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
  }
  return result + "\"";
}

std::string YamlText::quoted_list(const std::vector<std::string>& texts, int depth) {
  std::string result;
  for (const std::string& text : texts)
    result +=
        "\n" + std::string(static_cast<std::size_t>(2 * depth + 2), ' ') + "- " + quoted(text);
  return result.empty() ? "[]" : result;
}

}  // namespace foretrain
