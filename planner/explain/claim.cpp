// SPDX-License-Identifier: Apache-2.0
#include "planner/explain/claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "calibration/records/measured_data.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/row_statistics.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {
namespace {

/// From this share of the best published MFU on, a claim needs everything to go right.
constexpr double ambitious_share = 0.75;

std::string letters_and_digits(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

void check_device(const Device& device, const std::string& claimed) {
  const std::string wanted = letters_and_digits(claimed);
  for (const std::string& name : {device.name, device.title})
    if (letters_and_digits(name).find(wanted) != std::string::npos) return;
  throw UsageError(fmt::format(
      "--claim: it is about {}, but the scenario's device is {}; choose a host with that device "
      "(--set cluster.host=...; foretrain show hosts lists them)",
      claimed, device.title.empty() ? device.name : device.title));
}

ClaimVerdict verdict_of(const ClaimCheck& check) {
  if (check.mfu > 1.0) return ClaimVerdict::impossible;
  if (check.mfu > check.best_published) return ClaimVerdict::unpublished;
  if (check.mfu > ambitious_share * check.best_published) return ClaimVerdict::ambitious;
  return ClaimVerdict::plausible;
}

void fill_blanks(const Report& report, const Claim& claim, ClaimCheck& check) {
  const Job& job = report.scenario.job;
  check.gpus_from_scenario = !claim.gpus;
  check.gpus = claim.gpus.value_or(job.cluster.gpus());
  check.tokens_from_scenario = !claim.tokens;
  if (!claim.tokens && !job.training.tokens)
    throw UsageError(
        "--claim: neither the claim nor the scenario (training.tokens) says how many tokens");
  check.tokens = claim.tokens.value_or(job.training.tokens.value_or(0.0));
  check.duration_from_forecast = !claim.duration;
  if (claim.duration) {
    check.duration = *claim.duration;
  } else if (report.prediction.run.ideal) {
    check.duration = *report.prediction.run.ideal;
  } else {
    throw UsageError("--claim: it states no duration, and the scenario has no forecast of one");
  }
}

struct PublishedLine {
  std::optional<Architecture> architecture;
  std::optional<Precision> precision;
  PublishedMfu best;

  [[nodiscard]] bool fits(Architecture device, Precision format) const {
    return architecture.value_or(device) == device && precision.value_or(format) == format;
  }
};

const FieldTable& published_fields() {
  static const FieldTable table(
      "Published MFU",
      {schema_field(),
       {.path = "published", .kind = FieldKind::list, .help = "The first line that fits counts."},
       {.path = "published[].architecture",
        .kind = FieldKind::choice,
        .help = "Generation of the device; left out, any.",
        .example = "hopper",
        .choices = choices_of<Architecture>()},
       {.path = "published[].precision",
        .kind = FieldKind::choice,
        .help = "Number format; left out, any.",
        .example = "fp8",
        .choices = choices_of<Precision>()},
       {.path = "published[].mfu",
        .kind = FieldKind::number,
        .help = "Of the best published run.",
        .example = "0.6",
        .required = true,
        .min = 0,
        .max = 1,
        .above_min = true},
       {.path = "published[].source",
        .help = "Who published it, of which run.",
        .example = "arXiv 2307.08691",
        .required = true}});
  return table;
}

std::vector<PublishedLine> read_published() {
  Diagnostics diagnostics;
  const FieldValues values =
      read_measured_data("published_mfu.yaml", published_fields(), diagnostics);
  std::vector<PublishedLine> lines;
  for (int i = 0; i < values.list_size("published"); ++i) {
    const std::string at = fmt::format("published[{}].", i);
    PublishedLine line{{}, {}, {values.number(at + "mfu"), values.text(at + "source")}};
    if (values.has(at + "architecture"))
      line.architecture = values.choice<Architecture>(at + "architecture");
    if (values.has(at + "precision")) line.precision = values.choice<Precision>(at + "precision");
    lines.push_back(std::move(line));
  }
  if (lines.empty() || lines.back().architecture || lines.back().precision)
    diagnostics.add(values.where("published"), "published",
                    "the last line fits every device: neither architecture nor precision");
  diagnostics.throw_if_any();
  return lines;
}

PublishedMfu published_mfu(Architecture architecture, Precision precision) {
  static const std::vector<PublishedLine> lines = read_published();
  return std::ranges::find_if(
             lines, [&](const PublishedLine& line) { return line.fits(architecture, precision); })
      ->best;
}

}  // namespace

ClaimCheck check_claim(const Report& report, const Claim& claim, AttentionFlops convention) {
  const Job& job = report.scenario.job;
  const Device& device = job.cluster.host.device;
  if (claim.device) check_device(device, *claim.device);
  ClaimCheck check;
  fill_blanks(report, claim, check);
  check.device = device.title.empty() ? device.name : device.title;
  check.precision = name_of(job.training.precision);
  check.peak_per_gpu = device.peak_of(job.training.precision);
  if (check.peak_per_gpu <= FlopPerSecond{})
    throw UsageError(fmt::format("--claim: {} has no {} peak rate", check.device, check.precision));
  if (const auto& flops = report.prediction.flops) {
    check.convention = flops->convention;
    check.flops_per_token = flops->model_per_step / tokens_per_step(job);
  } else {
    // An illegal plan has no forecast; what the model costs does not depend on the plan.
    check.convention =
        fmt::format("{} attention scores, recomputation not counted", name_of(convention));
    check.flops_per_token =
        job_flops(job, RecomputeKind::none, convention).model / tokens_per_step(job);
  }
  check.mfu = check.flops_per_token * check.tokens /
              (check.peak_per_gpu * static_cast<double>(check.gpus) * check.duration);
  if (report.prediction.efficiency) check.forecast_mfu = report.prediction.efficiency->mfu;
  const PublishedMfu best = published_mfu(device.architecture, job.training.precision);
  check.best_published = best.mfu;
  check.best_published_source = best.source;
  check.verdict = verdict_of(check);
  return check;
}

namespace {

Verdict head_verdict(ClaimVerdict verdict) {
  if (verdict == ClaimVerdict::plausible) return Verdict::safe;
  return verdict == ClaimVerdict::ambitious ? Verdict::at_risk : Verdict::no;
}

AnswerHead claim_head(const ClaimCheck& c) {
  AnswerHead head;
  head.subject = "Claim";
  head.verdict = head_verdict(c.verdict);
  head.words = name_of(c.verdict);
  for (char& letter : head.words)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  head.sentence = fmt::format("{} tokens on {} {} in {} is {}: it needs an MFU of {}.",
                              count_text(c.tokens), with_thousands(c.gpus), c.device,
                              duration_text(c.duration), name_of(c.verdict), percent_text(c.mfu));
  head.figures = {{"MFU needed", percent_text(c.mfu)},
                  {"published", percent_text(c.best_published), "", "at most"}};
  if (c.forecast_mfu)
    head.figures.push_back({"forecast", percent_text(*c.forecast_mfu), "",
                            "takes " + duration_text(c.duration * (c.mfu / *c.forecast_mfu))});
  return head;
}

}  // namespace

Answer claim_answer(const ClaimCheck& c) {
  const Flop work = c.flops_per_token * c.tokens;
  const Flop offered = c.peak_per_gpu * static_cast<double>(c.gpus) * c.duration;
  const auto note = [](bool filled, const char* from) {
    return filled ? fmt::format(" (from {})", from) : std::string();
  };
  AnswerFacts facts;
  facts.add("work", fmt::format("{} tokens{} x {} per token = {}", count_text(c.tokens),
                                note(c.tokens_from_scenario, "the scenario"),
                                flop_text(c.flops_per_token), flop_text(work)));
  facts.add("offered",
            fmt::format("{} GPUs{} x {} dense {} x {}{} = {}", with_thousands(c.gpus),
                        note(c.gpus_from_scenario, "the scenario"), rate_text(c.peak_per_gpu),
                        c.precision, duration_text(c.duration),
                        note(c.duration_from_forecast, "the forecast"), flop_text(offered)));
  facts.add("MFU needed",
            fmt::format("{} / {} = {}", flop_text(work), flop_text(offered), percent_text(c.mfu)));
  facts.add("convention", c.convention);
  facts.add("published", fmt::format("at most {} ({})", percent_text(c.best_published),
                                     c.best_published_source));
  if (c.forecast_mfu)
    facts.add("forecast", fmt::format("this scenario's plan reaches {}; at that MFU it takes {}",
                                      percent_text(*c.forecast_mfu),
                                      duration_text(c.duration * (c.mfu / *c.forecast_mfu))));
  Answer answer{claim_head(c)};
  answer.add("", std::move(facts));
  return answer;
}

std::string claim_json(const ClaimCheck& c) {
  return dump({{"schema", "claim/1"},
               {"verdict", name_of(c.verdict)},
               {"mfu_needed", number_or_null(c.mfu)},
               {"tokens", number_or_null(c.tokens)},
               {"tokens_from", c.tokens_from_scenario ? "scenario" : "claim"},
               {"gpus", c.gpus},
               {"gpus_from", c.gpus_from_scenario ? "scenario" : "claim"},
               {"duration_s", number_or_null(c.duration.value())},
               {"duration_from", c.duration_from_forecast ? "forecast" : "claim"},
               {"device", c.device},
               {"precision", c.precision},
               {"flops_per_token", number_or_null(c.flops_per_token.value())},
               {"peak_per_gpu_per_s", number_or_null(c.peak_per_gpu.value())},
               {"convention", c.convention},
               {"best_published_mfu", number_or_null(c.best_published)},
               {"best_published_source", c.best_published_source},
               {"forecast_mfu", number_or_null(c.forecast_mfu)}});
}

}  // namespace foretrain
