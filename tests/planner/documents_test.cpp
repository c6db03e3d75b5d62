// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "planner/answer/value_json.hpp"
#include "planner/cluster/cluster_hosts.hpp"
#include "planner/cluster/cluster_report.hpp"
#include "planner/cluster/workload_fit.hpp"
#include "planner/diagnosis/diagnosis_report.hpp"
#include "planner/forecast/fit_room.hpp"
#include "planner/forecast/goodput_study.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/post_training/post_training_study.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/serving/serving_fit.hpp"
#include "planner/serving/serving_search.hpp"
#include "planner/serving/serving_study.hpp"
#include "planner/step/event_report.hpp"
#include "planner/transfers/transfer_report.hpp"
#include "tests/test_text.hpp"

using namespace foretrain;

namespace {

struct Document {
  const char* name;
  ValueRows rows;
};

std::vector<Document> documents() {
  return {{"cluster", cluster_document()},
          {"cluster-fit", workload_fit_document()},
          {"cluster-hosts", hosts_study_document()},
          {"diagnosis", diagnosis_document()},
          {"goodput", goodput_document()},
          {"head", head_document()},
          {"memory", fit_document()},
          {"neighbour", neighbour_document()},
          {"plan", plan_document()},
          {"post-training", post_training_document()},
          {"prediction", report_values().rows()},
          {"serving", serving_document()},
          {"serving-memory", serving_fit_document()},
          {"serving-search", serving_search_document()},
          {"transfers", transfer_document()}};
}

struct Leaf {
  double size = 0.0;
  std::string name;
};
struct Branch {
  std::vector<Leaf> leaves;
  std::optional<Leaf> best;
  bool known = false;
};

const ValueTable<Leaf>& leaf_values() {
  static const auto table =
      ValueTable<Leaf>{}.add("size_bytes", &Leaf::size).as(Measure::bytes).add("name", &Leaf::name);
  return table;
}

ValueTable<Branch> branch_values() {
  return ValueTable<Branch>{"branch/1", "a branch"}
      .add("leaves", &Branch::leaves, leaf_values())
      .add("best", &Branch::best, leaf_values(), "The largest.")
      .group("group", &Branch::known)
      .add("group.count", [](const Branch& branch) { return branch.leaves.size(); })
      .add("odd", [](const Branch& branch) { return if_any(branch.known ? "yes" : ""); })
      .left_out();
}

}  // namespace

TEST_CASE("documents: the committed schemas are those of the rows", "[planner][answer][golden]") {
  const auto folder = std::filesystem::path(FORETRAIN_SOURCE_DIR) / "planner/schemas";
  std::set<std::string> files{"cluster-file.schema.json"};
  for (const auto& [name, rows] : documents()) {
    const std::string file = std::string(name) + ".schema.json";
    files.insert(file);
    const std::string text = schema_text(rows);
    if (std::getenv("FORETRAIN_UPDATE_GOLDEN"))
      std::ofstream(folder / file, std::ios::binary) << text;
    INFO(file);
    CHECK(test::contents(folder / file) == text);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    INFO(entry.path().string());
    CHECK(files.count(entry.path().filename().string()) == 1);
  }
}

TEST_CASE("rows: an object as JSON", "[planner][answer]") {
  const Branch branch{{{1.5, "a"}, {2.0, "b"}}, Leaf{2.0, "b"}, true};
  const std::string text = json_text(branch_values(), branch);
  CHECK(text.find("\"schema\": \"branch/1\"") != std::string::npos);
  CHECK(text.ends_with(R"(  "leaves": [
    {
      "size_bytes": 1.5,
      "name": "a"
    },
    {
      "size_bytes": 2,
      "name": "b"
    }
  ],
  "best": {
    "size_bytes": 2,
    "name": "b"
  },
  "group": {
    "count": 2
  },
  "odd": "yes"
}
)"));
}

TEST_CASE("rows: what is unknown is null, or left out", "[planner][answer]") {
  const std::string text = json_text(branch_values(), Branch{});
  CHECK(text.ends_with(R"(  "leaves": [],
  "best": null,
  "group": null
}
)"));
}

TEST_CASE("rows: a schema says what may be null and what is not below zero", "[planner][answer]") {
  const std::string text = schema_text(branch_values().rows());
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  CHECK(has(R"("const": "branch/1")"));
  CHECK(has(R"("minimum": 0)"));
  CHECK(has(R"("description": "The largest.")"));
  CHECK_FALSE(has(R"("odd"
  ])"));
}
