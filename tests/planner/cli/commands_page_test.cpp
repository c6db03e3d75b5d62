// SPDX-License-Identifier: Apache-2.0
// docs/commands.md is a guide by task, written by hand: what it names is held against the rows.
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "models/base/ranges.hpp"
#include "planner/cli/program.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using Words = std::vector<std::string>;

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, between);) parts.push_back(part);
  return parts;
}

/// What stands in back quotes, as words.
std::vector<Words> code_of(const std::string& text) {
  std::vector<Words> spans;
  const std::vector<std::string> parts = parts_of(text, '`');
  for (std::size_t i = 1; i < parts.size(); i += 2) spans.push_back(parts_of(parts[i], ' '));
  return spans;
}

/// Holds the page against the rows, line by line.
class PageCheck {
 public:
  explicit PageCheck(const CommandRow& program) : program_{program} {}

  void line(const std::string& text) {
    CAPTURE(text);
    const bool row = text.starts_with("| ");
    subjects_.clear();
    const std::vector<std::string> cells = row ? parts_of(text, '|') : Words{"", "", text};
    group_ = &program_;
    for (const Words& span : code_of(cells[1]))
      if (span.front() == "foretrain" || child_of(*group_, span.front()) != nullptr ||
          child_of(program_, span.front()) != nullptr || span.size() > 1)
        command(span);  // else a word of scenarios
    if (subjects_.empty()) subjects_ = every(program_);
    for (std::size_t i = 2; i < cells.size(); ++i)
      for (const Words& span : code_of(cells[i]))
        if (span.front() == "foretrain")
          command(span);
        else if (span.front().starts_with("--"))
          options(span, subjects_);
  }
  [[nodiscard]] bool names(const CommandRow& command) const { return named_.contains(&command); }

 private:
  static std::vector<const CommandRow*> every(const CommandRow& command) {
    std::vector<const CommandRow*> all{&command};
    for (const CommandRow& child : command.commands)
      for (const CommandRow* below : every(child)) all.push_back(below);
    return all;
  }
  static const CommandRow* child_of(const CommandRow& group, const std::string& name) {
    for (const CommandRow& child : group.commands)
      if (child.name == name) return &child;
    return nullptr;
  }

  /// "foretrain calibrate fit --runs FILE"; behind it "suggest", of the same group.
  void command(const Words& span) {
    CAPTURE(span);
    std::size_t at = 0;
    if (span.front() == "foretrain") {
      group_ = &program_;
      at = 1;
    } else if (child_of(*group_, span.front()) == nullptr) {
      group_ = &program_;
    }
    if (span.size() > 1 && span[1] == "COMMAND") return options(span, every(program_));
    const CommandRow* found = at < span.size() ? child_of(*group_, span[at]) : nullptr;
    REQUIRE(found != nullptr);
    named_.insert(found);
    for (++at; !found->run && at < span.size(); ++at) {
      const CommandRow* below = child_of(*found, span[at]);
      if (below == nullptr) break;  // "import KIND FILE"
      group_ = found;
      found = below;
    }
    subjects_.push_back(found);
    options(span, {found});
  }

  void options(const Words& span, const std::vector<const CommandRow*>& commands) {
    for (const std::string& word : span) {
      if (!word.starts_with("--") || word == "--help") continue;
      CAPTURE(word);
      bool known = false;
      for (const CommandRow* command : commands)
        known = known || command->find(word.substr(0, word.find('='))) != nullptr;
      CHECK(known);
    }
  }

  const CommandRow& program_;
  const CommandRow* group_ = nullptr;        ///< of the command before
  std::vector<const CommandRow*> subjects_;  ///< that a line is about
  std::set<const CommandRow*> named_;
};

}  // namespace

TEST_CASE("commands: the page of commands names every one, and options that they have",
          "[planner][cli]") {
  const CommandRow program = program_row();
  PageCheck page(program);
  const std::string text =
      test::contents(std::filesystem::path(FORETRAIN_SOURCE_DIR) / "docs/commands.md");
  REQUIRE_FALSE(text.empty());
  for (const std::string& line : parts_of(text, '\n')) page.line(line);
  for (const CommandRow& command : program.commands) {
    CAPTURE(command.name);
    CHECK(page.names(command));
  }
}

}  // namespace foretrain
