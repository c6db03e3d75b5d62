// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/fitted_value.hpp"

#include <algorithm>
#include <iterator>

namespace foretrain {
namespace {

constexpr int scaled_up = 2;  // further GPUs are the same circumstance up to here

void insert_name(const std::string& name, std::vector<std::string>& names) {
  if (name.empty()) return;
  const auto at = std::lower_bound(names.begin(), names.end(), name);
  if (at == names.end() || *at != name) names.insert(at, name);
}

void widen(const std::optional<int>& value, std::optional<int>& least, std::optional<int>& most) {
  if (!value) return;
  least = std::min(least.value_or(*value), *value);
  most = std::max(most.value_or(*value), *value);
}

/// Both sorted.
std::vector<std::string> without(const std::vector<std::string>& all,
                                 const std::vector<std::string>& known) {
  std::vector<std::string> rest;
  std::set_difference(all.begin(), all.end(), known.begin(), known.end(), std::back_inserter(rest));
  return rest;
}

}  // namespace

FitRecord fit_record(const RecordCheck& check, const Job& job, const std::optional<int>& year) {
  return {check.id, check.source,  job.cluster.host.device.name, job.parallel.gpus(),
          year,     job.stack.name};
}

void ConstantReach::add(const FitRecord& record) {
  insert_name(record.device, devices);
  insert_name(record.stack, stacks);
  widen(record.gpus, least_gpus, most_gpus);
  widen(record.year, first_year, last_year);
}

void ConstantReach::add(const ConstantReach& other) {
  for (const std::string& device : other.devices) insert_name(device, devices);
  for (const std::string& stack : other.stacks) insert_name(stack, stacks);
  for (const auto& gpus : {other.least_gpus, other.most_gpus}) widen(gpus, least_gpus, most_gpus);
  for (const auto& year : {other.first_year, other.last_year}) widen(year, first_year, last_year);
}

ReachBeyond beyond(const ConstantReach& told, const ConstantReach& used, bool scaled) {
  ReachBeyond made;
  made.devices = without(used.devices, told.devices);
  if (!told.stacks.empty()) made.stacks = without(used.stacks, told.stacks);
  if (scaled && told.most_gpus && used.most_gpus && *used.most_gpus > scaled_up * *told.most_gpus)
    made.gpus = used.most_gpus;
  if (told.first_year && used.first_year && *used.first_year < *told.first_year)
    made.first_year = used.first_year;
  if (told.last_year && used.last_year && *used.last_year > *told.last_year)
    made.last_year = used.last_year;
  return made;
}

}  // namespace foretrain
