// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/diagnostics.hpp"

#include <catch2/catch.hpp>

#include "scenarios/yaml/yaml_tree.hpp"

using namespace foretrain;

TEST_CASE("safe text: what terminals, logs and browsers act on is found", "[scenarios][text]") {
  CHECK_FALSE(find_acting("Llama-3 70B, caf\xC3\xA9, \xE6\x97\xA5\xE6\x9C\xAC, \xC2\xA0"));
  CHECK(find_acting("x\x1b]0;owned\a") == U'\x1b');
  CHECK(find_acting("x\x7f") == U'\x7f');
  CHECK(find_acting("x\xC2\x9B[2J") == U'\x9b');
  // NOLINTNEXTLINE(misc-misleading-bidirectional): this is what is looked for
  CHECK(find_acting("x\xE2\x80\xAEgpj.exe") == U'\x202e');
  // NOLINTNEXTLINE(misc-misleading-bidirectional): this is what is looked for
  CHECK(find_acting("x\xE2\x81\xA6y") == U'\x2066');
  CHECK(find_acting("x\xE2\x80\xA8y") == U'\x2028');
  CHECK(find_acting("x\xE2\x80\xA9y") == U'\x2029');
  CHECK(find_acting("x\xD8\x9Cy") == U'\x61c');
  CHECK(find_acting("x\xEF\xBF\xBEy") == U'\xfffe');
  CHECK(find_acting("a\n::add-mask::y") == U'\n');
  CHECK_FALSE(find_acting("a\nb\tc", "\n\t"));
}

TEST_CASE("safe text: an escaped text is one line of UTF-8 that acts on nothing",
          "[scenarios][text]") {
  CHECK(escaped("run-7 \xC3\xA9.yaml") == "run-7 \xC3\xA9.yaml");
  CHECK(escaped("a\x1b[31m\n::warning::b") == "a\\x1b[31m\\n::warning::b");
  // NOLINTNEXTLINE(misc-misleading-bidirectional): this is what is looked for
  CHECK(escaped("a\xE2\x80\xAE"
                "b") == "a\\xe2\\x80\\xaeb");
  CHECK(escaped("a\xFF\xC2") == "a\\xff\\xc2");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  CHECK_FALSE(find_acting(escaped(all)));
}

TEST_CASE("YAML: an escape sequence is refused after unescaping, in every value",
          "[scenarios][yaml]") {
  const auto message = [](const std::string& text) {
    Diagnostics diagnostics;
    static_cast<void>(parse_yaml(text, "x.yaml", YamlLimits{}, diagnostics));
    return diagnostics.empty() ? "" : diagnostics.items().front().text();
  };
  CHECK(message("a: \"x\\e]0;y\\a\"\n") ==
        "x.yaml:1:4: a: 'x\\x1b]0;y\\x07' holds the character U+001B, on which terminals, logs or "
        "browsers act; leave it out");
  CHECK(message("a: [b, \"\\u202e\"]\n").find("U+202E") != std::string::npos);
  CHECK(message("a: {\"k\\L\": 1}\n").find("U+2028") != std::string::npos);
  CHECK(message("a: \"\\u009b2J\"\n").find("U+009B") != std::string::npos);
  CHECK(message("a: \"two\\nlines\"\n").empty());
}
