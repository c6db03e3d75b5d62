// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/headlines.hpp"

#include <QCoreApplication>

#include "planner/forecast/search_limits.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("Headlines", text); }
QString text_of(const std::string& text) { return QString::fromStdString(text); }

Headline unknown(const char* id, const char* title, const QString& why) {
  return {QLatin1String(id), tr(title), QStringLiteral("–"), why, {}, Tone::unknown};
}

/// "78.3 to 89.7 days": a unit that both have stands once, for a card is narrow.
QString span_text(const QString& low, const QString& high) {
  const QString unit = low.section(QLatin1Char(' '), 1);
  const bool same = !unit.isEmpty() && unit == high.section(QLatin1Char(' '), 1);
  return tr("%1 to %2").arg(same ? low.section(QLatin1Char(' '), 0, 0) : low, high);
}

Tone card_tone(Verdict verdict) {
  switch (verdict) {
    case Verdict::safe:
      return Tone::good;
    case Verdict::at_risk:
      return Tone::caution;
    case Verdict::no:
      break;
  }
  return Tone::bad;
}

Headline memory_headline(const Study& study, const Units& units) {
  Headline line{QStringLiteral("memory"), tr("Memory"), verdict_of(study), {}, {}, Tone::bad};
  if (!study.report) {
    const auto errors = study.diagnostics.size();
    line.detail = errors == 0   ? text_of(study.failure)
                  : errors == 1 ? tr("1 error in the text")
                                : tr("%1 errors in the text").arg(errors);
    return line;
  }
  const Prediction& p = study.report->prediction;
  line.tone = card_tone(run_verdict(p));
  if (p.memory) {
    line.detail = tr("%1 of %2, %3")
                      .arg(size_label(p.memory->peak, units), size_label(p.memory->usable, units),
                           text_of(heaviest_name(*p.memory)));
    line.tooltip = text_of(memory_verdict(*p.memory));
  }
  if (!p.feasible()) {
    line.tooltip = text_of(p.reasons.front().message);
    if (!p.memory) line.detail = line.tooltip;
  }
  return line;
}

Headline step_headline(const Prediction& p, const Units& units, const QString& why) {
  if (p.if_it_fit)
    return {QStringLiteral("step"),
            tr("Step"),
            time_label(p.if_it_fit->step.time, units),
            tr("if it fit"),
            tr("The plan does not fit; this is one optimizer step on GPUs with enough memory"),
            Tone::unknown};
  if (!p.step) return unknown("step", "Step", why);
  return {QStringLiteral("step"),
          tr("Step"),
          time_label(p.step->time, units),
          tr("%1 to %2").arg(time_label(p.step->low, units), time_label(p.step->high, units)),
          tr("One optimizer step, and the 10th to 90th percentile"),
          Tone::plain};
}

Headline mfu_headline(const Prediction& p, const QString& why) {
  if (p.if_it_fit)
    return {QStringLiteral("mfu"),
            tr("MFU"),
            text_of(percent_text(p.if_it_fit->efficiency.mfu)),
            tr("if it fit"),
            tr("The plan does not fit; this is its MFU on GPUs with enough memory"),
            Tone::unknown};
  if (!p.efficiency) return unknown("mfu", "MFU", why);
  const Efficiency& e = *p.efficiency;
  return {QStringLiteral("mfu"),
          tr("MFU"),
          text_of(percent_text(e.mfu)),
          tr("%1 TFLOP/s per GPU, HFU %2")
              .arg(text_of(significant_text(e.model_tflops_per_gpu)), text_of(percent_text(e.hfu))),
          p.flops
              ? tr("Model FLOPs over the peak of all GPUs, %1; %2")
                    .arg(text_of(rate_text(p.flops->peak_per_gpu)), text_of(p.flops->convention))
              : QString{},
          Tone::plain};
}

Headline throughput_headline(const Prediction& p, const QString& why) {
  if (!p.efficiency) return unknown("throughput", "Tokens/s", why);
  return {QStringLiteral("throughput"),
          tr("Tokens/s"),
          text_of(fixed_text(p.efficiency->tokens_per_s, 0)),
          tr("%1 per GPU").arg(text_of(significant_text(p.efficiency->tokens_per_s_per_gpu))),
          tr("Tokens that the model is trained on per second"),
          Tone::plain};
}

Headline run_headline(const Prediction& p, const QString& why) {
  const RunForecast& run = p.run;
  const auto duration = run_duration(p);
  if (run.goodput && !duration)
    return unknown("run", "Time to train", tr("with these interruptions it never ends"));
  if (!duration) return unknown("run", "Time to train", p.step ? tr("needs training.tokens") : why);
  Headline line{QStringLiteral("run"), tr("Time to train"), {}, {}, {}, Tone::plain};
  line.value = text_of(duration_text(*duration));
  line.tooltip = tr("%1 tokens in %2 steps")
                     .arg(run.tokens ? text_of(count_text(*run.tokens)) : tr("all"),
                          run.steps ? text_of(significant_text(*run.steps)) : tr("unknown"));
  if (!run.expected)
    line.detail = tr("without interruptions");
  else if (run.p10 && run.p90)
    line.detail =
        tr("%1, goodput %2")
            .arg(span_text(text_of(duration_text(*run.p10)), text_of(duration_text(*run.p90))),
                 text_of(percent_text(run.goodput.value_or(1.0))));
  else
    line.detail = tr("goodput %1").arg(text_of(percent_text(run.goodput.value_or(1.0))));
  return line;
}

Headline cost_headline(const Prediction& p, const QString& why) {
  const CostForecast& cost = p.cost;
  if (!cost.gpu_hours) return unknown("cost", "Cost", p.step ? tr("needs training.tokens") : why);
  Headline line{QStringLiteral("cost"), tr("Cost"), {}, {}, {}, Tone::plain};
  const QString hours = tr("%1 GPU-hours").arg(text_of(significant_text(*cost.gpu_hours)));
  const QString energy = cost.low.energy
                             ? tr("%1 at the meter").arg(text_of(energy_range_text(cost)))
                         : cost.energy ? text_of(energy_text(*cost.energy))
                                       : QString{};
  line.value = cost.price ? text_of(dollars_text(*cost.price))
                          : tr("%1 GPU-h").arg(text_of(significant_text(*cost.gpu_hours)));
  line.detail = cost.price ? hours : tr("no price given");
  if (!energy.isEmpty()) line.detail += QStringLiteral(", ") + energy;
  line.tooltip = cost.price ? hours : tr("Set operations.price, e.g. 2.5 USD/GPU-hour");
  return line;
}

}  // namespace

QString verdict_of(const Study& study) {
  if (!study.report) return tr("Not a scenario");
  const QString words = text_of(verdict_words(study.report->prediction)).toLower();
  return words.left(1).toUpper() + words.mid(1);
}

std::vector<Headline> headlines(const Study& study, const Units& units) {
  static const Prediction nothing;
  const Prediction& p = study.report ? study.report->prediction : nothing;
  const QString why =
      study.report ? tr("the plan cannot run") : tr("no forecast while the text has errors");
  return {memory_headline(study, units), step_headline(p, units, why), mfu_headline(p, why),
          throughput_headline(p, why),   run_headline(p, why),         cost_headline(p, why)};
}

}  // namespace foretrain::gui
