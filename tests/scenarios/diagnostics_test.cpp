// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/diagnostics.hpp"

#include <catch2/catch.hpp>

#include "scenarios/sections/hybrid_keys.hpp"

namespace foretrain {
namespace {

Mark place(const std::string& file, int line, int column) {
  return {std::make_shared<const std::string>(file), line, column};
}

TEST_CASE("diagnostics: file, line, column, key, message", "[scenarios]") {
  CHECK(Diagnostic{"f.yaml", 3, 7, "a.b", "is wrong"}.text() == "f.yaml:3:7: a.b: is wrong");
  CHECK(Diagnostic{"f.yaml", 0, 0, "", "no such file"}.text() == "f.yaml: no such file");
  CHECK(Diagnostic{"", 0, 0, "", "3 more"}.text() == "3 more");
}

TEST_CASE("diagnostics: listed by file in order of appearance, then by place, each once",
          "[scenarios]") {
  Diagnostics diagnostics;
  diagnostics.add(place("b", 9, 1), "x", "late");
  diagnostics.add(place("a", 1, 1), "y", "other file");
  diagnostics.add(place("b", 2, 5), "z", "early");
  diagnostics.add(place("b", 9, 1), "x", "late");
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : diagnostics.sorted()) texts.push_back(diagnostic.text());
  CHECK(texts ==
        std::vector<std::string>{"b:2:5: z: early", "b:9:1: x: late", "a:1:1: y: other file"});
  CHECK(diagnostics.count() == 4);
  CHECK_THROWS_AS(diagnostics.throw_if_any(), ScenarioError);
  CHECK_NOTHROW(Diagnostics{}.throw_if_any());
}

TEST_CASE("diagnostics: user text cannot disturb a terminal", "[scenarios]") {
  CHECK(in_quotes("plain") == "'plain'");
  CHECK(in_quotes("a\nb\x1b[31m\x7f") == "'a\\nb\\x1b[31m\\x7f'");
  CHECK(in_quotes("\xC3\xA9") == "'\xC3\xA9'");
  // U+009B begins a command as ESC [ does; U+00A0 is only a space.
  CHECK(in_quotes("\xC2\x9B[2J\xC2\xA0") == "'\\xc2\\x9b[2J\xC2\xA0'");
  CHECK(in_quotes("\xC3") == "'\\xc3'");
  CHECK(in_quotes(std::string(500, 'x')).size() < 70);
  CHECK(printable_key("micro_batch") == "micro_batch");
  CHECK(printable_key("a b") == "'a b'");
  CHECK(printable_path("a.b[3]") == "a.b[3]");
  CHECK(printable_path("a;b") == "'a;b'");
}

TEST_CASE("marks: values are attributed to file and line, flags to the flag", "[scenarios]") {
  CHECK(place("f.yaml", 4, 2).origin() == "f.yaml:4");
  CHECK(place("--set", 1, 17).origin() == "--set");
  CHECK(Mark{}.origin().empty());
}

TEST_CASE("layer modules: every name sets one part of its own", "[scenarios]") {
  CHECK(layer_modules_of({}) == LayerModules{});
  CHECK(layer_modules_of({"core-attention", "moe"}) ==
        LayerModules{.core_attention = true, .moe = true});
  const auto names = layer_module_names();
  for (const std::string& a : names)
    for (const std::string& b : names)
      CHECK((layer_modules_of({a}) == layer_modules_of({b})) == (a == b));
  CHECK_THROWS_AS(layer_modules_of({"nothing"}), std::logic_error);
}

}  // namespace
}  // namespace foretrain
