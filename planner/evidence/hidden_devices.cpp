// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/studies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "calibration/validate/hidden_device.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/evidence/internal/validate_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

template <class Read>
auto alone_records(const RecordFile& file, const Read& read) {
  Diagnostics diagnostics;
  auto records = read(contents(file), file.name, diagnostics);
  diagnostics.throw_if_any();
  return records;
}

MeasuredRecords records_of(const ValidateRequest& request) {
  MeasuredRecords records;
  const auto append = [](auto more, auto& all) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  if (request.kernels && !request.kernels->empty())
    records.kernels =
        alone_records(record_file(*request.kernels, "", request.catalogs), read_kernel_records);
  if (request.kernels && request.kernels->empty())
    for (const char* const shipped : kernel_tables)
      append(alone_records(record_file("", shipped, request.catalogs), read_kernel_records),
             records.kernels);
  if (request.collectives)
    records.sweeps = alone_records(
        record_file(*request.collectives, "nccl_sweeps.csv", request.catalogs), read_sweep_records);
  records.runs = asked_runs(request);
  return records;
}

std::string relative_of(const HiddenPair& pair, const RunCatalog& catalog) {
  std::string relative = pair.relative;
  const auto like = catalog.relatives.find(pair.device);
  if (relative.empty() && like != catalog.relatives.end()) relative = like->second;
  if (relative.empty())
    throw UsageError("--hide-device " + pair.device +
                     ": its file is like no other device; say "
                     "which is its relative, as in " +
                     pair.device + "=RELATIVE");
  if (const std::string fault = hiding_fault(pair.device, relative, catalog); !fault.empty())
    throw UsageError("--hide-device: " + fault);
  return relative;
}

/// Kernels, collectives, runs: what a summary is of.
std::string label_of(const CheckSummary& summary) {
  if (summary.quantity == collective_quantity) return "collectives " + summary.group;
  if (summary.quantity == step_quantity) return "steps " + summary.group;
  return summary.group;
}

/// One line per group of the device, in the order of its records.
std::vector<HiddenErrors> errors_of(HiddenDevice hidden) {
  for (RecordCheck& check : hidden.checks) {
    check.source = hidden.device;
    check.item.clear();
  }
  std::vector<HiddenErrors> errors;
  for (CheckSummary& summary : summarize(hidden.checks))
    if (summary.source == hidden.device && summary.count > 0)
      errors.push_back({hidden.device, hidden.relative, hidden.hidden_with, std::move(summary)});
  return errors;
}

/// Errors of the steps of each device where it has some, else of the largest group.
AnswerHead hidden_head(const std::vector<HiddenErrors>& errors) {
  AnswerHead head;
  head.subject = "Devices as if a relative and their datasheet were all";
  std::vector<const HiddenErrors*> shown;
  for (const HiddenErrors& line : errors) {
    const bool steps = line.summary.quantity == step_quantity;
    if (shown.empty() || shown.back()->device != line.device)
      shown.push_back(&line);
    else if (const bool had = shown.back()->summary.quantity == step_quantity;
             steps != had ? steps : line.summary.count > shown.back()->summary.count)
      shown.back() = &line;
  }
  for (const HiddenErrors* line : shown)
    if (head.figures.size() < 4)
      head.figures.push_back({line->device, short_percent(line->summary.median) + " %",
                              "P90 " + short_percent(line->summary.p90) + " %",
                              fmt::format("{} {}, from {}", line->summary.count,
                                          label_of(line->summary), line->relative)});
  head.words = "MEDIAN ERROR " + head.figures.front().value;
  head.sentence = fmt::format(
      "Forecast without any of its own measurements, {} is {} off in the median ({}).",
      shown.front()->device, head.figures.front().value, head.figures.front().difference);
  return head;
}

}  // namespace

std::vector<HiddenErrors> validate_hidden(const ValidateRequest& request,
                                          const std::vector<HiddenPair>& pairs) {
  RunCatalog catalog = load_run_catalog(request.catalogs);
  std::vector<HiddenPair> asked = pairs;
  for (HiddenPair& pair : asked) pair.relative = relative_of(pair, catalog);
  const NamedFitPlan plan = load_fit_plan("", request.catalogs, catalog);
  const MeasuredRecords records = records_of(request);
  std::vector<HiddenErrors> errors;
  for (const HiddenPair& pair : asked) {
    auto lines = errors_of(hide_device(pair.device, pair.relative, plan.plan, records, catalog));
    std::move(lines.begin(), lines.end(), std::back_inserter(errors));
  }
  if (errors.empty())
    throw UsageError("--hide-device: there is no record of these devices that could be priced");
  return errors;
}

Answer hidden_answer(const std::vector<HiddenErrors>& errors) {
  Answer answer{hidden_head(errors)};
  for (std::size_t i = 0; i < errors.size();) {
    const HiddenErrors& first = errors[i];
    AnswerTable table{{words_column("what"), number_column("count")}};
    add_error_columns(table.columns);
    table.columns.push_back(number_column("band"));
    for (; i < errors.size() && errors[i].device == first.device; ++i) {
      const CheckSummary& summary = errors[i].summary;
      std::vector<AnswerCell> cells{label_of(summary), std::to_string(summary.count)};
      add_errors(summary, cells);
      cells.emplace_back(fixed_text(summary.covered * 100.0, 0));
      table.add(std::move(cells));
    }
    AnswerSection section{
        fmt::format("{} from {}: predicted / measured - 1, percent", first.device, first.relative),
        {std::move(table)}};
    if (!first.hidden_with.empty())
      section.blocks.emplace_back(AnswerLine{"Hidden with it: " + joined(first.hidden_with) + "."});
    answer.add(std::move(section));
  }
  answer.add("", AnswerLine{"Every constant was fitted again without the device's records, and the "
                            "device given its relative's in proportion to the datasheets. band: "
                            "measurements inside the forecast's P10 to P90."});
  return answer;
}

std::string hidden_json(const std::vector<HiddenErrors>& errors) {
  Json lines = Json::array();
  for (const HiddenErrors& line : errors)
    lines.push_back({{"device", line.device},
                     {"relative", line.relative},
                     {"hidden_with", line.hidden_with},
                     {"quantity", line.summary.quantity},
                     {"group", line.summary.group},
                     {"count", line.summary.count},
                     {"bias", line.summary.bias},
                     {"mape", line.summary.mape},
                     {"median", line.summary.median},
                     {"p90", line.summary.p90},
                     {"in_band", line.summary.covered}});
  return dump({{"hidden", std::move(lines)}});
}

std::string hidden_csv(const std::vector<HiddenErrors>& errors) {
  std::string text = "device,relative,quantity,group,count,bias,mape,median,p90,in_band\n";
  for (const HiddenErrors& line : errors)
    text += fmt::format("{},{},{},{},{},{:.2f},{:.2f},{:.2f},{:.2f},{:.1f}\n", line.device,
                        line.relative, line.summary.quantity, line.summary.group,
                        line.summary.count, 100.0 * line.summary.bias, 100.0 * line.summary.mape,
                        100.0 * line.summary.median, 100.0 * line.summary.p90,
                        100.0 * line.summary.covered);
  return text;
}

}  // namespace foretrain
