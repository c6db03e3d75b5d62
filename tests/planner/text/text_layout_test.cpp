// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "planner/text/text_table.hpp"

using namespace foretrain;

TEST_CASE("width counts characters, not bytes or colours", "[planner][layout]") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("███") == 3);
  CHECK(display_width("\x1b[31;1mred\x1b[0m") == 3);
  CHECK(pad_right("α", 3) == "α  ");
  CHECK(pad_left("12", 4) == "  12");
  CHECK(cut("abcdefgh", 6) == "abc...");
  CHECK(cut("abc", 3) == "abc");
}

TEST_CASE("wrapping keeps every word and no line is too long", "[planner][layout][property]") {
  const std::string text = "one two three four fifteen-letters-and-more α-β collectives end";
  const int columns = GENERATE(1, 4, 7, 12, 80);
  std::string joined;
  for (const std::string& line : wrap(text, columns)) {
    CAPTURE(columns, line);
    CHECK(display_width(line) <= columns);
    for (const char c : line)
      if (c != ' ') joined += c;
  }
  std::string letters;
  for (const char c : text)
    if (c != ' ') letters += c;
  CHECK(joined == letters);
}

TEST_CASE("a number and its unit stay on one line", "[planner][layout]") {
  CHECK(wrap("the median error is 5.0 %", 24) ==
        std::vector<std::string>{"the median error is", "5.0 %"});
  CHECK(wrap("in 24 days or so", 6) == std::vector<std::string>{"in 24", "days", "or so"});
}

TEST_CASE("a bar is as long as its share and exactly as wide as its cells", "[planner][layout]") {
  const TextStyle ascii;
  TextStyle blocks;
  blocks.unicode = true;
  CHECK(span_bar(0.0, 0.5, 10, ascii) == "#####     ");
  CHECK(span_bar(0.5, 1.0, 10, ascii) == "     #####");
  CHECK(span_bar(0.0, 0.25, 10, blocks) == "██▌       ");
  CHECK(span_bar(0.3, 0.3, 10, ascii) == "          ");
  SECTION("a small share still shows") {
    CHECK(span_bar(0.999, 1.0, 10, ascii) == "         #");
    CHECK(span_bar(0.0, 0.001, 10, blocks) == "▏         ");
  }
  SECTION("any span, any style") {
    for (const TextStyle& style : {ascii, blocks})
      for (int from = -2; from <= 12; ++from)
        for (int to = -2; to <= 12; ++to)
          for (const int cells : {1, 7, 40})
            CHECK(display_width(span_bar(from / 10.0, to / 10.0, cells, style)) == cells);
  }
}

TEST_CASE("a command is broken where a shell reads on", "[planner][layout][property]") {
  const auto joined = [](std::string text) {
    for (const std::string broken : {"'\\\n'", "\\\n"})
      for (std::size_t at = 0; (at = text.find(broken, at)) != std::string::npos;)
        text.erase(at, broken.size());
    std::string result;
    for (const char c : text)
      if (c != '\n' && (c != ' ' || result.empty() || result.back() != ' ')) result += c;
    return result;
  };
  const std::vector<std::string> folders{"/a", "/" + std::string(70, 'b'),
                                         "'/c d/" + std::string(200, 'e') + "'",
                                         "'/it'\\''s/" + std::string(90, 'f') + "'"};
  const std::string command = fmt::format(
      "foretrain simulate {} --set parallel.tensor=4 --set parallel.data=32 --html a.html",
      folders.at(GENERATE(0U, 1U, 2U, 3U)));
  const int width = GENERATE(60, 80, 81, 120);
  const std::string text = hanging_command("Next:", command, {width});
  CHECK(joined(text) == "Next: " + command);
  CHECK(text.find("--set \\") == std::string::npos);
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1)
    CHECK(end - at <= static_cast<std::size_t>(width));
}

TEST_CASE("a table is aligned and wraps its last column", "[planner][layout]") {
  TextTable table{{TextTable::Align::left, TextTable::Align::right, TextTable::Align::left}};
  table.add({"a", "1", "short"});
  table.add({"bbb", "100", "words that go on and on until they do not fit any more in sixty"});
  TextStyle style;
  style.width = 60;
  CHECK(table.text(style) ==
        "  a      1  short\n"
        "  bbb  100  words that go on and on until they do not fit\n"
        "            any more in sixty\n");
}

TEST_CASE("colour is only there when asked for", "[planner][layout]") {
  TextStyle style;
  CHECK(toned("x", Tone::bad, style) == "x");
  style.color = true;
  CHECK(toned("x", Tone::bad, style) == "\x1b[31;1mx\x1b[0m");
}
