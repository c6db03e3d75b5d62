// SPDX-License-Identifier: Apache-2.0
// Readers that others wrote recurse with the depth of what they read: none of them is given more
// than a stack holds.
#include <catch2/catch.hpp>

#include <string>

#include "scenarios/imports/frameworks/frameworks.hpp"
#include "scenarios/imports/frameworks/toml_tree.hpp"
#include "scenarios/yaml/yaml_tree.hpp"

namespace foretrain {
namespace {

std::string repeated(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

std::string dotted(int parts) { return "a" + repeated(".a", parts - 1); }

std::string toml_error(const std::string& text) {
  Diagnostics diagnostics;
  const auto tree = parse_toml(text, "run.toml", {}, diagnostics);
  if (tree) return "";
  REQUIRE(diagnostics.count() > 0);
  return diagnostics.items().front().text();
}

std::string yaml_error(const std::string& text) {
  Diagnostics diagnostics;
  static_cast<void>(parse_yaml(text, "run.yaml", {}, diagnostics));
  return diagnostics.count() == 0 ? "" : diagnostics.items().front().text();
}

}  // namespace

TEST_CASE("TOML of any depth ends in words, not with the stack", "[scenarios][import]") {
  constexpr int deep = 40000;
  const std::string nested = "run.toml:";
  const std::string why = "nested deeper than 64 levels";
  for (const std::string& text :
       {"[" + dotted(deep) + "]", "[[" + dotted(deep) + "]]", dotted(deep) + " = 1",
        "x = " + repeated("[", deep), "x = " + repeated("{a=", deep),
        repeated("\"a\".'b'.", deep / 2) + "c = 1", "x = {" + dotted(deep) + " = 1}",
        "x = [{y = [{" + dotted(deep) + " = 1}]}]",
        "x = \"\"\"\n[\n\\\"\"\"\"\ny = '''[''''\n# [\n[" + dotted(deep) + "]"}) {
    const std::string error = toml_error(text);
    INFO(text.substr(0, 60));
    CHECK(error.find(nested) == 0);
    CHECK(error.find(why) != std::string::npos);
  }
}

TEST_CASE("torchtitan's file with 40,000 nested keys is refused", "[scenarios][import]") {
  CHECK_THROWS_WITH(
      import_framework(Framework::torchtitan, "[" + dotted(40000) + "]", "run.toml", {}),
      Catch::Contains("run.toml:1:129: nested deeper than 64 levels"));
}

TEST_CASE("TOML that is not deep is not taken for it", "[scenarios][import]") {
  const std::string text = "[" + dotted(60) + R"(]
numbers = [1.0, 2.0, [3.0, 4.0]]  # a.b.c.d
dates = 1979-05-27T07:32:00.999999-07:00
words = "a.b.c.[[[{{{" # '''
literal = 'C:\[\.\{'
long = """ [ "" \""" { """""
other = '''[[['''''
table = {a.b = 1, c.d = [1, 2], e = {}, f = "}"}
)";
  CHECK(toml_error(text).empty());
  CHECK_FALSE(too_deep_toml(repeated("x = [1]\ny = {a = 1, b.c = 2}\n[a.b]\n", 1000), 5));
  CHECK(too_deep_toml("\n  a.b.c = 1", 2).value().line == 2);
}

TEST_CASE("YAML of any depth ends in words, not with the stack", "[scenarios][yaml]") {
  constexpr int deep = 40000;
  for (const char* open : {"[", "{a: ", "- ", "? ", "[[{? - "})
    CHECK_FALSE(yaml_error(repeated(open, deep)).empty());
}

}  // namespace foretrain
