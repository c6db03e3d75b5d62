// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

/// A word as bash reads it back, whatever it holds.
[[nodiscard]] std::string shell_word(const std::string& text);
/// Words of a command line, one blank apart.
[[nodiscard]] std::string shell_words(const std::vector<std::string>& words);
/// Settings as options of a command line: "--set KEY=VALUE --set ..."; empty: none.
[[nodiscard]] std::string set_words(const std::vector<std::string>& settings);

/// Values by dotted paths as a YAML text of nested maps, in the order that groups and values were
/// first put.
class YamlText {
 public:
  /// @param text as the file shall hold it, quoted where it needs to be
  void put(std::string_view path, std::string text, std::string comment = "");
  [[nodiscard]] bool has(std::string_view path) const;
  [[nodiscard]] std::string text() const;

  /// A string in double quotes.
  [[nodiscard]] static std::string quoted(const std::string& text);
  /// A list of them, one a line, for a value at a depth.
  [[nodiscard]] static std::string quoted_list(const std::vector<std::string>& texts, int depth);

 private:
  struct Node {
    std::string name;
    std::string text;
    std::string comment;
    std::vector<Node> children;
  };
  static void write(const Node& node, int depth, std::string& out);
  Node root_;
};

}  // namespace foretrain
