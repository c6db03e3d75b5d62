// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/answer.hpp"

#include <catch2/catch.hpp>

#include <sstream>
#include <string>

#include "planner/page/answer_page.hpp"
#include "planner/text/palette.hpp"
#include "tests/test_text.hpp"

using namespace foretrain;
using test::has;

namespace {

constexpr const char* hostile = "</p><script>alert('x')</script> | `b` & \"c\"";

AnswerTable wide_table() {
  AnswerTable table{{words_column("a name that is long")}};
  table.layout.group = 2;
  for (int i = 0; i < 8; ++i) {
    table.columns.push_back(number_column("side " + std::to_string(i)));
    table.columns.push_back(number_column("ratio " + std::to_string(i)));
  }
  std::vector<AnswerCell> row{"a row"};
  for (int i = 0; i < 16; ++i) row.emplace_back(std::to_string(1000 + i));
  table.add(std::move(row));
  return table;
}

Answer every_block() {
  Answer answer;
  answer.head.subject = hostile;
  answer.head.words = "AT RISK";
  answer.head.verdict = Verdict::at_risk;
  answer.head.sentence = hostile;
  answer.head.figures = {{"Step", "1.00 s", "0.90 s to 1.20 s", "2 % less"}};
  answer.head.next = "foretrain simulate 'a b.yaml'";
  AnswerFacts facts;
  facts.add("a label", hostile);
  facts.rows.push_back({"Goals", "all", "kept:", Tone::good});
  answer.add("Facts", std::move(facts));
  AnswerTable bars{{words_column("part"), number_column("time"), words_column()}};
  AnswerBar broken{0.0, 0.7};
  broken.broken = true;
  AnswerBar band{0.2, 0.8};
  band.mark = 0.5;
  AnswerBar sides{0.25, 0.75};
  sides.axis = 0.5;
  bars.add({"whole", "5.0 s", broken});
  bars.add({"  of it", "1.0 s", band});
  bars.add({hostile, "2.0 s", sides});
  answer.add("Bars", std::move(bars));
  answer.add("Wide", wide_table());
  answer.add("Lines", AnswerLine{hostile, "warning: ", Tone::warn});
  answer.add("List", AnswerList{{hostile, "second"}});
  answer.add("Code", AnswerCode{"--set a=b"});
  Scene drawing{SceneSpace{100.0, 50.0}};
  drawing.box({0.0, 0.0, 10.0, 10.0}, palette::blue);
  answer.add("Picture", AnswerPicture{std::move(drawing), hostile});
  return answer;
}

}  // namespace

TEST_CASE("an answer in words keeps to the screen", "[planner][answer][property]") {
  const int width = GENERATE(60, 80, 132);
  const bool unicode = GENERATE(false, true);
  std::istringstream text(answer_text(every_block(), {width, unicode, unicode}));
  for (std::string line; std::getline(text, line);) {
    INFO(line);
    CHECK(display_width(line) <= width);
    CHECK_FALSE(line.ends_with(' '));
  }
}

TEST_CASE("bars say where they begin", "[planner][answer]") {
  const std::string text = answer_text(every_block());
  CHECK(has(text, "//##"));   // does not begin at zero
  CHECK(has(text, "--o--"));  // a band with its forecast
  CHECK(has(text, "##|##"));  // both sides of an axis
}

TEST_CASE("groups of columns stand below each other where they have no room", "[planner][answer]") {
  const auto rows = [](int width) {
    const std::string text = block_text(wide_table(), {width, false, false});
    std::size_t found = 0;
    for (std::size_t at = text.find("a row"); at != std::string::npos;
         at = text.find("a row", at + 1))
      ++found;
    for (int i = 0; i < 16; ++i) CHECK(has(text, std::to_string(1000 + i)));
    return found;
  };
  CHECK(rows(400) == 1);
  CHECK(rows(80) > 1);
  CHECK(rows(60) >= rows(80));
}

TEST_CASE("a table loses nothing on a narrow screen", "[planner][answer]") {
  AnswerTable table = wide_table();
  table.layout.apart = 1;
  const std::string text = block_text(table, {60, false, false});
  for (int i = 0; i < 16; ++i) CHECK(has(text, std::to_string(1000 + i)));
  AnswerTable words{{words_column("what"), words_column("limit"), number_column("GiB")}};
  const std::string reason = "the GPU has no room for longer ones, whatever is recomputed";
  words.add({"micro-batch up to 4 sequences of 8,192 tokens", reason, "71.2"});
  const std::string wrapped = block_text(words, {60, false, false});
  for (const char* word : {"micro-batch", "8,192", "whatever", "recomputed", "71.2"})
    CHECK(has(wrapped, word));
  CHECK_FALSE(has(wrapped, "..."));
}

TEST_CASE("text of users is text on a page and in Markdown", "[planner][answer]") {
  const std::string page = answer_page(every_block(), "answer");
  CHECK_FALSE(has(page, "<script"));
  CHECK(has(page, "&lt;script&gt;"));
  CHECK_FALSE(has(page, "script-src"));
  CHECK(has(page, "default-src 'none'"));
  CHECK(page == answer_page(every_block(), "answer"));
  const std::string markdown = answer_markdown(every_block());
  CHECK_FALSE(has(markdown, "<script"));
  CHECK(has(markdown, "\\|"));
}

TEST_CASE("pictures take the colours of the page's ground", "[planner][answer]") {
  const std::string page = answer_page(every_block(), "answer");
  CHECK(has(page, "fill=\"var(--ink-" + std::string(palette::blue.light + 1) + ")\""));
  CHECK_FALSE(has(page, "<?xml"));
}

TEST_CASE("sections have their place", "[planner][answer]") {
  Answer answer;
  answer.add("on terminals", AnswerLine{"narrow words"}, AnswerPlace::terminal);
  answer.add("on pages", AnswerLine{"wide words"}, AnswerPlace::pages);
  answer.add("nowhere", AnswerLine{""});
  CHECK(answer.sections.size() == 2);
  CHECK(has(answer_text(answer), "narrow words"));
  CHECK_FALSE(has(answer_text(answer), "wide words"));
  CHECK(has(answer_page(answer, "answer"), "wide words"));
  CHECK_FALSE(has(answer_page(answer, "answer"), "narrow words"));
  CHECK(has(answer_markdown(answer), "wide words"));
  CHECK(has(answer_markdown(answer), "narrow words"));
}

TEST_CASE("columns that only draw are left out of Markdown", "[planner][answer]") {
  Answer answer;
  AnswerTable table{{words_column("part"), words_column("drawn")}};
  table.add({"a", AnswerBar{0.0, 0.5}});
  answer.add("Bars", std::move(table));
  CHECK_FALSE(has(answer_markdown(answer), "drawn"));
}
