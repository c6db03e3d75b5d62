// SPDX-License-Identifier: Apache-2.0
#include "planner/post_training/post_training_diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

/// How a part of a log is called here, what of the forecast it is, and where to look.
struct PartRow {
  LoggedPart part;
  const char* name;
  Seconds PostTrainingParts::*time;
  const char* look;
};
constexpr std::array part_rows{
    PartRow{LoggedPart::generation, "generation", &PostTrainingParts::generation,
            "replicas of the engine and their tensor size, answers at their limit, CUDA graphs, "
            "the share of memory that the cache gets"},
    PartRow{LoggedPart::rewards, "rewards", &PostTrainingParts::reward,
            "how many rewards are computed at a time, sandboxes, time-outs"},
    PartRow{LoggedPart::log_probs, "log-probabilities", &PostTrainingParts::log_probs,
            "a forward pass takes less than a third of training: micro-batches of scoring too "
            "small, padding, weights that are loaded from the host first, logits in 32 bits"},
    PartRow{LoggedPart::reference, "reference", &PostTrainingParts::reference,
            "a forward pass takes less than a third of training: micro-batches of scoring too "
            "small, padding, a reference that rests on the host"},
    PartRow{LoggedPart::values, "values of the critic", &PostTrainingParts::values,
            "micro-batches of the critic's scoring"},
    PartRow{LoggedPart::training, "training", &PostTrainingParts::training,
            "micro-batches too small, padding in place of packing, kernels that fall back to "
            "unfused ones (linear attention), offloaded optimizer states"},
    PartRow{LoggedPart::critic, "training of the critic", &PostTrainingParts::critic,
            "as training of the policy"},
    PartRow{LoggedPart::sync, "weight synchronisation", &PostTrainingParts::sync,
            "tensors that are sent one by one, resharding on the CPU, the path over the "
            "network"},
    PartRow{LoggedPart::turn, "engine-trainer switch", &PostTrainingParts::turn,
            "what the trainer offloads, pinned host memory"},
    PartRow{LoggedPart::loop, "controller", &PostTrainingParts::loop,
            "work on one processor: tokenising, advantages, data that pass through Ray"}};

/// Times that no measurement fixes closely, in either direction.
constexpr double loose = 2.0;

const LoggedSeries* series_of(const std::vector<LoggedSeries>& log, LoggedPart part) {
  const auto found =
      std::ranges::find_if(log, [&](const LoggedSeries& one) { return one.part == part; });
  return found == log.end() ? nullptr : &*found;
}

BandedTime scaled(Seconds time, const BandedTime& like) {
  if (like.time <= Seconds{}) return {time, time, time};
  return {time, time * (like.low / like.time), time * (like.high / like.time)};
}

/// The forecast of a part with its band: that of generation or of training, else loose.
BandedTime forecast_of(const PartRow& row, const PostTrainingReport& report,
                       const std::vector<LoggedSeries>& log) {
  const PostTrainingForecast& forecast = report.forecast;
  const Seconds time = forecast.parts.*row.time;
  switch (row.part) {
    case LoggedPart::generation: {
      // Clocks of generation run from the end of training on, unless what is between has its own.
      Seconds between;
      if (series_of(log, LoggedPart::turn) == nullptr) between += forecast.parts.turn;
      if (series_of(log, LoggedPart::sync) == nullptr) between += forecast.parts.sync;
      const BandedTime& made = forecast.generation;
      return {made.time + between, made.low + between, made.high + between};
    }
    case LoggedPart::log_probs:
    case LoggedPart::reference:
    case LoggedPart::values:
    case LoggedPart::training:
    case LoggedPart::critic:
      return scaled(time, forecast.training);
    default:
      return {time, time / loose, time * loose};
  }
}

void add_part(const std::string& name, const LoggedSeries& series, const BandedTime& forecast,
              const char* look, PostTrainingDiagnosis& diagnosis) {
  diagnosis.steps = std::max(diagnosis.steps, series.seconds.size());
  diagnosis.parts.push_back({name, series.word, series.median(), forecast, look});
}

/// Log-probabilities and reference where a log has one figure for both.
void add_scoring(const std::vector<LoggedSeries>& log, PostTrainingDiagnosis& diagnosis) {
  const LoggedSeries* const series = series_of(log, LoggedPart::scoring);
  if (series == nullptr) return;
  const PostTrainingForecast& forecast = diagnosis.report.forecast;
  const PostTrainingParts& parts = forecast.parts;
  const Seconds time = parts.log_probs + parts.reference + parts.values + parts.reward;
  add_part("scoring", *series, scaled(time, forecast.training), part_rows[2].look, diagnosis);
}

/// The part that lengthens the step most beyond its band.
const PartComparison* worst_of(const PostTrainingDiagnosis& diagnosis) {
  const PartComparison* worst = nullptr;
  for (const PartComparison& part : diagnosis.parts) {
    if (!part.slower() || part.name == "step") continue;
    const auto beyond = [](const PartComparison& one) {
      return one.measured - one.forecast.time.value();
    };
    if (worst == nullptr || beyond(part) > beyond(*worst)) worst = &part;
  }
  return worst;
}

std::string judged(const PartComparison& part) {
  if (part.slower()) return fmt::format("{:.1f} x, slower", part.ratio());
  if (part.faster()) return fmt::format("{:.2f} x, faster", part.ratio());
  return "as forecast";
}

AnswerHead head_of(const PostTrainingDiagnosis& diagnosis) {
  AnswerHead head;
  head.subject = diagnosis.report.name;
  const PartComparison* const worst = worst_of(diagnosis);
  const PartComparison& first = diagnosis.parts.front();
  const bool slow = worst != nullptr || first.slower();
  const bool whole = slow && (first.name != "step" || first.slower());
  head.verdict = whole ? Verdict::no : slow ? Verdict::at_risk : Verdict::safe;
  head.words = whole ? "SLOWER THAN FORECAST" : slow ? "A PART IS SLOWER" : "AS FORECAST";
  head.made_by = fmt::format("{} steps of the log", diagnosis.steps);
  if (diagnosis.lengths_differ())
    head.sentence = fmt::format(
        "The log's answers average {} tokens, the scenario says {}: set "
        "post_training.answer.tokens first.",
        with_thousands(std::llround(diagnosis.logged_answer)),
        with_thousands(std::llround(diagnosis.report.setup.plan.answer.mean)));
  else if (worst != nullptr)
    head.sentence =
        fmt::format("Look first at {}: {} a step, forecast {}.", worst->name,
                    seconds_text(Seconds{worst->measured}), seconds_text(worst->forecast.time));
  else
    head.sentence = slow ? "No part that the log times explains it alone."
                         : "Every part that the log times lies within its band, or below.";
  head.figures = {
      {first.name == "step" ? "Step" : first.name, seconds_text(Seconds{first.measured}), "",
       fmt::format("forecast {}, {} to {}", seconds_text(first.forecast.time),
                   seconds_text(first.forecast.low), seconds_text(first.forecast.high))}};
  return head;
}

AnswerTable parts_table(const PostTrainingDiagnosis& diagnosis) {
  AnswerTable table{{words_column("part"), number_column("measured"), number_column("forecast"),
                     number_column("low"), number_column("high"), words_column("")}};
  for (const PartComparison& part : diagnosis.parts)
    table.add({part.name, seconds_text(Seconds{part.measured}), seconds_text(part.forecast.time),
               seconds_text(part.forecast.low), seconds_text(part.forecast.high),
               AnswerCell{judged(part), part.slower() ? Tone::bad : Tone::plain}});
  return table;
}

}  // namespace

PostTrainingDiagnosis diagnose_post_training(const PostTrainingReport& report,
                                             const std::vector<LoggedSeries>& log) {
  PostTrainingDiagnosis diagnosis;
  diagnosis.report = report;
  if (const LoggedSeries* const lengths = series_of(log, LoggedPart::answer_tokens))
    diagnosis.logged_answer = lengths->median();
  if (const LoggedSeries* const step = series_of(log, LoggedPart::step))
    add_part("step", *step, report.forecast.step, "", diagnosis);
  for (const PartRow& row : part_rows) {
    const LoggedSeries* const series = series_of(log, row.part);
    if (series == nullptr || report.forecast.parts.*row.time <= Seconds{}) continue;
    add_part(row.name, *series, forecast_of(row, report, log), row.look, diagnosis);
  }
  add_scoring(log, diagnosis);
  if (diagnosis.parts.empty())
    throw UsageError(
        "the log times no part of a step of post-training: looked for timing_s/ of verl, perf/ of "
        "slime, timing/ of SkyRL and OpenRLHF, and NeMo-RL's table");
  if (diagnosis.parts.front().name != "step") return diagnosis;
  diagnosis.unnamed = diagnosis.parts.front().measured;
  for (const LoggedSeries& series : log)
    if (series.part != LoggedPart::step && series.part != LoggedPart::answer_tokens)
      diagnosis.unnamed -= series.median();
  return diagnosis;
}

Answer post_training_diagnosis_answer(const PostTrainingDiagnosis& diagnosis) {
  Answer answer{head_of(diagnosis)};
  answer.add("", parts_table(diagnosis));
  AnswerFacts facts;
  if (diagnosis.unnamed > 0.05 * diagnosis.parts.front().measured)
    facts.add("Unnamed", fmt::format("{} of the step are in no part that is read from the log",
                                     seconds_text(Seconds{diagnosis.unnamed})));
  for (const PartComparison& part : diagnosis.parts)
    if (part.slower() && !part.look.empty())
      facts.add("Check", fmt::format("{}: {}", part.name, part.look));
  answer.add("", std::move(facts));
  return answer;
}

std::string post_training_diagnosis_json(const PostTrainingDiagnosis& diagnosis) {
  Json parts = Json::array();
  for (const PartComparison& part : diagnosis.parts)
    parts.push_back({{"part", part.name},
                     {"word", part.word},
                     {"measured_s", part.measured},
                     {"forecast_s", part.forecast.time.value()},
                     {"low_s", part.forecast.low.value()},
                     {"high_s", part.forecast.high.value()},
                     {"slower", part.slower()},
                     {"look", part.look}});
  return dump({{"schema", "post-training-diagnosis/1"},
               {"foretrain_version", version},
               {"name", diagnosis.report.name},
               {"steps", diagnosis.steps},
               {"unnamed_s", diagnosis.unnamed},
               {"parts", std::move(parts)}});
}

}  // namespace foretrain
