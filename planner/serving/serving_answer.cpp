// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/answer/quantity.hpp"
#include "planner/serving/serving_fit.hpp"
#include "planner/serving/serving_study.hpp"
#include "planner/text/format.hpp"

namespace foretrain {

std::string layout_text(const ServingLayout& layout) {
  std::string text = fmt::format("TP {}", layout.tensor);
  if (layout.attention_data > 1) text += fmt::format(", attention DP {}", layout.attention_data);
  if (layout.expert > 1) text += fmt::format(", EP {}", layout.expert);
  if (layout.pipeline > 1) text += fmt::format(", PP {}", layout.pipeline);
  return text;
}

namespace serving_words {

std::string replicas_text(const ServingLayout& layout) {
  const int gpus = layout.gpus();
  return fmt::format("{} x {} GPU{} ({})", with_thousands(layout.replicas), gpus,
                     gpus == 1 ? "" : "s", layout_text(layout));
}

std::string precision_text(const ServingPrecision& precision) {
  std::string text = std::string(name_of(precision.linear)) + " weights";
  if (precision.attention != precision.linear || precision.experts != precision.linear)
    text = fmt::format("{} attention, {} MLPs, {} experts", name_of(precision.attention),
                       name_of(precision.linear), name_of(precision.experts));
  return text + fmt::format(", {} cache", name_of(precision.cache));
}

AnswerSection reasons_section(const std::vector<Infeasible>& reasons) {
  AnswerSection section{"It cannot run:"};
  for (const Infeasible& reason : reasons)
    section.blocks.emplace_back(AnswerLine{(reason.key.empty() ? "" : reason.key + ": ") +
                                               reason.message +
                                               (reason.remedy.empty() ? "" : "; " + reason.remedy),
                                           reason.rule + "  ", Tone::bad});
  return section;
}

AnswerSection warnings_section(const std::vector<Warning>& warnings) {
  AnswerSection section;
  for (const Warning& warning : warnings)
    section.blocks.emplace_back(AnswerLine{warning.message, "warning: ", Tone::warn});
  return section;
}

}  // namespace serving_words

std::vector<Warning> serving_warnings(const ServingReport& report) {
  std::vector<Warning> warnings;
  const ServingSample& sample = report.sample;
  if (report.summary.overloaded)
    warnings.push_back(
        {"overloaded",
         fmt::format("more comes than is served: {} requests wait when the load ends, so that "
                     "times grow with the duration; add replicas (foretrain serve FILE --fewest)",
                     with_thousands(sample.waiting_at_end))});
  else if (report.ends.unbounded)
    warnings.push_back(
        {"may-be-overloaded",
         fmt::format("at the lower end of the band, {:.2f} of the throughput, more comes than is "
                     "served: queues and times to first tokens then grow with the duration",
                     report.bands.throughput.low)});
  if (may_pad_experts(report.ready.serve.deployment))
    warnings.push_back(
        {"uncalibrated-experts",
         "no run of such experts in 8 bits on this device was measured with this engine: some "
         "releases read every expert in every step, and the slow end of the band is what they "
         "would take"});
  if (sample.rejected > 0)
    warnings.push_back(
        {"refused-requests",
         fmt::format("{} requests are larger than the cache of a replica and are refused",
                     with_thousands(sample.rejected))});
  if (report.stopped)
    warnings.push_back({"interrupted", "interrupted: the figures are of the time before"});
  return warnings;
}

namespace {

using serving_words::precision_text;
using serving_words::reasons_section;
using serving_words::replicas_text;
using serving_words::warnings_section;

std::string law_text(const TokenLaw& law) {
  std::string text = significant_text(law.mean);
  if (law.jitter > 0.0) text += fmt::format(" +- {:.0f} %", 100.0 * law.jitter);
  if (law.variation > 0.0) text += fmt::format(" (log-normal, variation {:g})", law.variation);
  return text;
}

std::string load_text(const ServingPlan& plan) {
  const RequestLoad& load = plan.load;
  std::string text;
  switch (load.arrivals) {
    case ArrivalKind::poisson:
      text = fmt::format("{} requests/s at random", significant_text(load.rate));
      break;
    case ArrivalKind::constant:
      text = fmt::format("{} requests/s evenly", significant_text(load.rate));
      break;
    case ArrivalKind::closed:
      text = fmt::format("{} clients, each waits for its answer", with_thousands(load.concurrency));
      break;
    case ArrivalKind::trace:
      return fmt::format("{} requests of a trace",
                         with_thousands(static_cast<std::int64_t>(load.trace.size())));
  }
  text +=
      fmt::format("; prompts {} tokens, answers {}", law_text(load.prompt), law_text(load.output));
  if (load.shared_prefix > 0)
    text += fmt::format(", behind {} that all share", with_thousands(load.shared_prefix));
  if (load.sessions.turns > 1)
    text += fmt::format("; sessions of {} turns, {} between them", load.sessions.turns,
                        seconds_text(load.sessions.wait));
  if (load.swing > 0.0) text += fmt::format("; +- {} over a day", percent_text(load.swing));
  if (load.prefix_reuse > 0.0)
    text += fmt::format(", {} of prompts in the cache", percent_text(load.prefix_reuse));
  return text;
}

std::string run_text(const ServingReport& report) {
  const ServingPlan& plan = report.ready.plan;
  std::string text = plan.duration > Seconds{} ? duration_text(plan.duration)
                                               : duration_text(Seconds{report.sample.counted_s});
  if (plan.warm_up > Seconds{})
    text += fmt::format(", the first {} not counted", duration_text(plan.warm_up));
  return text + fmt::format(": {} requests, {} steps", with_thousands(report.sample.submitted),
                            with_thousands(report.sample.steps));
}

std::string cache_text(const ReadyPool& pool, double request) {
  const double tokens = static_cast<double>(pool.blocks) * pool.scheduler.block_tokens;
  return fmt::format("{} tokens per replica, {} requests of {} tokens; weights {} per GPU",
                     with_thousands(std::llround(tokens)),
                     with_thousands(static_cast<std::int64_t>(tokens / request)),
                     with_thousands(std::llround(request)), bytes_text(pool.cache.weights));
}

AnswerFacts deployment_facts(const ServingReport& report) {
  const ReadyServing& ready = report.ready;
  const EngineProfile& engine = ready.serve.deployment.engine;
  AnswerFacts facts;
  facts.add("Model", fmt::format("{}, {}", report.model, precision_text(ready.plan.precision)));
  if (ready.prefill) {
    facts.add("Prefill", replicas_text(ready.prefill->deployment.layout));
    facts.add("Decode", replicas_text(ready.serve.deployment.layout));
  } else {
    facts.add("Replicas", replicas_text(ready.serve.deployment.layout));
  }
  facts.add("Machine",
            fmt::format("{} of {} GPUs of {}, engine {}", ready.gpus(),
                        ready.serve.deployment.cluster.gpus(), report.machine, engine.name));
  facts.add("Load", load_text(ready.plan));
  return facts;
}

std::string cell(double seconds) { return seconds_text(Seconds{seconds}); }

AnswerTable times_table(const ServingReport& report) {
  AnswerTable table{{words_column(), number_column("mean"), number_column("P50"),
                     number_column("P90"), number_column("P95"), number_column("P99")}};
  const auto row = [&](const char* name, const ServingTimes& times) {
    table.add({name, cell(times.mean), cell(times.p50), cell(times.p90), cell(times.p95),
               cell(times.p99)});
  };
  const ServingSummary& seen = report.summary;
  row("time to first token (TTFT)", seen.ttft);
  row("  of it before the first step", seen.queue);
  row("time per output token (TPOT)", seen.tpot);
  row("gap between tokens (ITL)", seen.itl);
  row("whole request", seen.whole);
  return table;
}

std::string throughput_text(const ServingReport& report) {
  const ServingSummary& seen = report.summary;
  const double gpus = report.mean_gpus();
  return fmt::format(
      "{} output tokens/s ({} per GPU), {} prompt tokens/s, {} requests/s",
      significant_text(seen.output_tokens_per_s), significant_text(seen.output_tokens_per_s / gpus),
      significant_text(seen.prompt_tokens_per_s), significant_text(seen.requests_per_s));
}

std::string use_text(const ServingReport& report) {
  const ServingSample& sample = report.sample;
  std::string text = fmt::format(
      "{} requests run and {} wait on average, {} at most", significant_text(sample.mean_running),
      significant_text(sample.mean_waiting), with_thousands(sample.longest_queue));
  text += report.ready.prefill
              ? fmt::format("; prefill busy {}, decode {}", percent_text(sample.busy),
                            percent_text(sample.decode_busy))
              : fmt::format("; replicas busy {}", percent_text(sample.busy));
  text += fmt::format("; cache at most {} full", percent_text(sample.most_cache));
  if (report.ready.plan.load.sessions.turns > 1 || sample.found > 0.0)
    text += fmt::format("; {} of prompts found in caches",
                        percent_text(sample.asked > 0.0 ? sample.found / sample.asked : 0.0));
  if (report.ready.plan.autoscaling.on())
    text += fmt::format("; {} replicas on average, {} at most",
                        significant_text(sample.mean_replicas), sample.most_replicas);
  if (sample.preemptions > 0)
    text += fmt::format(", {} preemptions", with_thousands(sample.preemptions));
  return text;
}

std::string step_text(const ServingReport& report) {
  const StepTime& time = report.decode.time;
  std::string text =
      fmt::format("decode of {} sequences with {} tokens each: {} (",
                  with_thousands(std::llround(report.decode.sequences)),
                  with_thousands(std::llround(report.decode.context)), seconds_text(time.total()));
  const std::array<std::pair<const char*, Seconds>, 6> parts{{
      {"attention", time.attention_projections + time.attention},
      {"MLP", time.mlp},
      {"experts", time.experts},
      {"state", time.state},
      {"exchanges", time.tensor_exchange + time.expert_exchange + time.stage_exchange},
      {"rest", time.elementwise + time.output + time.launch + time.host + time.draft},
  }};
  bool first = true;
  for (const auto& [name, part] : parts) {
    const double share = part / time.total();
    if (share < 0.005) continue;
    text += fmt::format("{}{} {}", first ? "" : ", ", name, percent_text(share));
    first = false;
  }
  return text + fmt::format("); one mean prompt alone: {}", seconds_text(report.prompt));
}

/// Where more is paid for than serves.
std::string paid_text(const ServingReport& report) {
  const double paid = report.paid_gpus();
  if (report.ready.plan.autoscaling.on() || paid <= report.ready.gpus()) return "";
  return fmt::format(" for the {} GPUs of whole hosts", with_thousands(std::llround(paid)));
}

AnswerFact goals_fact(const ServingReport& report) {
  std::string text;
  for (const GoalVerdict& goal : report.goals)
    text += fmt::format("{}{} P{:g} {} {} {}", text.empty() ? "" : "; ",
                        goal.name == "ttft" ? "TTFT" : "TPOT", report.ready.plan.goals.percentile,
                        seconds_text(goal.reached), goal.kept() ? "<=" : "above",
                        seconds_text(goal.limit));
  text +=
      fmt::format("; {} of requests keep all, {} per s", percent_text(report.summary.within_limits),
                  significant_text(report.summary.goodput_per_s));
  return {"Goals", text, report.keeps_goals() ? "kept:" : "missed:",
          report.keeps_goals() ? Tone::good : Tone::bad};
}

Verdict tone_verdict(ServingVerdict verdict) {
  switch (verdict) {
    case ServingVerdict::ok:
      return Verdict::safe;
    case ServingVerdict::at_risk:
    case ServingVerdict::likely_misses:
    case ServingVerdict::likely_overloaded:
      return Verdict::at_risk;
    default:
      return Verdict::no;
  }
}

std::string verdict_text(const ServingReport& report) {
  switch (report.verdict()) {
    case ServingVerdict::ok:
      return report.goals.empty() ? "serving" : "KEEPS ITS GOALS";
    case ServingVerdict::at_risk:
      return report.goals.empty() ? "KEEPS UP BARELY" : "KEEPS ITS GOALS BARELY";
    case ServingVerdict::likely_misses:
      return "LIKELY MISSES ITS GOALS";
    case ServingVerdict::likely_overloaded:
      return "LIKELY OVERLOADED";
    case ServingVerdict::misses_goals:
      return "MISSES ITS GOALS";
    case ServingVerdict::overloaded:
      return "OVERLOADED";
    case ServingVerdict::refuses_requests:
      return "REFUSES REQUESTS";
    case ServingVerdict::nothing_counted:
      return "NOTHING WAS COUNTED";
    case ServingVerdict::infeasible:
      break;
  }
  return "CANNOT RUN";
}

HeadFigure time_figure(const char* label, const char* path, const ServingTimes& times,
                       std::span<const StudyFigure> figures) {
  return {label, seconds_text(Seconds{times.p90}),
          range_text(path, *find_figure(figures, path)->band),
          "median " + seconds_text(Seconds{times.p50})};
}

/// Nothing where both ends answer all that comes.
std::string output_range(std::span<const StudyFigure> figures) {
  const StudyFigure& output = *find_figure(figures, "results.output_tokens_per_s");
  const bool one =
      quantity_text(output.path, output.band->low) == quantity_text(output.path, output.band->high);
  return one ? "all that is asked for" : range_text(output.path, *output.band);
}

/// In the digits of the cost.
std::string cost_range(std::span<const StudyFigure> figures) {
  const Banded band = *find_figure(figures, "cost.usd_per_million_output_tokens")->band;
  const std::string low = fmt::format("${:.3f}", band.low);
  const std::string high = fmt::format("${:.3f}", band.high);
  return low == high ? "" : low + " to " + high;
}

std::string answers_text(const ServingReport& report) {
  const ServingSummary& seen = report.summary;
  const std::string answered = significant_text(seen.requests_per_s);
  if (!report.summary.overloaded || !report.ends.asked) return answered + " requests/s";
  return fmt::format("{} of the {} requests/s that come", answered,
                     significant_text(seen.submitted_per_s));
}

AnswerHead serving_head(const ServingReport& report) {
  AnswerHead head;
  head.subject = report.name;
  head.made_by = "simulated";
  const ServingVerdict verdict = report.verdict();
  head.words = verdict_text(report);
  if (verdict != ServingVerdict::ok || !report.goals.empty()) head.verdict = tone_verdict(verdict);
  if (!report.ready.reasons.empty()) {
    head.sentence = report.ready.reasons.front().message + ".";
    return head;
  }
  const ServingSummary& seen = report.summary;
  if (seen.requests == 0 && report.stopped)
    return interrupted_head(std::move(head), "a request was counted");
  if (seen.requests == 0) {
    head.sentence = fmt::format(
        "No request ended behind the warm-up of {}: shorten serving.warm_up, or ask for more.",
        seconds_text(report.ready.plan.warm_up));
    return head;
  }
  const std::vector<StudyFigure> figures = figures_of(serving_values(), report, true);
  const int gpus = report.ready.gpus();
  head.sentence = fmt::format("{} answers {} on {}.", report.model, answers_text(report),
                              report.ready.plan.autoscaling.on()
                                  ? fmt::format("{} GPUs on average, {} at most",
                                                significant_text(report.mean_gpus()), gpus)
                                  : fmt::format("{} GPU{}", gpus, gpus == 1 ? "" : "s"));
  if (report.chance)
    head.sentence += fmt::format(" {} with a chance of {}.",
                                 report.goals.empty() ? "It keeps up" : "It keeps its goals",
                                 percent_text(*report.chance));
  if (report.stopped) head.sentence = "Interrupted, so far: " + head.sentence;
  head.figures = {
      time_figure("TTFT, P90", "results.ttft_s.p90", seen.ttft, figures),
      time_figure("TPOT, P90", "results.tpot_s.p90", seen.tpot, figures),
      {"Output", significant_text(seen.output_tokens_per_s) + " tokens/s", output_range(figures)}};
  if (report.cost)
    head.figures.push_back({"Cost", fmt::format("${:.3f}", report.cost->per_million_output),
                            cost_range(figures), "per million output tokens"});
  return head;
}

}  // namespace

Answer serving_answer(const ServingReport& report) {
  Answer answer{serving_head(report)};
  AnswerFacts deployment = deployment_facts(report);
  const ReadyServing& ready = report.ready;
  if (!ready.reasons.empty()) {
    answer.add("", std::move(deployment));
    answer.add(reasons_section(ready.reasons));
    return answer;
  }
  deployment.add("Simulated", run_text(report));
  deployment.add("Cache", cache_text(ready.serve, mean_request(ready.plan.load)));
  answer.add("", std::move(deployment));
  if (report.summary.requests == 0) {
    answer.add(warnings_section(serving_warnings(report)));
    return answer;
  }
  answer.add("", times_table(report));
  AnswerFacts facts;
  facts.add("Throughput", throughput_text(report));
  facts.add("Use", use_text(report));
  if (ready.prefill && report.summary.requests > 0) {
    const Bytes each{report.sample.transferred / static_cast<double>(report.sample.submitted)};
    facts.add("Transfer",
              fmt::format("{} of cache per request, {} from a replica", bytes_text(each),
                          seconds_text(ready.transfer.latency +
                                       each / (ready.transfer.rate * ready.transfer.senders))));
  }
  facts.add("Step", step_text(report));
  if (!report.goals.empty()) facts.rows.push_back(goals_fact(report));
  if (report.cost)
    facts.add("Cost",
              fmt::format("${:.2f} per hour{}, ${:.3f} per million output tokens, ${:.3f} "
                          "per million tokens in and out",
                          report.cost->dollars_per_hour, paid_text(report),
                          report.cost->per_million_output, report.cost->per_million_tokens));
  const EngineProfile& engine = ready.serve.deployment.engine;
  const auto range = [](const char* name, const ResidualBand& band) {
    return fmt::format("{} {:.2f} to {:.2f}", name, band.low, band.high);
  };
  facts.add("Band",
            fmt::format("measured over forecast, 80 % of runs: {}, {}, {} (engine profile {})",
                        range("TTFT", report.bands.ttft), range("TPOT", report.bands.tpot),
                        range("throughput", report.bands.throughput), engine.name));
  answer.add("", std::move(facts));
  answer.add(warnings_section(serving_warnings(report)));
  return answer;
}

}  // namespace foretrain
