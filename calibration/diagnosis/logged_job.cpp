// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/logged_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "calibration/imports/record_text.hpp"
#include "calibration/records/run_job.hpp"
#include "calibration/records/run_record.hpp"
#include "calibration/training_logs/log_record.hpp"
#include "models/base/ranges.hpp"
#include "models/rules/plan_rules.hpp"

namespace foretrain {
namespace {

using Json = nlohmann::ordered_json;

/// Keys of records that those of logs do not have.
constexpr std::array other_keys{
    "/host",     "/fabric",           "/site",           "/optimizer",
    "/schedule", "/attention_kernel", "/model/head_dim", "/model/tied_embeddings"};

/// What every forecast needs.
constexpr std::array needed_keys{
    "/stack",        "/gpu",         "/precision",        "/model/layers",
    "/model/hidden", "/model/heads", "/model/ffn_hidden", "/model/vocab",
    "/model/seq",    "/parallel/tp", "/parallel/pp",      "/parallel/dp",
    "/micro_batch",  "/global_batch"};

std::string pointer_of(const std::string& key) {
  std::string pointer = "/" + key;
  std::ranges::replace(pointer, '.', '/');
  return pointer;
}

std::string key_of(std::string_view pointer) {
  std::string key(pointer.substr(1));
  std::ranges::replace(key, '/', '.');
  return key;
}

Json value_of(const std::string& text) {
  const Json parsed = Json::parse(text, nullptr, false);
  const bool plain = parsed.is_number() || parsed.is_boolean();
  return plain ? parsed : Json(text);
}

bool is_key(const Json& record, const std::string& pointer) {
  if (pointer.find('~') != std::string::npos) return false;
  const bool known = record.contains(Json::json_pointer(pointer)) &&
                     !record[Json::json_pointer(pointer)].is_object();
  return known || contains(other_keys, pointer);
}

}  // namespace

LoggedJob logged_job(const TrainingLog& log,
                     const std::vector<std::pair<std::string, std::string>>& fill,
                     const RunCatalog& catalog, Diagnostics& diagnostics) {
  LoggedJob logged;
  // Its id names no source family, so that no other cluster's constants are taken for its own.
  Json record = log_record(log, LogNaming::anonymous);
  for (const auto& [key, value] : fill) {
    const std::string pointer = pointer_of(key);
    if (is_key(record, pointer)) {
      record[Json::json_pointer(pointer)] = value_of(value);
    } else {
      report(
          "--fill", 0,
          fmt::format("{} is not a key of a record; what a log leaves open is in `foretrain import "
                      "log ... --out FILE`, as model.layers or gpu",
                      plain_text(key, 60)),
          diagnostics);
    }
  }
  if (!diagnostics.empty()) return logged;
  for (const char* const pointer : needed_keys)
    if (record[Json::json_pointer(pointer)].is_null()) logged.missing.push_back(key_of(pointer));
  if (!logged.missing.empty()) return logged;
  const auto node = parse_yaml(record.dump(), "the log's record", run_record_limits(), diagnostics);
  const auto stated = node ? read_run_record(*node, diagnostics) : std::nullopt;
  if (!stated) return logged;
  RunJob run = run_job(*stated, catalog);
  logged.assumptions = std::move(run.assumptions);
  logged.why = run.why;
  if (!run.job) return logged;
  const auto open = refusals(*run.job);
  if (open.empty())
    logged.job = std::move(run.job);
  else
    logged.why = open.front().message;
  return logged;
}

}  // namespace foretrain
