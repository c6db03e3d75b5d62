// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/fold.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "models/base/contains.hpp"
#include "models/base/require.hpp"
#include "models/layers/parameters.hpp"

namespace foretrain {
namespace {

using Runs = std::vector<RunFacts>;

/// A fold of the runs that `out` takes away; `asked` those of them that are forecast.
template <class Out, class Asked>
Fold fold(FoldAxis axis, std::string name, const Runs& runs, const Out& out, const Asked& asked) {
  Fold result{axis, std::move(name), false, {}, {}};
  for (const RunFacts& run : runs) {
    result.out.push_back(out(run));
    result.asked.push_back(result.out.back() && asked(run));
  }
  return result;
}

template <class Out>
Fold fold(FoldAxis axis, std::string name, const Runs& runs, const Out& out) {
  return fold(axis, std::move(name), runs, out, [](const RunFacts&) { return true; });
}

/// Distinct values in order of first appearance.
template <class Of>
std::vector<std::string> values(const Runs& runs, const Of& of) {
  std::vector<std::string> found;
  for (const RunFacts& run : runs)
    if (const std::string value = of(run); !value.empty() && !contains(found, value))
      found.push_back(value);
  return found;
}

std::vector<Fold> source_folds(const Runs& runs) {
  std::vector<Fold> folds;
  for (const std::string& source : values(runs, [](const RunFacts& run) { return run.source; })) {
    const auto own = [&](const RunFacts& run) { return run.source == source; };
    folds.push_back(fold(FoldAxis::source, source, runs, own));
    const auto part_of = [&](const RunFacts& run) { return own(run) ? run.part : std::string(); };
    for (const std::string& part : values(runs, part_of)) {
      folds.push_back(fold(FoldAxis::source, fmt::format("{} {}", source, part), runs,
                           [&](const RunFacts& run) { return own(run) && run.part == part; }));
      folds.back().part = true;
    }
  }
  return folds;
}

template <class Holds>
long count(const Runs& runs, const Holds& holds) {
  return std::ranges::count_if(runs, holds);
}

bool is_large(const RunFacts& run) { return run.gpus > fold_gpus_known; }

/// A stack on a chip without its runs there; `large`: without all runs beyond the known scale, too,
/// and only those are asked about.
std::vector<Fold> device_folds(const Runs& runs, bool large) {
  const FoldAxis axis = large ? FoldAxis::device_scale : FoldAxis::device;
  std::vector<Fold> folds;
  for (const std::string& stack : values(runs, [](const RunFacts& run) { return run.stack; }))
    for (const std::string& chip : values(runs, [](const RunFacts& run) { return run.chip; })) {
      const auto own = [&](const RunFacts& run) { return run.stack == stack && run.chip == chip; };
      const auto asked = [&](const RunFacts& run) { return own(run) && (!large || is_large(run)); };
      const long others = count(runs, [&](const RunFacts& run) {
        return run.stack == stack && run.chip != chip && run.fitted && !(large && is_large(run));
      });
      if (count(runs, asked) < fold_device_runs || others < fold_device_runs) continue;
      const auto out = [&](const RunFacts& run) { return own(run) || (large && is_large(run)); };
      folds.push_back(fold(axis, fmt::format("{} on {}", stack, chip), runs, out, asked));
    }
  return folds;
}

std::vector<Fold> release_folds(const Runs& runs) {
  std::set<int> years;
  for (const RunFacts& run : runs)
    if (run.year) years.insert(*run.year);
  std::vector<Fold> folds;
  for (const int year : years) {
    if (year == *years.begin()) continue;  // nothing is before it
    folds.push_back(fold(
        FoldAxis::release, std::to_string(year), runs,
        [year](const RunFacts& run) { return !run.year || *run.year >= year; },
        [year](const RunFacts& run) { return run.year == year; }));
  }
  return folds;
}

std::vector<Fold> schedule_folds(const Runs& runs) {
  std::vector<Fold> folds;
  for (const std::string& name : values(runs, [](const RunFacts& run) { return run.schedule; })) {
    const auto own = [&](const RunFacts& run) { return run.schedule == name; };
    if (count(runs, own) >= fold_schedule_runs)
      folds.push_back(fold(FoldAxis::schedule, name, runs, own));
  }
  return folds;
}

std::vector<Fold> beyond(FoldAxis axis, const Runs& runs) {
  if (axis == FoldAxis::scale)
    return {fold(axis, "512 GPUs and more", runs, is_large,
                 [](const RunFacts& run) { return run.gpus >= fold_gpus_asked; })};
  if (axis == FoldAxis::size)
    return {fold(axis, "above 20 B", runs,
                 [](const RunFacts& run) { return run.parameters > fold_parameters_known; })};
  return {fold(
      axis, "tensor 8 and more", runs,
      [](const RunFacts& run) { return run.tensor > fold_tensor_known; },
      [](const RunFacts& run) { return run.tensor >= fold_tensor_asked; })};
}

std::vector<Fold> all_folds(FoldAxis axis, const Runs& runs) {
  switch (axis) {
    case FoldAxis::source:
      return source_folds(runs);
    case FoldAxis::device:
      return device_folds(runs, false);
    case FoldAxis::device_scale:
      return device_folds(runs, true);
    case FoldAxis::release:
      return release_folds(runs);
    case FoldAxis::schedule:
      return schedule_folds(runs);
    case FoldAxis::scale:
    case FoldAxis::size:
    case FoldAxis::tensor:
      break;
  }
  return beyond(axis, runs);
}

std::string part_of(const FitPlan& plan, const RecordCheck& check) {
  bool divided = false;
  for (const SourcePart& part : plan.parts) {
    if (part.source != check.source) continue;
    divided = true;
    for (const std::string& text : part.contains)
      if (check.id.find(text) != std::string::npos) return part.name;
  }
  return divided ? "other" : "";
}

}  // namespace

RunFacts facts_of(const StepRun& run, const FitPlan& plan, const RunCatalog& catalog) {
  FORETRAIN_REQUIRE(run.job.has_value());
  const Job& job = *run.job;
  RunFacts facts;
  facts.source = run.check.source;
  facts.part = part_of(plan, run.check);
  facts.stack = job.stack.name;
  facts.device = job.cluster.host.device.name;
  if (job.site.provenance.trust == Trust::measured) facts.site = job.site.name;
  facts.chip = chip_of(job.cluster.host.device.name, catalog);
  facts.schedule = job.parallel.pipeline > 1 ? std::string(name_of(job.parallel.schedule))
                                             : std::string("no pipeline");
  facts.gpus = job.parallel.gpus();
  facts.tensor = job.parallel.tensor;
  facts.parameters = static_cast<double>(parameters(job.model));
  facts.year = run.year;
  facts.fitted = run.fitted != FitScope::none;
  return facts;
}

std::vector<Fold> folds_of(FoldAxis axis, const std::vector<RunFacts>& runs) {
  std::vector<Fold> folds = all_folds(axis, runs);
  folds.erase(
      std::remove_if(folds.begin(), folds.end(),
                     [](const Fold& fold) { return std::ranges::count(fold.asked, true) == 0; }),
      folds.end());
  return folds;
}

std::map<std::string, StackReach> reach_without(const std::vector<RunFacts>& runs,
                                                const std::vector<bool>& out) {
  std::map<std::string, std::set<std::string>> chips;    // by stack
  std::map<std::string, std::set<std::string>> devices;  // by chip
  std::map<std::string, StackReach> reach;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunFacts& run = runs[i];
    devices[run.chip].insert(run.device);
    if (!run.fitted || (!out.empty() && out[i])) continue;
    StackReach& own = reach[run.stack];
    ++own.runs;
    own.gpus = std::max(own.gpus, run.gpus);
    own.tensor = std::max(own.tensor, run.tensor);
    if (run.year) {
      own.first_year = std::min(own.first_year.value_or(*run.year), *run.year);
      own.last_year = std::max(own.last_year.value_or(*run.year), *run.year);
    }
    chips[run.stack].insert(run.chip);
  }
  for (auto& [stack, own] : reach)
    for (const std::string& chip : chips[stack])
      own.devices.insert(own.devices.end(), devices[chip].begin(), devices[chip].end());
  return reach;
}

const char* told(FoldAxis axis) {
  // In the order of FoldAxis.
  static constexpr std::array<const char*, EnumNames<FoldAxis>::names.size()> words{
      "sources left out of the fit",
      "a stack on a chip, fitted without its runs there",
      "512 GPUs and more, fitted on up to 64",
      "models above 20 B parameters, fitted on smaller ones",
      "8 tensor ranks and more, fitted on up to 4",
      "software of a year, fitted on the years before",
      "a schedule, fitted on all others",
      "a stack on a chip on more than 64 GPUs, fitted without its runs there and all larger ones"};
  return words.at(static_cast<std::size_t>(axis));
}

}  // namespace foretrain
