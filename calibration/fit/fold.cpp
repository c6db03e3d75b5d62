// SPDX-License-Identifier: Apache-2.0

#include "calibration/fit/fold.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "models/base/ranges.hpp"
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

namespace {

namespace fs = std::filesystem;

std::string line_of(const std::string& name, double value) {
  return fmt::format("{} {:a}", name, value);
}

}  // namespace

void Fingerprint::add_byte(unsigned char byte) {
  constexpr std::uint64_t prime = 1099511628211ULL;
  hash_ = (hash_ ^ byte) * prime;
}

void Fingerprint::add(const std::string& text) {
  for (const char letter : text) add_byte(static_cast<unsigned char>(letter));
  add_byte(0);
}

void Fingerprint::add(double value) {
  auto bits = std::bit_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof bits; ++i, bits >>= 8U)
    add_byte(static_cast<unsigned char>(bits & 0xffU));
}

void Fingerprint::add(const std::vector<bool>& marks) {
  for (const bool mark : marks) add_byte(mark ? 1 : 2);
  add_byte(0);
}

fs::path FoldCache::file_of(std::uint64_t key) const {
  return folder_ / fmt::format("{:016x}.txt", key);
}

std::optional<std::vector<double>> FoldCache::find(std::uint64_t key,
                                                   const std::vector<std::string>& names) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream stream(file_of(key));
  std::vector<double> values;
  std::string line;
  for (const std::string& name : names) {
    if (!std::getline(stream, line)) return std::nullopt;
    const std::size_t blank = line.rfind(' ');
    if (blank == std::string::npos || line.substr(0, blank) != name) return std::nullopt;
    const std::string number = line.substr(blank + 1);
    char* end = nullptr;
    values.push_back(std::strtod(number.c_str(), &end));
    if (end == number.c_str() || *end != '\0') return std::nullopt;
  }
  if (!std::getline(stream, line) || line != "end") return std::nullopt;
  return values;
}

void FoldCache::keep(std::uint64_t key, const std::vector<std::string>& names,
                     const std::vector<double>& values) const {
  FORETRAIN_REQUIRE(names.size() == values.size());
  if (folder_.empty()) return;
  std::error_code failed;
  fs::create_directories(folder_, failed);
  const fs::path file = file_of(key);
  const fs::path beside = file.string() + fmt::format(".{}", getpid());
  {
    std::ofstream stream(beside);
    for (std::size_t i = 0; i < names.size(); ++i) stream << line_of(names[i], values[i]) << "\n";
    stream << "end\n";
    if (!stream.flush()) failed = std::make_error_code(std::errc::io_error);
  }
  if (!failed) fs::rename(beside, file, failed);
  if (failed) fs::remove(beside, failed);
}

fs::path usual_fold_cache() {
  const auto below = [](const char* variable, const char* rest) {
    const char* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe)
    return value == nullptr || *value == '\0' ? fs::path() : fs::path(value) / rest;
  };
  const fs::path asked = below("XDG_CACHE_HOME", "foretrain/folds");
  return asked.empty() ? below("HOME", ".cache/foretrain/folds") : asked;
}

}  // namespace foretrain
