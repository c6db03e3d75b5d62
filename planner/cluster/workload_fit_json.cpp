// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "planner/cluster/workload_fit.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

Json cycle_tree(const std::optional<CycleTest>& test) {
  if (!test) return nullptr;
  return {{"periods", test->periods},
          {"f", test->statistic},
          {"probability", test->probability},
          {"peak_over_mean", test->peak},
          {"taken", test->taken}};
}

Json arrivals_tree(const ArrivalFit& fit) {
  return {{"per_day", fit.law.rate * days},
          {"day", fit.law.day},
          {"week", fit.law.week},
          {"day_test", cycle_tree(fit.day)},
          {"week_test", cycle_tree(fit.week)},
          {"gaps", fit.gaps},
          {"ks_distance", fit.gaps > 0 ? Json(fit.distance) : Json(nullptr)},
          {"dispersion", number_or_null(fit.dispersion)},
          {"growth", number_or_null(fit.growth)}};
}

Json tried_tree(const DurationFit& fit) {
  return {{"law", std::string(name_of(fit.law.kind))},
          {"mean_s", fit.law.mean().value()},
          {"cv", std::sqrt(fit.law.squared_variation())},
          {"aic", fit.aic},
          {"ks_distance", fit.distance}};
}

Json duration_tree(const FittedClass& fitted) {
  Json tried = Json::array();
  for (const DurationFit& fit : fitted.laws) tried.push_back(tried_tree(fit));
  return {{"law", std::string(name_of(fitted.duration.kind))},
          {"mean_s", fitted.duration.mean().value()},
          {"cv", std::sqrt(fitted.duration.squared_variation())},
          {"log_mean_s", fitted.log_mean.value()},
          {"ks_distance", fitted.distance},
          {"n", fitted.jobs},
          {"tried", std::move(tried)}};
}

Json limit_tree(const LimitFit& limit) {
  return {{"told", limit.told},
          {"reached", limit.reached},
          {"time_s", limit.time ? Json(limit.time->value()) : Json(nullptr)},
          {"factor", number_or_null(limit.factor)}};
}

Json fitted_tree(const FittedClass& fitted) {
  Json sizes = Json::array();
  for (const JobSize& size : fitted.sizes)
    sizes.push_back({{"hosts", size.hosts}, {"jobs", std::llround(size.weight)}});
  return {{"name", fitted.name},
          {"team", fitted.team.empty() ? Json(nullptr) : Json(fitted.team)},
          {"jobs", fitted.jobs},
          {"arrivals", arrivals_tree(fitted.arrivals)},
          {"sizes", std::move(sizes)},
          {"duration", duration_tree(fitted)},
          {"limit", limit_tree(fitted.limit)},
          {"hosts_in_use", {{"log", fitted.log_hosts}, {"model", fitted.model_hosts}}}};
}

}  // namespace

std::string workload_fit_json(const WorkloadFit& fit) {
  Json classes = Json::array();
  for (const FittedClass& fitted : fit.classes) classes.push_back(fitted_tree(fitted));
  const Json tree{{"schema", "cluster-fit/1"},
                  {"foretrain_version", version},
                  {"name", fit.request.name},
                  {"source", fit.request.source},
                  {"cluster",
                   {{"host", fit.request.host},
                    {"hosts", fit.hosts},
                    {"most_in_use", fit.most_in_use ? Json(*fit.most_in_use) : Json(nullptr)}}},
                  {"window", {{"from_s", fit.window.from}, {"to_s", fit.window.to}}},
                  {"jobs", fit.jobs},
                  {"left_out", fit.left_out},
                  {"classes", std::move(classes)},
                  {"notes", fit.notes},
                  {"file", workload_yaml(fit)}};
  return tree.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace foretrain
