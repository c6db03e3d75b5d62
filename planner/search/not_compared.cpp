// SPDX-License-Identifier: Apache-2.0
#include "planner/search/not_compared.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/kernels/kernel_cost.hpp"

namespace foretrain {

std::vector<NotCompared> formats_not_compared(const Job& job, const std::string& subject) {
  const Device& device = job.cluster.host.device;
  const Precision own = job.training.precision;
  std::vector<NotCompared> list;
  if (!(device.peak_of(own) > FlopPerSecond{})) return list;  // does not run there
  FlopPerSecond fastest = device.peak_of(own);  // of those listed: scales of blocks gain nothing
  for (const auto& [precision, name] : EnumNames<Precision>::names) {
    if (!(device.peak_of(precision) > fastest)) continue;
    fastest = device.peak_of(precision);
    const double faster = device.peak_of(precision) / device.peak_of(own);
    const std::string factor = fmt::format("{:.2g}", faster);
    const bool known = has_gemm_profile({device, job.device_profile, precision});
    list.push_back(
        {subject, fmt::format("{} in {}, {} times {} by its datasheet: {}", device.title, name,
                              factor, name_of(own),
                              known ? fmt::format("not asked for (training.precision: {})", name)
                                    : "no kernel rates, so that it cannot be forecast")});
  }
  return list;
}

std::vector<NotCompared> costs_not_compared(const Job& job, const std::string& subject) {
  std::vector<NotCompared> list;
  const Operations& operations = job.operations;
  if (!operations.price_per_gpu && !operations.owned.gpu)
    list.push_back(
        {subject, "what it costs: neither operations.price nor operations.owned is given"});
  const bool interrupted =
      operations.mean_time_between_interruptions || operations.interruptions.gives_rate();
  if (!interrupted)
    list.push_back(
        {subject,
         "lost time: no operations.interruptions are given, so that days are without any"});
  return list;
}

NotCompared engines_not_compared(EngineKind engine) {
  std::string what = "contention in the network: foretrain simulate --engine event has it";
  if (engine == EngineKind::closed_form)
    what =
        "the step pass by pass and contention in the network: foretrain simulate --engine path "
        "and event have them";
  return {fmt::format("engine {}", name_of(engine)), std::move(what)};
}

void add_not_compared(std::vector<NotCompared>& list, std::vector<NotCompared> more) {
  for (NotCompared& item : more) {
    const bool listed = std::ranges::any_of(list, [&](const NotCompared& other) {
      return other.subject == item.subject && other.what == item.what;
    });
    if (!listed) list.push_back(std::move(item));
  }
}

}  // namespace foretrain
