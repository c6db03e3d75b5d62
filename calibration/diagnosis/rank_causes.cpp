// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "calibration/diagnosis/diagnose.hpp"
#include "calibration/diagnosis/hypotheses.hpp"
#include "calibration/diagnosis/likelihood.hpp"
#include "calibration/diagnosis/sign.hpp"
#include "models/base/ranges.hpp"

namespace foretrain {
namespace {

MeasuredRun measured_run(const TrainingLog& log) {
  return {log.step->median, log.clues.sections, log.clues.rank_gap, log.memory_max_bytes,
          log.memory_kind == "reserved"};
}

/// ln of the mean of exp: without overflow.
double ln_mean(const std::vector<double>& lns) {
  const double most = *std::ranges::max_element(lns);
  double sum = 0.0;
  for (const double ln : lns) sum += std::exp(ln - most);
  return most + std::log(sum / static_cast<double>(lns.size()));
}

/// Two causes at once: what each adds to the expected run, together.
ExpectedRun together(const ExpectedRun& plain, const ExpectedRun& a, const ExpectedRun& b) {
  ExpectedRun run = a;
  run.step += b.step - plain.step;
  for (auto& [section, times] : run.sections) {
    times.least += b.sections.at(section).least - plain.sections.at(section).least;
    times.most += b.sections.at(section).most - plain.sections.at(section).most;
  }
  run.allocated += b.allocated - plain.allocated;
  run.reserved += b.reserved - plain.reserved;
  return run;
}

/// A hypothesis with its forecasts.
struct WeighedHypothesis {
  const Hypothesis* hypothesis = nullptr;
  std::vector<Variation> variations;
  std::size_t best = 0;  ///< of the variations
};

/// Rate of a sign under a hypothesis, if that says one.
std::optional<double> own_rate(const Hypothesis& hypothesis, Sign sign) {
  for (const SignRate& one : hypothesis.signs)
    if (one.sign == sign) return one.rate;
  return std::nullopt;
}

/// ln of the likelihood of a sign where runs show it at such a rate; absent: as often as any.
double ln_sign(const SignSeen& sign, std::optional<double> rate) {
  const double shown =
      sign.seen ? rate.value_or(usual_rate(sign)) : 1.0 - rate.value_or(usual_rate(sign.sign));
  return std::log(shown);
}

/// Weighs hypotheses by Bayes' rule: the prior, times the likelihood of what was measured in the
/// mean over the variations of a cause, times that of the signs. The level of steps has one cause,
/// or two at once; what interrupts training stands beside it.
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
    collect();
    weigh_levels();
    tell_suspicion();
    for (WeighedHypothesis& one : levels_) add_level(one);
    for (const WeighedHypothesis& one : interruptions_) add_interruption(one);
    sort_causes();
  }

 private:
  void collect() {
    for (const Hypothesis& hypothesis : hypothesis_registry()) {
      WeighedHypothesis one{&hypothesis, hypothesis.variations(of_), 0};
      if (one.variations.empty()) continue;
      (hypothesis.interrupts ? interruptions_ : levels_).push_back(std::move(one));
    }
  }

  /// @param b null: the first alone
  [[nodiscard]] double ln_signs(const Hypothesis& a, const Hypothesis* b) const {
    double ln = 0.0;
    for (const SignSeen& sign : signs_) {
      std::optional<double> rate = own_rate(a, sign.sign);
      const auto other = b != nullptr ? own_rate(*b, sign.sign) : std::nullopt;
      if (rate && other)
        rate = 1.0 - (1.0 - *rate) * (1.0 - *other);
      else if (other)
        rate = other;
      ln += ln_sign(sign, rate);
    }
    return ln;
  }

  static bool is_open(const WeighedHypothesis& one) {
    return one.hypothesis->id == as_forecast_id || one.hypothesis->id == unexplained_id;
  }

  [[nodiscard]] double ln_of(const WeighedHypothesis& one, const ExpectedRun& run) const {
    if (one.hypothesis->id != unexplained_id) return ln_likelihood(measured_, run, error_);
    double ln = 0.0;
    for (const ComparedQuantity& quantity : plain_) ln += ln_unexplained(quantity);
    return ln;
  }

  void weigh_levels() {
    std::vector<double> lns;
    const auto add = [&](std::vector<std::string> causes, double ln) {
      diagnosis_.explanations.push_back({std::move(causes), 0.0});
      lns.push_back(ln);
    };
    for (WeighedHypothesis& one : levels_) {
      std::vector<double> each;
      for (const Variation& variation : one.variations) each.push_back(ln_of(one, variation.run));
      one.best = static_cast<std::size_t>(std::ranges::max_element(each) - each.begin());
      add({std::string(one.hypothesis->id)},
          std::log(one.hypothesis->prior) + ln_mean(each) + ln_signs(*one.hypothesis, nullptr));
    }
    for (std::size_t i = 0; i < levels_.size(); ++i)
      for (std::size_t j = i + 1; j < levels_.size(); ++j)
        if (!is_open(levels_[i]) && !is_open(levels_[j]))
          add({std::string(levels_[i].hypothesis->id), std::string(levels_[j].hypothesis->id)},
              ln_pair(levels_[i], levels_[j]));
    normalise(lns);
  }

  [[nodiscard]] double ln_pair(const WeighedHypothesis& a, const WeighedHypothesis& b) const {
    std::vector<double> each;
    for (const Variation& one : a.variations)
      for (const Variation& other : b.variations)
        each.push_back(
            ln_likelihood(measured_, together(of_.expected, one.run, other.run), error_));
    return std::log(a.hypothesis->prior * b.hypothesis->prior) + ln_mean(each) +
           ln_signs(*a.hypothesis, b.hypothesis);
  }

  void normalise(const std::vector<double>& lns) {
    auto& all = diagnosis_.explanations;
    const double most = *std::ranges::max_element(lns);
    double sum = 0.0;
    for (std::size_t i = 0; i < all.size(); ++i) sum += all[i].likelihood = std::exp(lns[i] - most);
    for (StepExplanation& one : all) one.likelihood /= sum;
    std::ranges::stable_sort(all, [](const StepExplanation& a, const StepExplanation& b) {
      return a.likelihood > b.likelihood;
    });
    constexpr double third = 1.0 / 3.0;
    diagnosis_.tied =
        static_cast<std::size_t>(std::ranges::count_if(all, [&](const StepExplanation& one) {
          return one.likelihood >= third * all.front().likelihood;
        }));
  }

  [[nodiscard]] bool has_level_finding() const {
    return std::ranges::any_of(diagnosis_.findings,
                               [](const RunFinding& one) { return is_level(one.kind); });
  }

  /// Inside the band, but the likeliest explanation is not that nothing is the matter.
  void tell_suspicion() {
    if (has_level_finding() || diagnosis_.explanations.front().causes.front() == as_forecast_id)
      return;
    const double ratio = measured_.step / of_.expected.step;
    diagnosis_.findings.push_back(
        {FindingKind::suspected, ratio - 1.0, std::max(0.0, 1.0 - 1.0 / ratio)});
    sort_findings(diagnosis_.findings);
  }

  [[nodiscard]] double marginal(std::string_view id) const {
    double sum = 0.0;
    for (const StepExplanation& one : diagnosis_.explanations)
      if (contains(one.causes, id)) sum += one.likelihood;
    return std::min(1.0, sum);
  }

  [[nodiscard]] RankedCause cause_of(const WeighedHypothesis& one) const {
    RankedCause cause;
    cause.id = one.hypothesis->id;
    cause.title = one.hypothesis->title;
    cause.setting = one.variations[one.best].setting;
    cause.step = one.variations[one.best].run.step;
    cause.test = one.hypothesis->test;
    for (const SignSeen& sign : signs_)
      if (const auto rate = own_rate(*one.hypothesis, sign.sign))
        add_evidence(sign.what, ln_sign(sign, rate) - ln_sign(sign, std::nullopt), cause);
    return cause;
  }

  void add_level(const WeighedHypothesis& one) {
    RankedCause cause = cause_of(one);
    cause.likelihood = marginal(cause.id);
    for (const RunFinding& finding : diagnosis_.findings)
      if (is_level(finding.kind)) cause.lost = std::max(cause.lost, finding.lost);
    const bool open = cause.id == unexplained_id;
    const auto compared = compare_run(measured_, one.variations[one.best].run, error_);
    for (std::size_t i = 0; i < compared.size() && i < plain_.size(); ++i)
      add_evidence(compared[i].what,
                   (open ? ln_unexplained(compared[i]) : compared[i].ln) - plain_[i].ln, cause);
    sort_evidence(cause);
    const double gap = measured_.step - of_.expected.step;
    constexpr double least = 0.02;
    if (!open && std::abs(gap) >= least * of_.expected.step)
      cause.share = (cause.step - of_.expected.step) / gap;
    diagnosis_.causes.push_back(std::move(cause));
  }

  /// By its own signs, against nothing: it may be there beside any level.
  void add_interruption(const WeighedHypothesis& one) {
    RankedCause cause = cause_of(one);
    const double prior = one.hypothesis->prior;
    double ln = std::log(prior / (1.0 - prior));
    for (const SignSeen& sign : signs_)
      if (const auto rate = own_rate(*one.hypothesis, sign.sign))
        ln += ln_sign(sign, rate) - ln_sign(sign, std::nullopt);
    cause.likelihood = 1.0 / (1.0 + std::exp(-ln));
    const double all = diagnosis_.course.all_seconds();
    if (all > 0.0) cause.lost = one.hypothesis->interrupts(diagnosis_.course) / all;
    sort_evidence(cause);
    diagnosis_.causes.push_back(std::move(cause));
  }

  static void add_evidence(const std::string& what, double weight, RankedCause& cause) {
    constexpr double least = 0.4;  // half as likely again
    if (std::abs(weight) >= least) cause.evidence.push_back({what, weight});
  }

  static void sort_evidence(RankedCause& cause) {
    std::ranges::stable_sort(cause.evidence, [](const Evidence& a, const Evidence& b) {
      return std::abs(a.weight) > std::abs(b.weight);
    });
  }

  /// By the time that they are likely to cost, then by likelihood; what is no cause comes last,
  /// but where there is no finding the run is as forecast before all.
  void sort_causes() {
    const bool clean = diagnosis_.findings.empty();
    const auto weight = [&](const RankedCause& one) {
      if (clean) return one.id == as_forecast_id ? 1.0 : 0.0;
      const bool none = one.id == as_forecast_id || one.id == unexplained_id;
      return none ? -1.0 : one.likelihood * one.lost;
    };
    std::ranges::stable_sort(diagnosis_.causes, [&](const RankedCause& a, const RankedCause& b) {
      return std::pair(weight(a), a.likelihood) > std::pair(weight(b), b.likelihood);
    });
  }

  Diagnosis& diagnosis_;
  DiagnosisCase of_;
  MeasuredRun measured_;
  ForecastError error_;
  std::vector<SignSeen> signs_;
  std::vector<ComparedQuantity> plain_;
  std::vector<WeighedHypothesis> levels_, interruptions_;
};

}  // namespace

void rank_causes(const TrainingLog& log, const Job& job, Diagnosis& diagnosis) {
  Ranking(log, job, diagnosis).rank();
}

}  // namespace foretrain
