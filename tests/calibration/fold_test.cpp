// SPDX-License-Identifier: Apache-2.0
// Folds: which runs leave a fit and which of them are forecast.
#include "calibration/fit/fold.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

namespace foretrain {
namespace {

RunFacts run(const char* source, const char* stack, const char* chip) {
  RunFacts facts;
  facts.source = source;
  facts.stack = stack;
  facts.chip = chip;
  facts.schedule = "1f1b";
  facts.gpus = 8;
  facts.parameters = 1e9;
  return facts;
}

std::vector<RunFacts> copies(int count, const RunFacts& facts) {
  std::vector<RunFacts> runs;
  runs.assign(static_cast<std::size_t>(count), facts);
  return runs;
}

std::vector<RunFacts> operator+(std::vector<RunFacts> a, const std::vector<RunFacts>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

long count(const std::vector<bool>& marks) { return std::count(marks.begin(), marks.end(), true); }

TEST_CASE("folds: every run leaves with its source once, and with its part apart",
          "[calibration][folds]") {
  auto divided = copies(4, run("big", "s", "a"));
  divided[0].part = divided[1].part = "7B";
  divided[2].part = divided[3].part = "other";
  const auto runs = divided + copies(2, run("small", "s", "a"));
  const auto folds = folds_of(FoldAxis::source, runs);
  std::vector<int> left(runs.size(), 0);
  std::map<std::string, long> sizes;
  for (const Fold& fold : folds) {
    CHECK(fold.out == fold.asked);
    sizes[fold.name] = count(fold.out);
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!fold.part && fold.out[i]) ++left[i];
  }
  CHECK(left == std::vector<int>(runs.size(), 1));
  CHECK(sizes ==
        std::map<std::string, long>{{"big", 4}, {"big 7B", 2}, {"big other", 2}, {"small", 2}});
}

TEST_CASE("folds: a device leaves a stack only where a fit reads the stack's runs on others",
          "[calibration][folds]") {
  auto compared = copies(5, run("x", "both", "old"));
  for (RunFacts& facts : compared) facts.fitted = false;
  const auto one = copies(5, run("x", "one", "new")) + copies(5, run("x", "both", "new"));
  CHECK(folds_of(FoldAxis::device, one + compared).size() == 1);  // the old ones by the new ones
  for (RunFacts& facts : compared) facts.fitted = true;
  const auto folds = folds_of(FoldAxis::device, one + compared);
  REQUIRE(folds.size() == 2);
  CHECK(folds[0].name == "both on new");
  CHECK(folds[1].name == "both on old");
  CHECK(count(folds[0].out) == 5);  // the other stack's runs on that device stay
  CHECK_FALSE(folds[0].out[0]);
  CHECK(folds_of(FoldAxis::device,
                 copies(5, run("x", "both", "new")) + copies(2, run("x", "both", "old")))
            .empty());
}

TEST_CASE("folds: what lies between the known and the asked leaves and is not forecast",
          "[calibration][folds]") {
  auto runs = copies(4, run("x", "s", "a"));
  const auto sizes = {64, 65, 511, 512};
  std::transform(sizes.begin(), sizes.end(), runs.begin(), runs.begin(),
                 [](int gpus, RunFacts facts) { return facts.gpus = gpus, facts; });
  const auto scale = folds_of(FoldAxis::scale, runs);
  REQUIRE(scale.size() == 1);
  CHECK(scale[0].out == std::vector<bool>{false, true, true, true});
  CHECK(scale[0].asked == std::vector<bool>{false, false, false, true});
  CHECK(folds_of(FoldAxis::size, runs).empty());
  CHECK(folds_of(FoldAxis::tensor, runs).empty());
  runs[1].parameters = 20.1e9;
  runs[2].tensor = 8;
  runs[3].tensor = 6;
  CHECK(folds_of(FoldAxis::size, runs).at(0).out == std::vector<bool>{false, true, false, false});
  const Fold tensor = folds_of(FoldAxis::tensor, runs).at(0);
  CHECK(tensor.out == std::vector<bool>{false, false, true, true});
  CHECK(tensor.asked == std::vector<bool>{false, false, true, false});
}

TEST_CASE("folds: a year is forecast without it, later ones and those of no known year",
          "[calibration][folds]") {
  auto runs = copies(4, run("x", "s", "a"));
  runs[0].year = 2022;
  runs[1].year = 2023;
  runs[2].year = 2025;
  const auto folds = folds_of(FoldAxis::release, runs);
  REQUIRE(folds.size() == 2);  // nothing is before 2022
  CHECK(folds[0].name == "2023");
  CHECK(folds[0].out == std::vector<bool>{false, true, true, true});
  CHECK(folds[0].asked == std::vector<bool>{false, true, false, false});
  CHECK(folds[1].out == std::vector<bool>{false, false, true, true});
  CHECK(folds[1].asked == std::vector<bool>{false, false, true, false});
}

TEST_CASE("folds: a device and a scale are new at once", "[calibration][folds]") {
  const auto on = [](const char* chip, int gpus) {
    RunFacts facts = run("x", "s", chip);
    facts.gpus = gpus;
    return facts;
  };
  const auto runs = copies(3, on("old", 8)) + copies(3, on("old", 512)) + copies(2, on("new", 8)) +
                    copies(4, on("new", 128));
  const auto folds = folds_of(FoldAxis::device_scale, runs);
  REQUIRE(folds.size() ==
          1);  // of the new chip two small runs stay, too few to tell of the old one
  CHECK(folds[0].name == "s on new");
  CHECK(std::count(folds[0].out.begin(), folds[0].out.end(), true) == 3 + 2 + 4);
  CHECK(std::count(folds[0].asked.begin(), folds[0].asked.end(), true) == 4);
}

TEST_CASE("folds: schedules with few runs are no fold", "[calibration][folds]") {
  auto rare = copies(9, run("x", "s", "a"));
  for (RunFacts& facts : rare) facts.schedule = "gpipe";
  const auto folds = folds_of(FoldAxis::schedule, rare + copies(10, run("x", "s", "a")));
  REQUIRE(folds.size() == 1);
  CHECK(folds[0].name == "1f1b");
  CHECK(count(folds[0].asked) == 10);
}

}  // namespace
}  // namespace foretrain
