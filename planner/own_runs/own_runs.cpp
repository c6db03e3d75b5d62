// SPDX-License-Identifier: Apache-2.0
#include "planner/own_runs/own_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibration/cases/step_case.hpp"
#include "calibration/fit/own_fit.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "calibration/fit/profile_text.hpp"
#include "calibration/records/run_source.hpp"
#include "models/base/percentile.hpp"
#include "planner/constants/constants.hpp"
#include "planner/evidence/internal/record_files.hpp"
#include "planner/own_runs/own_suggest.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

using Around = std::map<ProfileLayer, std::string>;

template <class Entries>
void check_known(const Entries& entries, const ProfileRef& profile) {
  if (entries.count(profile.name) > 0) return;
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries) names.push_back(name);
  throw UsageError(fmt::format("--around {}: there is no such {}{} (known: {})", profile.text(),
                               name_of(profile.layer), nearest_hint(profile.name, names),
                               joined(names)));
}

Around around_of(const std::string& text, const RunCatalog& catalog) {
  Around around;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const std::string part = text.substr(from, comma - from);
    const auto profile = profile_ref(part);
    if (!profile)
      throw UsageError("--around " + in_quotes(part) +
                       " is not stack/NAME, site/NAME or device/NAME");
    if (profile->layer == ProfileLayer::stack) check_known(catalog.stacks, *profile);
    if (profile->layer == ProfileLayer::site) check_known(catalog.sites, *profile);
    if (profile->layer == ProfileLayer::device) check_known(catalog.device_profiles, *profile);
    if (!around.emplace(profile->layer, profile->name).second)
      throw UsageError(fmt::format("--around names two {} profiles", name_of(profile->layer)));
    from = comma + 1;
  }
  return around;
}

/// Records of a file: a list as runs.yaml, or the one of `import log --json`.
std::vector<RunRecord> records_in(const RecordFile& file) {
  Diagnostics diagnostics;
  auto document = parse_yaml(contents(file), file.name, run_record_limits(), diagnostics);
  diagnostics.throw_if_any();
  if (!document) throw UsageError(file.name + ": no records");
  if (const YamlNode* const record = document->find("record");
      record != nullptr && document->find("runs") == nullptr) {
    YamlNode list;
    list.kind = YamlNode::Kind::sequence;
    list.mark = record->mark;
    list.items.push_back(*record);
    document->entries.push_back({"runs", record->mark, std::move(list)});
  }
  std::vector<RunRecord> records = read_run_records(*document, file.name, diagnostics);
  diagnostics.throw_if_any();
  return records;
}

std::string stack_advice(const RunRecord& record) {
  return fmt::format(
      "; the nearest is {0}: name it in the record (stack: {0}) or with --around stack/{0}",
      nearest_stack(record));
}

/// A record around the profiles that were asked for; skipped with the reason.
StepRun run_around(RunRecord record, const Around& around, const RunCatalog& catalog) {
  const auto set = [&](ProfileLayer layer, std::string& name) {
    if (const auto found = around.find(layer); found != around.end()) name = found->second;
  };
  set(ProfileLayer::stack, record.stack);
  set(ProfileLayer::site, record.site);
  StepRun run = step_run(record, catalog);
  if (!record.tells_speed()) skip(run.check, "it states no speed");
  if (run_source(record).kin)
    skip(run.check, "no stack profile for the framework of this source" + stack_advice(record));
  if (const auto device = around.find(ProfileLayer::device); run.job && device != around.end())
    run.job->device_profile = catalog.device_profiles.at(device->second);
  return run;
}

/// Runs with their time, of every record that tells one; the others with the reason.
std::vector<StepRun> runs_of(const OwnRunsRequest& request, const Around& around,
                             const RunCatalog& catalog, OwnRunsFit& fit) {
  std::vector<StepRun> runs;
  std::set<std::string> ids;
  for (const std::filesystem::path& path : request.files) {
    fit.files.push_back(path.string());
    for (RunRecord& record : records_in({path, path.string()})) {
      const bool again = !ids.insert(record.id).second;
      StepRun run = run_around(std::move(record), around, catalog);
      if (again) skip(run.check, "a run of that id was there before");
      if (run.job && !run.check.skipped)
        runs.push_back(std::move(run));
      else
        fit.skipped.push_back(std::move(run.check));
    }
  }
  if (!runs.empty()) return runs;
  std::string why = "no run could be priced";
  for (const RecordCheck& check : fit.skipped) why += fmt::format("; {}: {}", check.id, check.why);
  throw UsageError(why);
}

bool has_file(const ProfileRef& profile, const std::vector<std::filesystem::path>& catalogs) {
  Diagnostics diagnostics;
  const auto roots = catalog_roots(catalogs, diagnostics);
  diagnostics.throw_if_any();
  return find_catalog_file(profile_kind(profile.layer), profile.name, roots).has_value();
}

/// Without those of devices whose rates are in proportion to a relative's: no file can be like
/// them. How fast they run here is the site's clock.
std::vector<OwnConstant> movable(std::vector<OwnConstant> constants,
                                 const OwnRunsRequest& request) {
  std::erase_if(constants, [&](const OwnConstant& constant) {
    return !has_file(constant.profile, request.catalogs);
  });
  return constants;
}

FitConstant written_as(const OwnConstant& constant) {
  FitConstant written;
  written.keys = constant.keys;
  written.profiles = {constant.profile};
  return written;
}

/// How far a constant has to move a forecast of these runs, as a share of it, to be written.
constexpr double least_moved = 5e-4;
constexpr int own_digits = 4;

/// Every constant before and after, and whether it moved.
std::vector<OwnConstantLine> constant_lines(const std::vector<OwnConstant>& constants,
                                            const OwnPosterior& posterior,
                                            const std::vector<OwnRun>& runs) {
  std::vector<std::vector<double>> slopes;
  for (const OwnRun& run : runs) slopes.push_back(slopes_at(constants, posterior.values, run.job));
  const OwnPosterior before = belief_before(constants);
  std::vector<OwnConstantLine> lines;
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const OwnConstant& constant = constants[i];
    const double moved = std::log(posterior.values[i] / constant.shipped);
    double effect = 0.0;
    for (const std::vector<double>& slope : slopes)
      effect = std::max(effect, std::abs(slope[i] * moved));
    const FitConstant as = written_as(constant);
    OwnConstantLine line;
    line.profile = constant.profile.text();
    line.keys = constant.keys;
    line.before = fitted_text(as, constant.shipped, own_digits);
    line.after = fitted_text(as, posterior.values[i], own_digits);
    line.change = std::exp(moved) - 1.0;
    line.width = deviation_of(before, i);
    line.deviation = deviation_of(posterior, i);
    for (const std::vector<double>& slope : slopes)
      line.effect = std::max(line.effect, std::abs(slope[i]) * line.width);
    line.moved = effect >= least_moved && line.after != line.before;
    lines.push_back(std::move(line));
  }
  return lines;
}

/// The catalog as the written files make it.
RunCatalog own_catalog(RunCatalog catalog, const std::vector<OwnConstant>& constants,
                       const OwnRunsFit& fit, const std::map<ProfileRef, OwnFileFacts>& facts) {
  for (std::size_t i = 0; i < constants.size(); ++i) {
    if (!fit.constants[i].moved) continue;
    const double value = fitted_value(written_as(constants[i]), fit.constants[i].after);
    for (const std::string& key : constants[i].keys)
      if (const auto found = constant_of(constants[i].profile, key, catalog)) found->set(value);
  }
  for (const auto& [profile, fact] : facts) {
    if (profile.layer == ProfileLayer::stack) {
      StackProfile& stack = catalog.stacks.at(profile.name);
      stack.band_low = fact.band_low;
      stack.band_high = fact.band_high;
      stack.provenance.trust = Trust::measured;
    }
    if (profile.layer == ProfileLayer::site)
      catalog.sites.at(profile.name).provenance.trust = Trust::measured;
    if (profile.layer == ProfileLayer::device)
      catalog.device_profiles.at(profile.name).provenance.trust = Trust::measured;
  }
  return catalog;
}

/// The band that these runs leave a stack: what they do not determine of its constants together
/// with what no constant explains, 10th to 90th percentile.
double log_band(const std::vector<OwnConstant>& constants, const OwnPosterior& posterior,
                const std::vector<OwnRun>& runs, const std::string& stack) {
  constexpr double least = 0.03;        // repeated runs of one configuration differ by that much
  constexpr double ninetieth = 1.2816;  // of a normal distribution, 90th percentile
  double variance = 0.0;
  int count = 0;
  for (const OwnRun& run : runs) {
    if (run.job.stack.name != stack) continue;
    const std::vector<double> slope = slopes_at(constants, posterior.values, run.job);
    const double own = posterior.noise * own_noise_factor(run.job);
    variance += shared_variance(posterior, slope, slope) + own * own;
    ++count;
  }
  return std::max(least, ninetieth * std::sqrt(variance / std::max(1, count)));
}

std::map<ProfileRef, OwnFileFacts> file_facts(const std::vector<OwnConstant>& constants,
                                              const OwnPosterior& posterior,
                                              const std::vector<OwnRun>& runs,
                                              const OwnRunsFit& fit) {
  std::map<ProfileRef, OwnFileFacts> facts;
  for (std::size_t i = 0; i < constants.size(); ++i)
    if (fit.constants[i].moved) facts[constants[i].profile];
  for (const OwnRun& run : runs) {
    facts[{ProfileLayer::stack, run.job.stack.name}];
    if (run.job.cluster.hosts > 1) facts[{ProfileLayer::site, run.job.site.name}];
  }
  for (auto& [profile, fact] : facts) {
    if (profile.layer != ProfileLayer::stack) continue;
    const double band = log_band(constants, posterior, runs, profile.name);
    fact.band_low = std::round(1000.0 * std::exp(-band)) / 1000.0;
    fact.band_high = std::round(1000.0 * std::exp(band)) / 1000.0;
  }
  return facts;
}

void add_forecasts(const std::vector<StepRun>& runs, const RunCatalog& after,
                   const std::vector<double>& left_out, OwnRunsFit& fit) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    StepRun before = runs[i];
    predict(before);
    StepRun own = runs[i];
    take_profiles(*own.job, after);
    for (Job& other : own.alternatives) take_profiles(other, after);
    predict(own);
    OwnRunLine line{before.check, own.check, std::nullopt, {}};
    for (const ProfileRef& profile : profiles_of(*own.job)) line.profiles.push_back(profile.text());
    if (!left_out.empty()) line.left_out = left_out[i];
    fit.runs.push_back(std::move(line));
  }
}

double median_error(const OwnRunsFit& fit) {
  std::vector<double> errors;
  for (const OwnRunLine& line : fit.runs)
    errors.push_back(
        std::abs(line.left_out.value_or(line.after.predicted) / line.after.measured - 1.0));
  return median_of(std::move(errors));
}

}  // namespace

std::vector<ProfileRef> profiles_of(const Job& job) {
  return {{ProfileLayer::stack, job.stack.name},
          {ProfileLayer::site, job.site.name},
          {ProfileLayer::device, job.device_profile.name}};
}

StatedDeviations stated_deviations_of(const std::vector<const Job*>& jobs,
                                      const std::vector<std::filesystem::path>& catalogs) {
  StatedDeviations stated;
  for (const Job* job : jobs)
    for (const ProfileRef& profile : profiles_of(*job)) {
      if (stated.count(profile) > 0) continue;
      auto& own = stated[profile];
      if (!has_file(profile, catalogs)) continue;
      const FieldValues values =
          profile_values(profile_kind(profile.layer), profile.name, catalogs);
      const FieldValue* const said = values.find("deviations");
      if (said == nullptr) continue;
      for (const YamlEntry& entry : said->node.entries)
        own[entry.key] = parse_number(entry.value.text).value.value_or(0.0);
    }
  return stated;
}

std::vector<OwnRun> own_runs_in(const std::vector<std::filesystem::path>& files,
                                const std::vector<std::filesystem::path>& catalogs) {
  OwnRunsRequest request;
  request.files = files;
  request.catalogs = catalogs;
  OwnRunsFit unheard;
  std::vector<OwnRun> own;
  for (const StepRun& run : runs_of(request, {}, load_run_catalog(catalogs), unheard))
    own.push_back({*run.job, run.check.measured});
  return own;
}

OwnRunsFit fit_own_runs(const OwnRunsRequest& request) {
  constexpr std::size_t enough_to_leave_out = 3;
  const RunCatalog catalog = load_run_catalog(request.catalogs);
  OwnRunsFit fit;
  const std::vector<StepRun> runs =
      runs_of(request, around_of(request.around, catalog), catalog, fit);
  std::vector<OwnRun> own;
  for (const StepRun& run : runs) own.push_back({*run.job, run.check.measured});
  std::vector<const Job*> jobs;
  std::set<std::string> profiles;
  for (const OwnRun& run : own) {
    jobs.push_back(&run.job);
    for (const ProfileRef& profile : profiles_of(run.job)) profiles.insert(profile.text());
  }
  fit.profiles = {profiles.begin(), profiles.end()};
  const auto constants =
      movable(own_constants(jobs, stated_deviations_of(jobs, request.catalogs)), request);
  const OwnPosterior posterior = fit_own(constants, own);
  fit.noise = posterior.noise;
  fit.constants = constant_lines(constants, posterior, own);
  const auto facts = file_facts(constants, posterior, own, fit);
  const std::vector<double> left_out =
      own.size() < enough_to_leave_out ? std::vector<double>{} : left_out_own(constants, own);
  add_forecasts(runs, own_catalog(catalog, constants, fit, facts), left_out, fit);
  fit.made = own_profile_files(request, facts, median_error(fit), fit);
  return fit;
}

}  // namespace foretrain
