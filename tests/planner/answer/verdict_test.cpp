// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>

#include "planner/answer/head.hpp"
#include "planner/answer/verdict.hpp"
#include "tests/json_schema.hpp"

namespace foretrain {
namespace {

/// The command of a head as a shell reads its lines.
std::string shown_command(const std::string& text) {
  std::string command = text.substr(text.find("Next: ") + 6);
  for (std::size_t at = 0; (at = command.find("\\\n")) != std::string::npos;) {
    command.erase(at, 2);
    const std::size_t word = command.find_first_not_of(' ', at);
    if (word != at) command.erase(at, word - at);
  }
  return command.substr(0, command.find('\n'));
}

}  // namespace

TEST_CASE("verdict: a chance has the tenths of its band", "[planner][answer]") {
  const Banded number{9.0, 10.0, 12.0};
  CHECK(chance_below(number, 9.0) == Approx(0.1));
  CHECK(chance_below(number, 10.0) == 0.5);
  CHECK(chance_below(number, 12.0) == Approx(0.9));
  CHECK(chance_below({10.0, 10.0, 10.0}, 9.9) == 0.0);
  CHECK(chance_below({10.0, 10.0, 10.0}, 10.1) == 1.0);
  // A band that lies aside of its forecast leaves no doubt on the far side.
  CHECK(chance_below({11.0, 10.0, 12.0}, 9.0) == 0.0);
}

TEST_CASE("verdict: both ends of the band decide", "[planner][answer]") {
  CHECK(within({1.0, 2.0, 3.0}, 3.0) == Verdict::safe);
  CHECK(within({1.0, 2.0, 3.0}, 2.5) == Verdict::at_risk);
  CHECK(within({1.0, 2.0, 3.0}, 1.5) == Verdict::no);
  CHECK(within({1.0, std::numeric_limits<double>::quiet_NaN(), 3.0}, 5.0) == Verdict::no);
  CHECK(tone_of(Verdict::safe) == Tone::good);
  CHECK(tone_of(Verdict::at_risk) == Tone::warn);
  CHECK(tone_of(Verdict::no) == Tone::bad);
}

TEST_CASE("verdict: of two forecasts one is ahead where their bands leave no doubt",
          "[planner][answer]") {
  const Banded a{0.9, 1.0, 1.1};
  const Banded b{1.35, 1.5, 1.65};
  const Contest far = contest(a, b, Machines::different);
  CHECK(far.ahead == Ahead::first);
  CHECK(far.first_is_less > 0.999);
  CHECK(contest(b, a, Machines::different).ahead == Ahead::second);
  const Contest near = contest(a, {0.93, 1.03, 1.13}, Machines::different);
  CHECK(near.ahead == Ahead::tie);
  CHECK(near.first_is_less > 0.5);
}

TEST_CASE("verdict: chances of both sides sum to one, and equal forecasts are a coin",
          "[planner][answer]") {
  const Banded a{0.8, 1.0, 1.3};
  const Banded b{0.9, 1.1, 1.2};
  for (const Machines machines : {Machines::same, Machines::different})
    CHECK(contest(a, b, machines).first_is_less + contest(b, a, machines).first_is_less ==
          Approx(1.0));
  CHECK(contest(a, a, Machines::same).first_is_less == Approx(0.5));
  const Banded exact{1.0, 1.0, 1.0};
  CHECK(contest(exact, exact, Machines::same).ahead == Ahead::tie);
  CHECK(contest(exact, {1.1, 1.1, 1.1}, Machines::same).first_is_less == 1.0);
}

TEST_CASE("verdict: what two plans of a machine are wrong about is partly the same",
          "[planner][answer]") {
  const Banded a{0.9, 1.0, 1.12};
  const Banded b{0.99, 1.1, 1.23};
  CHECK(contest(a, b, Machines::same).first_is_less >
        contest(a, b, Machines::different).first_is_less);
}

TEST_CASE("verdict: the band of a log-normal error gives its probability", "[planner][answer]") {
  // 10th and 90th percentile a factor e^(1.2816 s) away; a lead of s sqrt(2) is one sigma.
  constexpr double sigma = 0.1;
  const double reach = std::exp(1.2815515655446004 * sigma);
  const double lead = std::exp(sigma * std::sqrt(2.0));
  const Contest one =
      contest({1.0 / reach, 1.0, reach}, {lead / reach, lead, lead * reach}, Machines::different);
  CHECK(one.first_is_less == Approx(0.841344746).epsilon(1e-6));
  CHECK(one.ahead == Ahead::tie);
}

TEST_CASE("head: it is narrow, says what it knows, and its command can be copied",
          "[planner][answer]") {
  AnswerHead head;
  head.subject = std::string(100, 'x');
  head.verdict = Verdict::at_risk;
  head.words = "FITS BARELY";
  head.sentence = "A step takes 8.31 s on 1,024 x H100, which is what was asked for in this test.";
  head.figures = {{"Step", "8.31 s", "7.9 s to 8.8 s", "4 % less than yours"}, {"MFU", "45 %"}};
  head.next =
      "foretrain simulate run.yaml --set parallel.tensor=8 --set parallel.pipeline=16 "
      "--set parallel.data=32 --set training.micro_batch=2";
  const std::string text = head_text(head, TextStyle{});
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) CHECK(display_width(line) <= 80);
  CHECK(shown_command(text) == head.next);
  CHECK(text.find("FITS BARELY") != std::string::npos);
  CHECK(text.find("7.9 s to 8.8 s; 4 % less than yours") != std::string::npos);

  const auto json = nlohmann::json::parse(head_json(head));
  CHECK(test::schema_errors(
            std::filesystem::path(FORETRAIN_SOURCE_DIR) / "planner/schemas/head.schema.json", json)
            .empty());
  CHECK(json["schema"] == "head/1");
  CHECK(json["verdict"] == "at-risk");
  CHECK(json["figures"][1]["band"].is_null());
  CHECK(json["next"] == head.next);

  head.next = "foretrain fit " + std::string(150, 'x') + " --set 'name=a b'";
  CHECK(shown_command(head_text(head, TextStyle{})) == head.next);
}

}  // namespace foretrain
