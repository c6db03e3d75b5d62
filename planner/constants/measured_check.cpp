// SPDX-License-Identifier: Apache-2.0
#include "planner/constants/measured_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "calibration/fit/measured_fit.hpp"
#include "calibration/validate/validations.hpp"
#include "planner/constants/constants.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/catalog_profiles.hpp"

namespace foretrain {
namespace {

std::string layer_of(CatalogKind kind) {
  switch (kind) {
    case CatalogKind::stacks:
      return "stack/";
    case CatalogKind::sites:
      return "site/";
    case CatalogKind::fabrics:
      return "fabric/";
    default:
      return "device/";
  }
}

/// The shipped profile that a profile of one's own stands in for.
std::string base_of(const NamedProfile& profile) {
  for (const char* const key : {"provenance.base", "device"})
    if (const FieldValue* const value = profile.values.find(key); value && !value->text.empty())
      return layer_of(profile.kind) + value->text;
  return layer_of(profile.kind) + profile.file.name;
}

bool counts(const FieldValue& value) {
  return !value.is_default && !is_profile_bookkeeping(value.path);
}

Json word_json(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// What the profiles say they were fitted on.
struct FittedFiles {
  std::vector<std::string> digests;
  int hold_out = 0;
};

/// The catalog with the profiles that the request names, and what these were fitted on.
class Machine {
 public:
  explicit Machine(const MeasuredCheckRequest& request)
      : catalog_{load_run_catalog(request.catalogs)} {
    for (const std::string& name : request.profiles) use(named_profile(name, request.catalogs));
  }

  [[nodiscard]] const RunCatalog& catalog() const { return catalog_; }
  [[nodiscard]] const FittedFiles& fitted() const { return fitted_; }
  [[nodiscard]] const std::string& fabric() const { return fabric_; }
  [[nodiscard]] const std::string& site() const { return site_; }
  [[nodiscard]] const std::string& stack() const { return stack_; }

 private:
  template <class Read>
  auto read(const NamedProfile& profile, Read function) {
    Diagnostics diagnostics;
    std::vector<SourceFile> files;
    std::vector<ResolvedValue> values;
    CatalogContext context{{}, {}, diagnostics, files, values};
    auto entry = function(profile.file, "", context);
    diagnostics.throw_if_any();
    if (!entry) throw UsageError("cannot read " + profile.file.shown);
    return std::move(*entry);
  }

  void use(const NamedProfile& profile) {
    const std::string& name = profile.file.name;
    if (profile.kind == CatalogKind::device_profiles) {
      DeviceProfile made = read(profile, read_device_profile);
      const FieldValue* const device = profile.values.find("device");
      const std::string of = device == nullptr ? name : device->text;
      // Its products were measured alone: no table of other sources' replaces them.
      made.name = "measured " + name;
      catalog_.device_profiles[of] = std::move(made);
    } else if (profile.kind == CatalogKind::fabrics) {
      catalog_.fabrics[name] = read(profile, read_fabric);
      fabric_ = name;
    } else if (profile.kind == CatalogKind::sites) {
      catalog_.sites[name] = read(profile, read_site);
      site_ = name;
    } else {
      catalog_.stacks[name] = read(profile, read_stack);
      stack_ = name;
    }
    if (const FieldValue* const files = profile.values.find("provenance.files"))
      fitted_.digests.insert(fitted_.digests.end(), files->texts.begin(), files->texts.end());
    if (const FieldValue* const held = profile.values.find("provenance.hold_out"))
      fitted_.hold_out = std::max(fitted_.hold_out, static_cast<int>(held->number));
  }

  RunCatalog catalog_;
  FittedFiles fitted_;
  std::string fabric_;
  std::string site_;
  std::string stack_;
};

bool was_fitted(const MeasuredLog& log, const FittedFiles& fitted) {
  const std::string digest = log.sha256.substr(0, sha_digits);
  return std::ranges::any_of(fitted.digests,
                             [&](const std::string& text) { return text.ends_with(" " + digest); });
}

void append(std::vector<RecordCheck> checks, std::vector<RecordCheck>& to) {
  std::move(checks.begin(), checks.end(), std::back_inserter(to));
}

/// Records apart into those of the fit and the others, each kind checked at once.
template <class Record, class CheckAll>
void add_records(const std::vector<Record>& records, bool of_fit, const Machine& machine,
                 CheckAll check_all, MeasuredCheck& check) {
  std::vector<Record> fitted;
  std::vector<Record> tested;
  for (const Record& record : records)
    (of_fit && !is_held_out(record, machine.fitted().hold_out) ? fitted : tested).push_back(record);
  append(check_all(fitted, machine.catalog()), check.fitted);
  append(check_all(tested, machine.catalog()), check.tested);
}

void add_runs(const ImportedLog& log, const Machine& machine, MeasuredCheck& check) {
  Diagnostics diagnostics;
  const auto document = parse_yaml(log.run_records, log.file, run_record_limits(), diagnostics);
  std::vector<RunRecord> runs;
  if (document) runs = read_run_records(*document, log.file, diagnostics);
  diagnostics.throw_if_any();
  for (RunRecord& run : runs) {
    if (!machine.site().empty()) run.site = machine.site();
    if (!machine.fabric().empty()) run.fabric = machine.fabric();
    if (!machine.stack().empty()) run.stack = machine.stack();
  }
  append(check_run_steps(runs, machine.catalog()), check.tested);
  append(check_run_memory(runs, machine.catalog()), check.tested);
}

/// Files and shapes together: what counts is the kind.
std::vector<CheckSummary> kinds_of(std::vector<RecordCheck> checks) {
  for (RecordCheck& one : checks) {
    one.source = one.quantity;
    one.item.clear();
  }
  std::vector<CheckSummary> lines = summarize(checks);
  std::erase_if(lines, [](const CheckSummary& line) { return line.source == "all"; });
  return lines;
}

AnswerTable errors_table(const std::vector<RecordCheck>& checks) {
  AnswerTable table{{words_column("measured"), number_column("count"), number_column("skipped")}};
  add_error_columns(table.columns);
  for (const CheckSummary& line : kinds_of(checks)) {
    std::vector<AnswerCell> cells{line.quantity + (line.group.empty() ? "" : " " + line.group),
                                  std::to_string(line.count), std::to_string(line.skipped)};
    if (line.count > 0)
      add_errors(line, cells);
    else
      cells.insert(cells.end(), 4, AnswerCell{"-"});
    table.add(std::move(cells));
  }
  return table;
}

AnswerTable skipped_table(const MeasuredCheck& check) {
  std::map<std::string, int> reasons;
  for (const auto* checks : {&check.tested, &check.fitted})
    for (const RecordCheck& one : *checks)
      if (one.skipped) ++reasons[one.why];
  AnswerTable table{{number_column("records"), words_column("why")}};
  for (const auto& [why, count] : reasons) table.add({std::to_string(count), why});
  return table;
}

/// Of all that was not fitted, whatever it is: a share of what was measured.
AnswerHead check_head(const MeasuredCheck& check) {
  AnswerHead head;
  head.subject = "Measurements and forecasts";
  std::vector<RecordCheck> tested = check.tested;
  std::erase_if(tested, [](const RecordCheck& one) { return one.quantity == fits_quantity; });
  for (RecordCheck& one : tested) {
    one.source = one.quantity = "any";
    one.group.clear();
    one.item.clear();
  }
  const std::vector<CheckSummary> all = kinds_of(std::move(tested));
  if (all.empty() || all.front().count == 0) {
    head.words = "NOTHING HELD OUT";
    head.sentence =
        "Every record that could be predicted was fitted, which proves nothing; check others, or "
        "fit with --hold-out.";
    return head;
  }
  const CheckSummary& line = all.front();
  head.words = "MEDIAN ERROR " + short_percent(line.median) + " %";
  head.sentence = fmt::format(
      "Of {} measurements that were not fitted half are forecast within {} "
      "%, nine of ten within {} %.",
      line.count, short_percent(line.median), short_percent(line.p90));
  head.figures = {{"median", short_percent(line.median) + " %"},
                  {"P90", short_percent(line.p90) + " %"},
                  {"bias", short_signed_percent(line.bias) + " %"},
                  {"skipped", std::to_string(line.skipped)}};
  return head;
}

Json checks_tree(const std::vector<RecordCheck>& checks) {
  Json records = Json::array();
  for (const RecordCheck& one : checks) {
    const auto value = [&](double number) {
      return one.skipped ? Json(nullptr) : number_or_null(number);
    };
    records.push_back({{"id", one.id},
                       {"quantity", one.quantity},
                       {"group", one.group.empty() ? Json(nullptr) : Json(one.group)},
                       {"measured", one.measured},
                       {"predicted", value(one.predicted)},
                       {"low", value(one.low)},
                       {"high", value(one.high)},
                       {"error", value(one.skipped ? 0.0 : one.error())},
                       {"skipped", one.skipped},
                       {"why", one.why.empty() ? Json(nullptr) : Json(one.why)}});
  }
  return records;
}

}  // namespace

ProfileComparison compare_profiles(const std::string& a, const std::string& b,
                                   const std::vector<std::filesystem::path>& catalogs) {
  const NamedProfile left = named_profile(a, catalogs);
  const std::string other = b.empty() ? base_of(left) : b;
  const NamedProfile right = named_profile(other, catalogs);
  if (left.kind != right.kind)
    throw UsageError(a + " is a " + std::string(entry_noun(left.kind)) + ", " + other + " a " +
                     std::string(entry_noun(right.kind)) + ": they have nothing in common");
  ProfileComparison comparison{a, other, {}};
  for (const FieldValue& value : left.values.all()) {
    if (!counts(value)) continue;
    ProfileDifference difference{value.path, value.text, "", std::nullopt};
    if (const FieldValue* const same = right.values.find(value.path); same && counts(*same)) {
      difference.b = same->text;
      if (value.number != 0.0 && same->number != 0.0)
        difference.change = same->number / value.number - 1.0;
    }
    comparison.constants.push_back(std::move(difference));
  }
  for (const FieldValue& value : right.values.all())
    if (counts(value) && !left.values.has(value.path))
      comparison.constants.push_back({value.path, "", value.text, std::nullopt});
  return comparison;
}

Answer profile_comparison_answer(const ProfileComparison& comparison, bool all) {
  constexpr double least = 5e-4;
  AnswerTable table{{words_column("constant"), number_column("A"), number_column("B"),
                     number_column("B / A - 1")}};
  std::size_t same = 0;
  for (const ProfileDifference& one : comparison.constants) {
    const bool equal = one.a == one.b || (one.change && std::abs(*one.change) < least);
    if (equal) ++same;
    if (equal && !all) continue;
    table.add({one.key, one.a.empty() ? "-" : one.a, one.b.empty() ? "-" : one.b,
               one.change ? fmt::format("{:+.1f} %", 100.0 * *one.change) : ""});
  }
  const std::size_t differ = comparison.constants.size() - same;
  Answer answer;
  answer.head.subject = comparison.a + " and " + comparison.b;
  answer.head.words = differ == 0 ? "THE SAME" : fmt::format("{} DIFFER", differ);
  answer.head.sentence = fmt::format("{} of {} constants of A, {}, and B, {}, differ.", differ,
                                     comparison.constants.size(), comparison.a, comparison.b);
  answer.add("Constants", std::move(table));
  return answer;
}

std::string profile_comparison_json(const ProfileComparison& comparison) {
  Json constants = Json::array();
  for (const ProfileDifference& one : comparison.constants)
    constants.push_back({{"key", one.key},
                         {"a", word_json(one.a)},
                         {"b", word_json(one.b)},
                         {"change", number_or_null(one.change)}});
  return dump({{"a", comparison.a}, {"b", comparison.b}, {"constants", std::move(constants)}});
}

MeasuredCheck check_measured(const MeasuredCheckRequest& request) {
  const Machine machine(request);
  MeasuredCheck check;
  for (MeasuredLog& one : read_logs(request.logs)) {
    const bool of_fit = was_fitted(one, machine.fitted());
    if (!machine.fabric().empty())
      for (SweepRecord& record : one.log.sweeps)
        if (record.nodes > 1) record.fabric = machine.fabric();
    add_records(one.log.kernels, of_fit, machine, check_kernels, check);
    add_records(one.log.sweeps, of_fit, machine, check_collectives, check);
    if (!one.log.run_records.empty()) add_runs(one.log, machine, check);
  }
  if (check.tested.empty() && check.fitted.empty())
    throw UsageError(
        "there is nothing to predict: links and logs of runs alone are not records that "
        "models price; import the runs, fill in their plans, and check that file");
  return check;
}

Answer measured_check_answer(const MeasuredCheck& check, bool skipped) {
  Answer answer{check_head(check)};
  answer.add("Not fitted: predicted / measured - 1, percent", errors_table(check.tested));
  answer.add("Fitted on these records, which proves nothing", errors_table(check.fitted));
  if (skipped) answer.add("Skipped", skipped_table(check));
  return answer;
}

std::string measured_check_json(const MeasuredCheck& check) {
  return dump({{"tested", checks_tree(check.tested)}, {"fitted", checks_tree(check.fitted)}});
}

}  // namespace foretrain
