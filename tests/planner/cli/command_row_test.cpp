// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/command_row.hpp"

#include <catch2/catch.hpp>

#include "models/base/ranges.hpp"
#include "planner/cli/command_line.hpp"
#include "planner/cli/program.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/load_options.hpp"

namespace foretrain {
namespace {

enum class Colour { red, green };

}  // namespace

FORETRAIN_ENUM_NAMES(Colour, {Colour::red, "red"}, {Colour::green, "green"});

namespace {

void check_names(const CommandRow& command, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(command.find(name) != nullptr);
  }
}

void check_row(const CommandRow& command) {
  CAPTURE(command.name);
  CHECK_FALSE(command.help.empty());
  CHECK_FALSE(command.help.ends_with('.'));
  CHECK((command.run || !command.commands.empty()));
  for (const OptionRow& row : command.options) {
    CAPTURE(row.name());
    CHECK_FALSE(row.help.empty());
    CHECK_FALSE(row.help.ends_with('.'));
    CHECK(row.value.empty() == std::holds_alternative<bool*>(row.target));
    check_names(command, row.excludes);
    check_names(command, row.needs);
    if (row.writes) CHECK(command.find("--force") != nullptr);
    CHECK((row.questions.empty() || command.question));
    for (const std::string& work : row.works) CHECK(from_name<Work>(work));
  }
  for (const CommandRow& child : command.commands) check_row(child);
}

struct Line {
  int count = 3;
  Colour colour = Colour::red;
  std::optional<std::string> file;
  std::string goal;
  bool loud = false;
};

CommandRow program_of(Line& line) {
  CommandRow paint{"paint", "Paint"};
  paint.option("-n,--count", line.count, "N", "Times", {.range = {{1, 9}}});
  paint.option("--colour", line.colour, "NAME", "red or green",
               {.questions = names_of({Colour::green})});
  paint.option("--file", line.file, "[FILE]", "Where to", {.values = {{0, 1}}});
  paint.flag("--loud", line.loud, "Aloud", {.excludes = {"--file"}});
  paint.option("--goal", line.goal, "TEXT", "What for",
               {.works = {"serving", "post-training"}, .elsewhere = "ask without"});
  paint.limit({"--loud"}, {"training"}, "");
  paint.question = [] { return std::string("red"); };
  paint.run = [] { return 0; };
  CommandRow program{"foretrain", "A program"};
  program.commands = {std::move(paint)};
  return program;
}

ParsedLine parsed(const CommandRow& program, std::vector<const char*> words) {
  words.insert(words.begin(), {"foretrain", "paint"});
  return parse_line(program, static_cast<int>(words.size()), words.data());
}

}  // namespace

TEST_CASE("commands: every row says what it is, and names options that are there",
          "[planner][cli]") {
  const CommandRow program = program_row();
  for (const CommandRow& command : program.commands) {
    check_row(command);
    CHECK_FALSE(command.group.empty());
  }
}

TEST_CASE("commands: a line sets members, and what it gave is known", "[planner][cli]") {
  Line line;
  const CommandRow program = program_of(line);
  const ParsedLine read = parsed(program, {"--count", "4", "--colour", "green", "--file"});
  REQUIRE_FALSE(read.exit_code);
  CHECK(read.path.back()->name == "paint");
  CHECK(line.count == 4);
  CHECK(line.colour == Colour::green);
  CHECK(line.file == "");
  CHECK(read.path.back()->has("--count"));
  CHECK_FALSE(read.path.back()->has("--loud"));
  CHECK_THROWS_WITH(refuse_other_questions(*read.path.back()),
                    "--colour has no effect on red: it is for green");
}

TEST_CASE("commands: what is for other kinds of scenario is refused with what is right",
          "[planner][cli]") {
  Line line;
  const CommandRow program = program_of(line);
  const ParsedLine read = parsed(program, {"--goal", "x"});
  const CommandRow& paint = *read.path.back();
  CHECK_NOTHROW(refuse_other_works(paint, "serving"));
  CHECK_THROWS_WITH(refuse_other_works(paint, "training"),
                    "--goal is for scenarios of serving and post-training, and this is one of "
                    "training: ask without");
  const CommandRow loud = program_of(line);
  CHECK_THROWS_WITH(refuse_other_works(*parsed(loud, {"--loud"}).path.back(), "serving"),
                    "--loud is for scenarios of training, and this is one of serving");
}

TEST_CASE("commands: values outside a range and unknown names are refused by name",
          "[planner][cli]") {
  Line line;
  CHECK_THROWS_WITH(parsed(program_of(line), {"-n", "10"}), "--count takes 1 to 9, not 10");
  CHECK_THROWS_WITH(parsed(program_of(line), {"-n", "x"}), "--count takes 1 to 9, not x");
  CHECK_THROWS_WITH(parsed(program_of(line), {"--colour", "gren"}),
                    "--colour: 'gren' is not one of red, green; did you mean 'green'?");
  CHECK(line.count == 3);
}

TEST_CASE("commands: exit codes are said by one table, but for what a command means by one",
          "[planner][cli]") {
  CommandRow command{"x", "X"};
  CHECK(exit_texts(command).empty());
  command.texts.exits = {{exit_interrupted}, {exit_infeasible, "nothing fits"}};
  CHECK(exit_texts(command) == std::vector<std::string>{"0 ok", "2 bad usage or input",
                                                        "3 nothing fits", "130 interrupted"});
}

}  // namespace foretrain
