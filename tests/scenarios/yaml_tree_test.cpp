// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/yaml_tree.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "scenarios/yaml/text_file.hpp"
#include "tests/temporary_folder.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  std::optional<YamlNode> root;
  std::vector<std::string> messages;
};

Outcome parse(const std::string& text, const YamlLimits& limits = {}) {
  Diagnostics diagnostics;
  Outcome outcome;
  outcome.root = parse_yaml(text, "f.yaml", limits, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.items())
    outcome.messages.push_back(diagnostic.text());
  return outcome;
}

using Messages = std::vector<std::string>;

std::string piece_times(std::string_view piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += piece;
  return text;
}

TEST_CASE("tree: kinds, texts, quotes and places", "[scenarios]") {
  const auto [root, messages] = parse("a: 1\nb: ['x', y, ~]\nc:\n  d: |\n    line\n");
  REQUIRE(messages.empty());
  REQUIRE(root->is_map());
  REQUIRE(root->entries.size() == 3);
  CHECK(root->find("a")->text == "1");
  CHECK_FALSE(root->find("a")->quoted);
  CHECK(root->find("a")->mark.line == 1);
  CHECK(root->find("a")->mark.column == 4);
  const YamlNode& list = *root->find("b");
  REQUIRE(list.items.size() == 3);
  CHECK(list.items[0].quoted);
  CHECK_FALSE(list.items[1].quoted);
  CHECK(list.items[2].is_null());
  CHECK(list.items[1].mark.column == 10);
  CHECK(root->find("c")->find("d")->text == "line\n");
  CHECK(root->entries[2].mark.line == 3);
  CHECK(root->find("nothing") == nullptr);
}

TEST_CASE("tree: JSON is read as it stands", "[scenarios]") {
  const auto [root, messages] =
      parse("{\"a\": [1, 2.5, true, null], \"b\": {\"c\": \"\\u00e9\\n\"}}\n");
  REQUIRE(messages.empty());
  CHECK(root->find("a")->items.size() == 4);
  CHECK(root->find("a")->items[3].is_null());
  CHECK(root->find("b")->find("c")->text == "\xC3\xA9\n");
}

TEST_CASE("tree: line ends of Windows and a byte order mark do not disturb", "[scenarios]") {
  const auto [root, messages] = parse(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 'two'\r\n");
  REQUIRE(messages.empty());
  CHECK(root->find("a")->text == "1");
  CHECK(root->find("b")->text == "two");
  CHECK(root->find("b")->mark.line == 2);
}

TEST_CASE("tree: a message never repeats the character that ends the text", "[scenarios][error]") {
  // Found by the fuzzer: an escape that the end of the file cuts off.
  CHECK(parse(" \"\\").messages ==
        Messages{"f.yaml:1:5: not YAML: unknown escape character: the end of the text"});
}

TEST_CASE("limits: a file of 1 MiB passes, one byte more does not", "[scenarios][error]") {
  std::string text = "a: 1\n";
  text += piece_times("#", (1 << 20) - 5);
  CHECK(parse(text).messages.empty());
  CHECK(parse(text + "#").messages ==
        Messages{"f.yaml: file of 1048577 bytes; the limit is 1048576"});
}

TEST_CASE("limits: 64 levels pass, 65 do not", "[scenarios][error]") {
  const auto nested = [](int depth) { return piece_times("[", depth) + piece_times("]", depth); };
  CHECK(parse(nested(64)).messages.empty());
  CHECK(parse(nested(65)).messages ==
        Messages{"f.yaml:1:65: " + piece_times("[0]", 64) + ": nested deeper than 64 levels"});
}

TEST_CASE("limits: however a file nests, it is refused without a crash", "[scenarios][error]") {
  const std::string nested = GENERATE_COPY(piece_times("[", 100000), piece_times("{a: ", 100000),
                                           piece_times("- ", 100000), piece_times("? ", 100000));
  const auto outcome = parse(nested);
  CHECK_FALSE(outcome.root.has_value());
  CHECK(outcome.messages.size() == 1);
}

TEST_CASE("limits: 100,000 values pass, one more does not", "[scenarios][error]") {
  std::string text = "[0";
  for (int i = 1; i < 99999; ++i) text += ",0";
  CHECK(parse(text + "]").messages.empty());  // with the list itself
  const auto outcome = parse(text + ",0]");
  CHECK_FALSE(outcome.root.has_value());
  REQUIRE(outcome.messages.size() == 1);
  CHECK(outcome.messages[0].find("more than 100000 values") != std::string::npos);
}

TEST_CASE("limits: a text of 4096 bytes passes, one more does not", "[scenarios][error]") {
  CHECK(parse("a: " + piece_times("x", 4096)).messages.empty());
  CHECK(parse("a: " + piece_times("x", 4097)).messages ==
        Messages{"f.yaml:1:4: a: text of 4097 bytes; the limit is 4096"});
  CHECK(parse(piece_times("k", 1000) + ": 1").messages.empty());
}

TEST_CASE("limits: they can be raised for larger data", "[scenarios]") {
  YamlLimits limits;
  limits.nesting = 100;
  limits.string_bytes = 10000;
  CHECK(parse(piece_times("[", 80) + piece_times("]", 80), limits).messages.empty());
  CHECK(parse("a: " + piece_times("x", 9000), limits).messages.empty());
}

TEST_CASE("an alias bomb is refused before it unfolds", "[scenarios][error]") {
  std::string text = "a0: &a0 [x, x]\n";
  for (int i = 1; i <= 10; ++i)
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
            ", *a" + std::to_string(i - 1) + "]\n";
  const auto outcome = parse(text);
  CHECK(outcome.messages.size() == 31);  // 11 anchors and 20 aliases
}

TEST_CASE("duplicate keys are all reported, and the first one counts", "[scenarios][error]") {
  const auto outcome = parse("a: 1\nb: {c: 1, c: 2, c: 3}\na: 4\n");
  CHECK(outcome.messages ==
        Messages{"f.yaml:2:11: b: duplicate key 'c'; it stands in line 2 already",
                 "f.yaml:2:17: b: duplicate key 'c'; it stands in line 2 already",
                 "f.yaml:3:1: duplicate key 'a'; it stands in line 1 already"});
  CHECK(outcome.root->find("a")->text == "1");
}

TEST_CASE("a hundred thousand duplicates give a short list", "[scenarios][error]") {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "a: 1\n";
  Diagnostics diagnostics;
  (void)parse_yaml(text, "f.yaml", YamlLimits{}, diagnostics);
  CHECK(diagnostics.count() == 39999);
  CHECK(diagnostics.sorted().size() == Diagnostics::capacity + 1);
  CHECK(diagnostics.sorted().back().message == "39799 more errors are not listed");
}

TEST_CASE("exactly one document", "[scenarios][error]") {
  CHECK(parse("---\na: 1\n...\n").messages.empty());
  CHECK(parse("a: 1\n---\nb: 2\n").messages ==
        Messages{"f.yaml:3:1: a second document starts here; one file holds one document"});
  CHECK(parse("").messages == Messages{"f.yaml:1:1: the document is empty"});
  CHECK(parse("# only a comment\n").messages == Messages{"f.yaml:1:1: the document is empty"});
}

TEST_CASE("a quote that never closes is refused wherever the file ends", "[scenarios][error]") {
  for (const char* text : {"a: \"open", "a: \"open\n", "a: 'open\n", "a: \"open\\\"\n",
                           "a: 'it''s\n", "b: \"\xC3\xA9\"\na: \"open\n\n"}) {
    CAPTURE(text);
    CHECK(parse(text).messages.size() == 1);
  }
  for (const char* text : {"a: \"closed\"\n", "a: 'it''s'\n", "a: \"\\\"\"\n", "a: |\n  \"open\n",
                           "a: x\"y\n", "b: \"\xC3\xA9\"\na: \"\xE2\x82\xAC\"\n"}) {
    CAPTURE(text);
    CHECK(parse(text).messages.empty());
  }
}

TEST_CASE("only UTF-8 without control characters", "[scenarios][error]") {
  CHECK(parse("a: \xC3\xA9\n").messages.empty());
  for (const char* text : {"a: \xFF\n", "a: \xC0\xAF\n", "a: \xED\xA0\x80\n",
                           "a: \xF4\x90\x80\x80\n", "a: \xE2\x82\n", "\xFF\xFE\x61"}) {
    CHECK(parse(text).messages.front().find("not UTF-8 text") != std::string::npos);
  }
  CHECK(parse(std::string("a: b\0c", 6)).messages ==
        Messages{"f.yaml:1:5: control character 0x00"});
  CHECK(parse("a: 1\nb: \x1b[31m\n").messages == Messages{"f.yaml:2:4: control character 0x1b"});
}

TEST_CASE("places can be shifted for text that stands inside a flag", "[scenarios]") {
  Diagnostics diagnostics;
  const auto root = parse_yaml("[1, 2]", "--set", YamlLimits{}, diagnostics, {3, 10});
  CHECK(root->items[1].mark.line == 3);
  CHECK(root->items[1].mark.column == 14);
}

TEST_CASE("reading files: what is no readable file is an error, not a crash",
          "[scenarios][error]") {
  const test::TemporaryFolder folder;
  folder.write("good.yaml", "a: 1\n");
  const auto read = [&](const fs::path& file, std::size_t limit) {
    Diagnostics diagnostics;
    const auto text = read_text_file(file, file.filename().string(), limit, diagnostics);
    return text ? *text : diagnostics.items().front().text();
  };
  CHECK(read(folder / "good.yaml", 5) == "a: 1\n");
  CHECK(read(folder / "good.yaml", 4) ==
        "good.yaml: it is larger than 4 bytes, which is the limit");
  CHECK(read(folder / "none.yaml", 5) == "none.yaml: no such file");
  fs::create_directory(folder / "folder");
  CHECK(read(folder / "folder", 5) == "folder: it is a folder, not a file");
  CHECK(read("/dev/zero", 5) == "zero: it is not a regular file");
}

}  // namespace
}  // namespace foretrain
