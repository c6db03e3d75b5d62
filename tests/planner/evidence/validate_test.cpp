// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "planner/evidence/validate.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "tests/temporary_folder.hpp"

using namespace foretrain;

namespace {

/// Every record that ships.
ValidateRequest everything() {
  return {.memory = "", .runs = "", .vtrain = std::vector<std::filesystem::path>{}};
}

const Validation& shipped() {
  static const Validation validation = validate(everything());
  return validation;
}

/// A file that lives as long as the test.
class Draft {
 public:
  Draft(const std::string& name, const std::string& text) : path_{folder_ / name} {
    folder_.write(name, text);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  test::TemporaryFolder folder_;
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("the shipped records are read and each is compared or skipped with a reason",
          "[planner][validate]") {
  const auto json = nlohmann::json::parse(validation_json(shipped()));
  const std::set<std::string> keys{"id",        "source", "quantity",   "group", "measured",
                                   "predicted", "low",    "high",       "error", "skipped",
                                   "why",       "item",   "assumptions"};
  REQUIRE(json.at("records").size() == shipped().records.size());
  REQUIRE(json.at("records").size() > 1000);
  int skipped = 0;
  for (const auto& record : json.at("records")) {
    std::set<std::string> found;
    for (const auto& [key, value] : record.items()) found.insert(key);
    CHECK(found == keys);
    if (record.at("skipped")) {
      ++skipped;
      CHECK_FALSE(record.at("why").get<std::string>().empty());
      CHECK(record.at("predicted").is_null());
      continue;
    }
    CHECK(record.at("why").is_null());
    if (record.at("quantity") == "fits") {
      CHECK(record.at("predicted").is_boolean());
      CHECK(record.at("error") ==
            record.at("predicted").get<int>() - record.at("measured").get<int>());
      continue;
    }
    const double predicted = record.at("predicted");
    CHECK(record.at("error").get<double>() ==
          Approx(predicted / record.at("measured").get<double>() - 1.0));
    CHECK(record.at("low").get<double>() <= predicted);
    CHECK(predicted <= record.at("high").get<double>());
  }
  CHECK(skipped > 0);
}

TEST_CASE("the summary is that of the records", "[planner][validate]") {
  const auto document = nlohmann::json::parse(validation_json(shipped()));
  for (const auto& line : document.at("summary")) {
    int count = 0;
    int skipped = 0;
    double sum = 0.0;
    for (const RecordCheck& check : shipped().records) {
      if (check.quantity != line.at("quantity").get<std::string>()) continue;
      if (!line.at("group").is_null() && check.group != line.at("group").get<std::string>())
        continue;
      if (!line.at("item").is_null() && check.item != line.at("item").get<std::string>()) continue;
      if (line.at("source") != "all" && check.source != line.at("source").get<std::string>())
        continue;
      ++(check.skipped ? skipped : count);
      if (!check.skipped)
        sum += check.quantity == "fits" ? check.predicted - check.measured : check.error();
    }
    CHECK(line.at("count") == count);
    CHECK(line.at("skipped") == skipped);
    if (count > 0)
      CHECK(line.at("bias").get<double>() == Approx(sum / count).margin(1e-12));
    else
      CHECK(line.at("bias").is_null());
  }
}

TEST_CASE("two validations print the same, no line wider than asked", "[planner][validate]") {
  const Validation again = validate(everything());
  CHECK(validation_json(again) == validation_json(shipped()));
  const std::string text = answer_text(validation_answer(again, {true}));
  CHECK(text == answer_text(validation_answer(shipped(), {true})));
  CHECK(text.find("Skipped") != std::string::npos);
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', start)) {
    CHECK(display_width(text.substr(start, end - start)) <= 80);
    start = end + 1;
  }
}

TEST_CASE("the CSV has one line per record and as many fields as its header",
          "[planner][validate]") {
  const std::string csv = validation_csv(shipped());
  CHECK(
      csv.starts_with("id,source,quantity,measured,predicted,low,high,error,skipped,why,"
                      "group,item,assumptions\r\n"));
  const auto rows = [&] {
    std::size_t count = 0;
    for (std::size_t at = csv.find("\r\n"); at != std::string::npos; at = csv.find("\r\n", at + 2))
      ++count;
    return count;
  }();
  CHECK(rows == shipped().records.size() + 1);
}

TEST_CASE("step times: JSON has a line per source and group with rank order and band",
          "[planner][validate]") {
  const auto document = nlohmann::json::parse(validation_json(shipped()));
  int times = 0;
  bool dense = false;
  for (const auto& line : document.at("summary")) {
    const bool time = line.at("quantity") == "step_time_s";
    times += time ? 1 : 0;
    // Only the total over all sources and groups has none.
    if (line.at("group").is_null()) CHECK((!time || line.at("source") == "all"));
    for (const char* key : {"in_band", "mape_of_half_peak", "pairs"})
      CHECK(line.at(key).is_number() == (time && line.at("count") > 0));
    CHECK(line.at("kendall_tau").is_number() ==
          (line.at("pairs").is_number() && line.at("pairs") > 0));
    if (line.at("source") == "all" && line.at("group") == "dense bf16/fp16") {
      dense = true;
      CHECK(line.at("count") > 1600);
      CHECK(line.at("pairs") > 10'000);
      CHECK(line.at("kendall_tau").get<double>() > 0.5);
    }
  }
  CHECK(times > 20);
  CHECK(dense);
  const std::string text = answer_text(validation_answer(shipped(), {false}));
  CHECK(text.find("Step time: predicted / measured - 1, percent") != std::string::npos);
  CHECK(text.find("Step times not predicted") != std::string::npos);
}

TEST_CASE("step times: sources of several groups get a line for each, and all groups a total",
          "[planner][validate]") {
  Validation validation;
  for (const char* group : {"dense bf16/fp16", "dense fp8", "MoE"}) {
    RecordCheck check;
    check.id = std::string("own-") + group;
    check.source = "own";
    check.quantity = "step_time_s";
    check.group = group;
    check.measured = 1.0;
    check.predicted = check.low = 1.25;
    check.high = check.at_half_peak = 1.5;
    validation.records.push_back(check);
  }
  validation.summary = summarize(validation.records);
  const std::string text = answer_text(validation_answer(validation, {false}));
  for (const char* line :
       {"  own                    1    0 +25.0 25.0   25.0 25.0    0   - 50.0 0.0     0\n",
        "  own fp8 ", "  own MoE ", "  all dense bf16/fp16    1 ", "  all dense fp8 ", "  all MoE ",
        "  all                    3    0 ", "of the forecast, 0 % of all", "MEDIAN ERROR 25.0 %",
        "step time  25.0 %  P90 25.0 %; 3 runs"}) {
    CAPTURE(line, text);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("time or memory alone, and one source alone", "[planner][validate]") {
  ValidateRequest request = everything();
  request.only = ValidateOnly::time;
  request.sources = {"kort"};
  const Validation times = validate(request);
  REQUIRE(times.records.size() == 6);
  for (const RecordCheck& check : times.records) CHECK(check.quantity == "step_time_s");
  CHECK(answer_text(validation_answer(times, {false})).find("Memory:") == std::string::npos);
  request.only = ValidateOnly::memory;
  request.sources = {"vocabpar"};
  for (const RecordCheck& check : validate(request).records) CHECK(check.quantity != "step_time_s");
  request.sources = {"no-such-source"};
  CHECK_THROWS_WITH(validate(request), Catch::Contains("no record of the sources"));
}

TEST_CASE("vtrain tables of the user's own: read like the shipped, errors with file and line",
          "[planner][validate]") {
  const std::string header =
      "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
      "tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n";
  const Draft good("own.csv", header + "2,16,8,1024,16,24,1024,1,1,2,372.160408\n");
  const Validation validation = validate({.vtrain = {{good.path()}}});
  REQUIRE(validation.records.size() == 1);
  CHECK_FALSE(validation.records[0].skipped);
  CHECK(validation.records[0].source == "vtrain_single");
  CHECK(validation.records[0].remarks.size() == 1);
  const Draft bad("bad.csv", header + "2,16,8,1024,16\n");
  CHECK_THROWS_WITH(validate({.vtrain = {{bad.path()}}}),
                    Catch::Contains("bad.csv:2:1: 5 fields, but the header has 11"));
}

TEST_CASE("a user's own runs are compared in the same format", "[planner][validate]") {
  const auto record = [](const std::string& id, const std::string& stack) {
    return "- id: " + id + "\n  gpu: H100-SXM5-80GB\n" + stack + R"(  gpus: 8
  gpus_per_node: 8
  precision: bf16
  recompute: none
  micro_batch: 1
  global_batch: 8
  memory_unit: GiB
  memory_kind: torch max_memory_allocated
  model: {name: ours, layers: 16, hidden: 4096, heads: 32, kv_heads: 8, ffn_hidden: 14336,
          vocab: 128256, seq: 4096, gated_mlp: true, tied_embeddings: false}
  parallel: {tp: 1, pp: 1, dp: 8, distributed_optimizer: true}
  measured: {memory_gb: 50.0}
)";
  };
  const Draft runs("own.yaml", "runs:\n" + record("own-1", "  stack: megatron-core\n") +
                                   record("own-2", "") +
                                   "- {id: own-3, notes: nothing measured}\n");
  const Validation validation = validate({.runs = runs.path()});
  CHECK(validation.files == std::vector<std::string>{runs.path().string()});
  REQUIRE(validation.records.size() == 4);  // the third tells nothing to compare with
  const RecordCheck& known = validation.records[0];
  CAPTURE(known.why);
  CHECK_FALSE(known.skipped);
  CHECK(known.id == "own-1");
  CHECK(known.quantity == "mem_max");
  CHECK(known.measured == 50.0 * GiB.value());
  CHECK(known.predicted > 30.0 * GiB.value());
  CHECK(validation.records[1].quantity == "fits");
  // A record that names no stack is compared as its nearest kin.
  const std::vector<std::string>& remarks = validation.records[2].remarks;
  CHECK_FALSE(validation.records[2].skipped);
  CHECK(std::any_of(remarks.begin(), remarks.end(), [](const std::string& remark) {
    return remark.find("nearest kin") != std::string::npos;
  }));
}

TEST_CASE("records with values that no run can have are skipped with the value",
          "[planner][validate]") {
  for (const char* parallel :
       {"{tp: 0, pp: 1, dp: 8}", "{tp: 1, pp: -1, dp: 8}", "{tp: 1, pp: 1, dp: 0}",
        "{tp: 1, pp: 1, dp: 8, ep: 0}", "{tp: 1, pp: 10000, dp: 8}",
        "{tp: 1, pp: 2, dp: 4, layers_last_stage: 17}", "{tp: 9999, pp: 10, dp: 999999}"}) {
    const Draft runs("odd.yaml", std::string("runs:\n- id: simumax-odd\n  gpu: B200\n  gpus: 8\n") +
                                     "  precision: bf16\n  micro_batch: 1\n  global_batch: 8\n" +
                                     "  model: {name: ours, layers: 16, hidden: 4096, heads: 32,"
                                     " ffn_hidden: 16384, vocab: 50257, seq: 2048}\n" +
                                     "  measured: {memory_gb: 50.0}\n  parallel: " + parallel +
                                     "\n");
    const Validation validation = validate({.runs = runs.path()});
    REQUIRE(validation.records.size() == 2);
    CAPTURE(parallel, validation.records[0].why);
    CHECK(validation.records[0].skipped);
  }
  for (const char* argument : {"tensor-model-parallel-size", "pipeline-model-parallel-size",
                               "micro-batch-size", "num-attention-heads"}) {
    const nlohmann::json row{{"case", "odd"},  {"platform", "h100"},
                             {"gpus", 8},      {"mem_allocated", 1e9},
                             {"mem_max", 2e9}, {"args", {{argument, 0}}}};
    const Draft memory("odd.json", nlohmann::json{{"rows", {row}}}.dump());
    const Validation validation = validate({.memory = memory.path()});
    REQUIRE(validation.records.size() == 2);
    CHECK(validation.records[0].skipped);
    CHECK(validation.records[0].why.find(argument) != std::string::npos);
  }
}

TEST_CASE("files that cannot be read or are of another kind are refused with their name",
          "[planner][validate]") {
  CHECK_THROWS_WITH(validate({.memory = "no-such-file.json"}),
                    Catch::Contains("no-such-file.json"));
  const Draft broken("broken.json", "{\"rows\": [{\"case\": 3");
  CHECK_THROWS_AS(validate({.memory = broken.path()}), UsageError);
  const Draft other("other.json", "{\"runs\": []}");
  CHECK_THROWS_AS(validate({.memory = other.path()}), UsageError);
  const Draft lacking("lacking.json", "{\"rows\": [{\"platform\": \"a100\"}]}");
  CHECK_THROWS_AS(validate({.memory = lacking.path()}), UsageError);
  const Draft yaml("broken.yaml", "- id: [");
  CHECK_THROWS_AS(validate({.runs = yaml.path()}), ScenarioError);
}
