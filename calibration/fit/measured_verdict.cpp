// SPDX-License-Identifier: Apache-2.0
// What measurements are worth, in sentences that their owner can act on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "calibration/fit/internal/measured_parts.hpp"
#include "calibration/fit/sweep_curve.hpp"
#include "calibration/imports/record_text.hpp"
#include "models/base/percentile.hpp"

namespace foretrain {
namespace {

using Sentences = std::vector<std::string>;

/// What one product reached in milliseconds and in seconds; TFLOP/s, MHz, W.
struct Modes {
  double burst = 0.0;
  double sustained = 0.0;
  double clock = 0.0;
  double power = 0.0;
};

std::map<std::string, Modes> products_of(const std::vector<ImportedLog>& logs) {
  std::map<std::string, Modes> products;
  for (const ImportedLog& log : logs)
    for (const KernelRecord& one : log.kernels) {
      if (!one.tflops || !one.m) continue;
      Modes& modes =
          products[fmt::format("{} {:.0f}x{:.0f}x{}", one.dtype, *one.m, *one.n, one.shape)];
      const std::string mode = note_text(one.note, "mode").value_or("");
      if (mode == "warm") modes.burst = std::max(modes.burst, *one.tflops);
      if (mode != "sustained") continue;
      modes.sustained = *one.tflops;
      modes.clock = note_number(one.note, "clock").value_or(0.0);
      modes.power = note_number(one.note, "power").value_or(0.0);
    }
  return products;
}

/// Seconds of one product against milliseconds of it.
void say_clocks(const std::vector<ImportedLog>& logs, Sentences& verdict) {
  const std::map<std::string, Modes> products = products_of(logs);
  double highest = 0.0;
  for (const ImportedLog& log : logs)
    highest = std::max(highest, log.facts.highest_clock_mhz.value_or(0.0));
  const auto lasted = [](const auto& product) { return product.second.sustained > 0.0; };
  if (!products.empty() && std::ranges::none_of(products, lasted))
    verdict.emplace_back(
        "sustained clocks were not measured: GEMMs in training keep the rate of "
        "the base profile");
  for (const auto& [name, modes] : products) {
    if (modes.burst <= 0.0 || modes.sustained <= 0.0) continue;
    const double below = 1.0 - modes.sustained / modes.burst;
    std::string text =
        fmt::format("sustained {} runs {:.0f} % below burst", name, 100.0 * std::max(0.0, below));
    if (modes.clock > 0.0 && highest > 0.0)
      text += fmt::format(" (clock {:.0f} of {:.0f} MHz{})", modes.clock, highest,
                          modes.power > 0.0 ? fmt::format(", {:.0f} W", modes.power) : "");
    verdict.push_back(text);
  }
}

/// Bits of NVML's throttle reasons that mean heat, not the power limit.
void say_heat(const std::vector<ImportedLog>& logs, Sentences& verdict) {
  constexpr std::uint64_t hot = 0x20U | 0x40U;  // software and hardware thermal slow-down
  constexpr std::uint64_t brake = 0x80U;        // hardware power brake
  int count = 0;
  for (const ImportedLog& log : logs)
    for (const KernelRecord& one : log.kernels) {
      const double reasons = note_number(one.note, "throttle").value_or(0.0);
      if (reasons < 0.0 || reasons > 1e9) continue;
      if ((static_cast<std::uint64_t>(reasons) & (hot | brake)) != 0) ++count;
    }
  if (count > 0)
    verdict.push_back(
        fmt::format("{} kernels ran while heat or a power brake slowed the GPU: cool "
                    "it and measure again",
                    count));
}

/// By kind and link, GB/s.
std::map<std::string, std::map<std::string, double>> best_rates(
    const std::vector<ImportedLog>& logs) {
  std::map<std::string, std::map<std::string, double>> best;
  for (const ImportedLog& log : logs)
    for (const LinkRate& link : log.links) {
      double& rate = best[link.kind][link.link];
      rate = std::max(rate, link.gbs.value_or(0.0));
    }
  for (auto& [kind, links] : best)
    std::erase_if(links, [](const auto& link) { return link.second <= 0.0; });
  return best;
}

/// Of links that should be alike, those well below the others.
void say_slow_links(const std::vector<ImportedLog>& logs, Sentences& verdict) {
  constexpr double slow = 0.9;
  for (const auto& [kind, links] : best_rates(logs)) {
    if (links.size() < 2) continue;
    std::vector<double> rates;
    for (const auto& [name, rate] : links) rates.push_back(rate);
    const double usual = median_of(rates);
    int index = -1;
    for (const auto& [name, rate] : links) {
      ++index;
      if (rate >= slow * usual) continue;
      const std::string which = kind.starts_with("nic") ? fmt::format("rail {} ({})", index, name)
                                                        : fmt::format("link {}", name);
      verdict.push_back(
          fmt::format("{} is slow: {:.1f} of {:.1f} GB/s ({})", which, rate, usual, kind));
    }
  }
}

std::vector<std::vector<SweepRecord>> sweeps_of(const std::vector<ImportedLog>& logs) {
  std::map<std::string, std::vector<SweepRecord>> sweeps;
  for (const ImportedLog& log : logs)
    for (const SweepRecord& record : log.sweeps)
      if (record.time_us.value_or(0.0) > 0.0) sweeps[record.sweep].push_back(record);
  std::vector<std::vector<SweepRecord>> all;
  for (auto& [name, sweep] : sweeps) all.push_back(std::move(sweep));
  return all;
}

/// The points that a sweep's own curve contradicts, the furthest by name.
void say_outliers(const std::vector<SweepRecord>& sweep, const SweepCurve& curve,
                  Sentences& verdict) {
  if (curve.outliers.empty()) return;
  const auto worst =
      std::ranges::max_element(curve.outliers, [](const CurveOutlier& a, const CurveOutlier& b) {
        return std::abs(a.log_error) < std::abs(b.log_error);
      });
  verdict.push_back(fmt::format(
      "points of {1} far off its curve: {0}; {2} by {3:+.0f} %", curve.outliers.size(),
      sweep.front().sweep, sweep[worst->record].id(), 100.0 * (std::exp(-worst->log_error) - 1.0)));
}

void say_sweeps(const std::vector<ImportedLog>& logs, const MeasuredFitRequest& request,
                Sentences& verdict) {
  constexpr std::size_t few_sizes = 8;
  constexpr double noisy = 0.06;
  int most_nodes = 0;
  std::set<std::string> operations;
  for (const auto& sweep : sweeps_of(logs)) {
    most_nodes = std::max(most_nodes, sweep.front().nodes);
    operations.insert(sweep.front().collective);
    std::set<double> sizes;
    for (const SweepRecord& record : sweep) sizes.insert(record.size_bytes);
    if (sizes.size() < few_sizes)
      verdict.push_back(
          fmt::format("{}: {} sizes are too few to tell protocols apart; sweep from "
                      "8 B to 8 GiB",
                      sweep.front().sweep, sizes.size()));
    const SweepCurve curve = fit_sweep_curve(sweep);
    if (curve.lines.empty()) continue;
    if (curve.errors.mape > noisy)
      verdict.push_back(fmt::format("{} is noisy: its points are {:.0f} % off their own curve",
                                    sweep.front().sweep, 100.0 * curve.errors.mape));
    say_outliers(sweep, curve, verdict);
  }
  if (most_nodes == 2)
    verdict.emplace_back("2-node NCCL data only: multi-node predictions extrapolate");
  if (most_nodes > 1 && request.fabric.empty())
    verdict.emplace_back(
        "collectives between hosts were measured but not fitted: name their "
        "fabric (--fabric)");
  if (most_nodes == 1) verdict.emplace_back("nothing between hosts was measured");
  if (!operations.empty() && !operations.contains("all_gather") &&
      !operations.contains("reduce_scatter"))
    verdict.emplace_back(
        "neither all-gather nor reduce-scatter was measured: sharded training "
        "relies on the base profile");
}

void say_noise(const std::vector<ImportedLog>& logs, Sentences& verdict) {
  constexpr double wide = 0.1;
  std::vector<double> spreads;
  for (const ImportedLog& log : logs)
    for (const KernelRecord& one : log.kernels)
      if (const auto spread = note_number(one.note, "spread")) spreads.push_back(*spread);
  if (spreads.empty()) return;
  const double usual = median_of(spreads);
  const auto many = std::ranges::count_if(spreads, [](double spread) { return spread > wide; });
  if (usual > 0.05)
    verdict.push_back(
        fmt::format("kernels are noisy: half of them spread by {:.0f} % and more", 100.0 * usual));
  else if (many * 10 > static_cast<std::ptrdiff_t>(spreads.size()))
    verdict.push_back(
        fmt::format("{} of {} kernels spread by more than 10 %", many, spreads.size()));
}

void say_logs(const std::vector<ImportedLog>& logs, const MeasuredFit& fit, Sentences& verdict) {
  std::size_t left_out = 0;
  for (const ImportedLog& log : logs) {
    for (const FlaggedRow& row : log.flagged) left_out += row.kept ? 0 : 1;
    for (const std::string& remark : log.remarks)
      verdict.push_back(stem_of(log.file) + ": " + remark);
  }
  if (left_out > 0)
    verdict.push_back(
        fmt::format("{} rows of the logs were left out as damaged or wrong", left_out));
  if (!fit.outliers.empty()) {
    const auto worst =
        std::ranges::max_element(fit.outliers, [](const FitOutlier& a, const FitOutlier& b) {
          return std::abs(std::log1p(a.error)) < std::abs(std::log1p(b.error));
        });
    verdict.push_back(
        fmt::format("{} records are outliers and left out of the fit; the furthest, "
                    "{}, is predicted {:+.0f} % off",
                    fit.outliers.size(), worst->what, 100.0 * worst->error));
  }
  constexpr double poor = 0.1;
  for (const FitResiduals& one : fit.residuals)
    if (one.errors.mape > poor)
      verdict.push_back(fmt::format("{} fits poorly: {:.0f} % mean error over {} records", one.what,
                                    100.0 * one.errors.mape, one.errors.count));
}

}  // namespace

std::vector<std::string> measured_verdict(const std::vector<ImportedLog>& logs,
                                          const MeasuredFitRequest& request,
                                          const MeasuredFit& fit) {
  Sentences verdict;
  say_clocks(logs, verdict);
  say_heat(logs, verdict);
  say_slow_links(logs, verdict);
  say_sweeps(logs, request, verdict);
  say_noise(logs, verdict);
  say_logs(logs, fit, verdict);
  if (verdict.empty()) verdict.emplace_back("nothing is suspicious");
  return verdict;
}

}  // namespace foretrain
