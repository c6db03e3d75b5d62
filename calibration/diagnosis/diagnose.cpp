// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/diagnosis/hypothesis.hpp"
#include "calibration/diagnosis/likelihood.hpp"
#include "calibration/diagnosis/sign.hpp"

namespace foretrain {
namespace {

MeasuredRun measured_run(const TrainingLog& log) {
  return {log.step->median, log.clues.sections, log.clues.rank_gap, log.memory_max_bytes,
          log.memory_kind == "reserved"};
}

double rate_of(const Hypothesis& hypothesis, Sign sign) {
  for (const SignRate& one : hypothesis.signs)
    if (one.sign == sign) return one.rate;
  return usual_rate(sign);
}

double ln_sum(const std::vector<ComparedQuantity>& comparisons) {
  double sum = 0.0;
  for (const ComparedQuantity& one : comparisons) sum += one.ln;
  return sum;
}

/// Weighs hypotheses by Bayes' rule: the prior, times the likelihood of what was measured in the
/// mean over the variations of a cause, times that of the signs.
class Ranking {
 public:
  Ranking(const TrainingLog& log, const Job& job, Diagnosis& diagnosis)
      : diagnosis_{diagnosis},
        of_{job, diagnosis.expected},
        measured_{measured_run(log)},
        error_{forecast_error(diagnosis.forecast)},
        signs_{signs_of(log, diagnosis.course, job, diagnosis.expected)},
        plain_{compare_run(measured_, diagnosis.expected, error_)} {}

  void rank() {
    for (const Hypothesis& hypothesis : hypothesis_registry()) weigh(hypothesis);
    const double most = *std::max_element(ln_.begin(), ln_.end());
    double sum = 0.0;
    for (double& ln : ln_) sum += ln = std::exp(ln - most);
    for (std::size_t i = 0; i < ln_.size(); ++i) diagnosis_.causes[i].likelihood = ln_[i] / sum;
    std::stable_sort(
        diagnosis_.causes.begin(), diagnosis_.causes.end(),
        [](const RankedCause& a, const RankedCause& b) { return a.likelihood > b.likelihood; });
    constexpr double third = 1.0 / 3.0;
    const double first = diagnosis_.causes.front().likelihood;
    diagnosis_.tied = static_cast<std::size_t>(
        std::count_if(diagnosis_.causes.begin(), diagnosis_.causes.end(),
                      [&](const RankedCause& one) { return one.likelihood >= third * first; }));
  }

 private:
  void weigh(const Hypothesis& hypothesis) {
    const bool open = hypothesis.id == unexplained_id;
    const std::vector<Variation> variations = hypothesis.variations(of_);
    if (variations.empty()) return;
    std::vector<std::vector<ComparedQuantity>> compared;
    std::vector<double> sums;
    for (const Variation& one : variations) {
      compared.push_back(compare_run(measured_, one.run, error_));
      if (open)
        for (ComparedQuantity& comparison : compared.back())
          comparison.ln = ln_unexplained(comparison);
      sums.push_back(ln_sum(compared.back()));
    }
    const auto best = std::max_element(sums.begin(), sums.end());
    double mean = 0.0;
    for (const double sum : sums) mean += std::exp(sum - *best) / static_cast<double>(sums.size());
    double ln = std::log(hypothesis.prior) + *best + std::log(mean);
    const auto place = static_cast<std::size_t>(best - sums.begin());
    RankedCause cause{std::string(hypothesis.id),
                      std::string(hypothesis.title),
                      variations[place].setting,
                      0.0,
                      variations[place].run.step,
                      std::nullopt,
                      {},
                      std::string(hypothesis.test)};
    for (const SignSeen& sign : signs_) ln += of_sign(hypothesis, sign, cause);
    add_comparisons(compared[place], cause);
    add_share(hypothesis, cause);
    ln_.push_back(ln);
    diagnosis_.causes.push_back(std::move(cause));
  }

  static double of_sign(const Hypothesis& hypothesis, const SignSeen& sign, RankedCause& cause) {
    const double rate = rate_of(hypothesis, sign.sign);
    const double usual = usual_rate(sign.sign);
    const double with = sign.seen ? rate : 1.0 - rate;
    const double without = sign.seen ? usual : 1.0 - usual;
    add_evidence(sign.what, std::log(with / without), cause);
    return std::log(with);
  }

  void add_comparisons(const std::vector<ComparedQuantity>& compared, RankedCause& cause) const {
    for (std::size_t i = 0; i < compared.size() && i < plain_.size(); ++i)
      add_evidence(compared[i].what, compared[i].ln - plain_[i].ln, cause);
    std::stable_sort(cause.evidence.begin(), cause.evidence.end(),
                     [](const Evidence& a, const Evidence& b) {
                       return std::abs(a.weight) > std::abs(b.weight);
                     });
  }

  static void add_evidence(const std::string& what, double weight, RankedCause& cause) {
    constexpr double least = 0.4;  // half as likely again
    if (std::abs(weight) >= least) cause.evidence.push_back({what, weight});
  }

  void add_share(const Hypothesis& hypothesis, RankedCause& cause) const {
    const double gap = measured_.step - of_.expected.step;
    constexpr double least = 0.02;
    if (hypothesis.id == unexplained_id || std::abs(gap) < least * of_.expected.step) return;
    cause.share = (cause.step - of_.expected.step) / gap;
  }

  Diagnosis& diagnosis_;
  DiagnosisCase of_;
  MeasuredRun measured_;
  ForecastError error_;
  std::vector<SignSeen> signs_;
  std::vector<ComparedQuantity> plain_;
  std::vector<double> ln_;
};

/// By sections, where the log times them; else by the likeliest cause. Ends with the measurement.
std::vector<WaterfallLine> waterfall_of(const TrainingLog& log, const Diagnosis& diagnosis) {
  const double measured = diagnosis.course.median;
  std::vector<WaterfallLine> lines{{"forecast", diagnosis.expected.step}};
  double rest = measured - diagnosis.expected.step;
  const auto add = [&](std::string label, double seconds) {
    lines.push_back({std::move(label), seconds});
    rest -= seconds;
  };
  const auto& sections = log.clues.sections;
  const bool timed =
      sections.contains(LogSection::forward) && sections.contains(LogSection::backward);
  for (const LogSection section : {LogSection::forward, LogSection::backward, LogSection::gradients,
                                   LogSection::optimizer, LogSection::input}) {
    const auto found = sections.find(section);
    if (!timed || found == sections.end()) continue;
    double took = found->second.most;
    if (const auto weights = sections.find(LogSection::parameters);
        section == LogSection::gradients && weights != sections.end())
      took += weights->second.most;
    add(std::string(name_of(section)), took - diagnosis.expected.sections.at(section).most);
  }
  const RankedCause& first = diagnosis.causes.front();
  if (!timed && first.id != as_forecast_id && first.id != unexplained_id &&
      std::abs(first.step - diagnosis.expected.step) > 1e-9)
    add(first.title, first.step - diagnosis.expected.step);
  lines.push_back({timed ? "rest of the step" : "not explained", rest});
  lines.push_back({"measurement", measured});
  return lines;
}

/// What would tell more, of what the log does not have.
std::vector<std::string> missing_of(const TrainingLog& log) {
  std::vector<std::string> missing;
  if (log.clues.sections.empty())
    missing.emplace_back(
        "times of passes, exchanges, optimizer and data (Megatron: --timing-log-level 2 "
        "--timing-log-option minmax; DeepSpeed: wall_clock_breakdown)");
  if (!log.clues.clock_low_mhz)
    missing.emplace_back("clocks and use of GPUs (Megatron: --log-straggler; else DCGM)");
  if (!log.clues.nics && !log.clues.sockets)
    missing.emplace_back("NICs that NCCL uses (NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET)");
  if (!log.memory_max_bytes) missing.emplace_back("memory that is held at most");
  return missing;
}

}  // namespace

bool Diagnosis::as_forecast() const { return causes.front().id == as_forecast_id; }

Diagnosis diagnose(const TrainingLog& log, const Job& job) {
  Diagnosis diagnosis;
  diagnosis.course = run_course(log);
  diagnosis.forecast = expected_band(job);
  diagnosis.expected = expected_run(job);
  diagnosis.in_band = diagnosis.course.median >= diagnosis.forecast.low.value() &&
                      diagnosis.course.median <= diagnosis.forecast.high.value();
  Ranking(log, job, diagnosis).rank();
  diagnosis.waterfall = waterfall_of(log, diagnosis);
  diagnosis.differences = setting_differences(log.plan, job);
  diagnosis.missing = missing_of(log);
  return diagnosis;
}

}  // namespace foretrain
