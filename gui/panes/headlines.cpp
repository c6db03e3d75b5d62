// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/headlines.hpp"

#include <QCoreApplication>

#include <array>
#include <cmath>

#include "planner/answer/quantity.hpp"
#include "planner/forecast/search_limits.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("Headlines", text); }
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
    line.detail = errors == 0   ? qt_text(study.failure)
                  : errors == 1 ? tr("1 error in the text")
                                : tr("%1 errors in the text").arg(errors);
    return line;
  }
  const Prediction& p = study.report->prediction;
  line.tone = card_tone(run_verdict(p));
  if (p.memory) {
    line.detail = tr("%1 of %2, %3")
                      .arg(size_label(p.memory->peak, units), size_label(p.memory->usable, units),
                           qt_text(heaviest_name(*p.memory)));
    line.tooltip = qt_text(memory_verdict(*p.memory));
  }
  if (!p.feasible()) {
    line.tooltip = qt_text(p.reasons.front().message);
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
            qt_text(percent_text(p.if_it_fit->efficiency.mfu)),
            tr("if it fit"),
            tr("The plan does not fit; this is its MFU on GPUs with enough memory"),
            Tone::unknown};
  if (!p.efficiency) return unknown("mfu", "MFU", why);
  const Efficiency& e = *p.efficiency;
  return {QStringLiteral("mfu"),
          tr("MFU"),
          qt_text(percent_text(e.mfu)),
          tr("%1 TFLOP/s per GPU, HFU %2")
              .arg(qt_text(significant_text(e.model_tflops_per_gpu)), qt_text(percent_text(e.hfu))),
          p.flops
              ? tr("Model FLOPs over the peak of all GPUs, %1; %2")
                    .arg(qt_text(rate_text(p.flops->peak_per_gpu)), qt_text(p.flops->convention))
              : QString{},
          Tone::plain};
}

Headline throughput_headline(const Prediction& p, const QString& why) {
  if (!p.efficiency) return unknown("throughput", "Tokens/s", why);
  return {QStringLiteral("throughput"),
          tr("Tokens/s"),
          qt_text(fixed_text(p.efficiency->tokens_per_s, 0)),
          tr("%1 per GPU").arg(qt_text(significant_text(p.efficiency->tokens_per_s_per_gpu))),
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
  line.value = qt_text(duration_text(*duration));
  line.tooltip = tr("%1 tokens in %2 steps")
                     .arg(run.tokens ? qt_text(count_text(*run.tokens)) : tr("all"),
                          run.steps ? qt_text(significant_text(*run.steps)) : tr("unknown"));
  if (!run.expected)
    line.detail = tr("without interruptions");
  else if (run.p10 && run.p90)
    line.detail =
        tr("%1, goodput %2")
            .arg(span_text(qt_text(duration_text(*run.p10)), qt_text(duration_text(*run.p90))),
                 qt_text(percent_text(run.goodput.value_or(1.0))));
  else
    line.detail = tr("goodput %1").arg(qt_text(percent_text(run.goodput.value_or(1.0))));
  return line;
}

Headline cost_headline(const Prediction& p, const QString& why) {
  const CostForecast& cost = p.cost;
  if (!cost.gpu_hours) return unknown("cost", "Cost", p.step ? tr("needs training.tokens") : why);
  Headline line{QStringLiteral("cost"), tr("Cost"), {}, {}, {}, Tone::plain};
  const QString hours = tr("%1 GPU-hours").arg(qt_text(significant_text(*cost.gpu_hours)));
  const QString energy = cost.low.energy ? qt_text(energy_range_text(cost))
                         : cost.energy   ? qt_text(energy_text(*cost.energy))
                                         : QString{};
  line.value = cost.price ? qt_text(dollars_text(*cost.price))
                          : tr("%1 GPU-h").arg(qt_text(significant_text(*cost.gpu_hours)));
  line.detail = !cost.price || energy.isEmpty() ? energy : hours + QLatin1Char('\n') + energy;
  if (line.detail.isEmpty()) line.detail = cost.price ? hours : tr("no price given");
  line.tooltip = cost.price ? tr("GPU-hours and energy at the meter")
                            : tr("Set operations.price, e.g. 2.5 USD/GPU-hour");
  return line;
}

/// The number of a card, and how a change of it is written.
struct CardNumber {
  const char* id;
  const char* path;
  QString (*size)(double change, const Units& units);
};

QString seconds_size(double change, const Units& units) {
  return time_label(Seconds{change}, units);
}
QString duration_size(double change, const Units& /*units*/) {
  return qt_text(duration_text(Seconds{change}));
}

/// The later row of a card is what it shows where the forecast knows it.
constexpr std::array<CardNumber, 8> card_numbers{{
    {"memory", "memory.peak_bytes",
     [](double change, const Units& units) { return size_label(Bytes{change}, units); }},
    {"step", "step.time_s", seconds_size},
    {"mfu", "mfu",
     [](double change, const Units& /*units*/) {
       return tr("%1 points").arg(qt_text(fixed_text(100.0 * change, 1)));
     }},
    {"throughput", "tokens_per_s",
     [](double change, const Units& /*units*/) { return qt_text(fixed_text(change, 0)); }},
    {"run", "run.ideal_s", duration_size},
    {"run", "run.expected_s", duration_size},
    {"cost", "cost.gpu_hours",
     [](double change, const Units& /*units*/) {
       return tr("%1 GPU-h").arg(qt_text(significant_text(change)));
     }},
    {"cost", "cost.usd",
     [](double change, const Units& /*units*/) { return qt_text(dollars_text(Dollars{change})); }},
}};

constexpr double least_change = 0.0005;  // of the number: less is the same

void add_difference(Headline& line, const CardNumber& number, const Prediction& from,
                    const Prediction& to, const Units& units) {
  const QuantityAt row = *quantities().find(number.path);
  const auto before = row.number(from);
  const auto after = row.number(to);
  if (!after) return;
  line.difference.clear();
  if (!before || std::abs(*after - *before) <= least_change * std::abs(*before)) return;
  const double change = *after - *before;
  line.difference = (change < 0.0 ? QStringLiteral("−") : QStringLiteral("+")) +
                    number.size(std::abs(change), units);
  if (*before > 0.0 && row.quantity->measure != Measure::share)
    line.difference += QStringLiteral(", ") + qt_text(percent_text(std::abs(change / *before)));
  line.difference_tone =
      (change < 0.0) == row.quantity->more_is_better ? Tone::caution : Tone::good;
}

void add_differences(std::vector<Headline>& lines, const Prediction& from, const Prediction& to,
                     const Units& units) {
  const Prediction before = as_if_it_fit(from);
  const Prediction after = as_if_it_fit(to);
  for (const CardNumber& number : card_numbers)
    for (Headline& line : lines)
      if (line.id == QLatin1String(number.id)) add_difference(line, number, before, after, units);
}

QString sentence_case(const std::string& words) {
  const QString lower = qt_text(words).toLower();
  return lower.left(1).toUpper() + lower.mid(1);
}

/// The verdict and the figures of an answer's head.
std::vector<Headline> answer_headlines(const AnswerHead& head, const AnswerHead* before) {
  std::vector<Headline> lines{{QStringLiteral("answer"),
                               qt_text(head.subject),
                               sentence_case(head.words),
                               {},
                               qt_text(head.sentence),
                               head.verdict ? card_tone(*head.verdict) : Tone::plain}};
  for (const HeadFigure& figure : head.figures) {
    const std::string& detail = figure.band.empty() ? figure.difference : figure.band;
    Headline line{qt_text(figure.label),
                  qt_text(figure.label),
                  qt_text(figure.value),
                  qt_text(detail).replace(QLatin1String("+-"), QStringLiteral("±")),
                  qt_text(figure.difference),
                  Tone::plain};
    for (const HeadFigure& old : before ? before->figures : std::vector<HeadFigure>{})
      if (old.label == figure.label && old.value != figure.value)
        line.difference = tr("was %1").arg(qt_text(old.value));
    line.difference_tone = Tone::caution;
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace

QString verdict_of(const Study& study) {
  if (study.answer) return sentence_case(study.answer->head.words);
  if (!study.report) return tr("Not a scenario");
  return sentence_case(verdict_words(study.report->prediction));
}

std::vector<Headline> headlines(const Study& study, const Units& units, const Study* reference) {
  if (study.answer) {
    const bool same = reference != nullptr && reference->answer != nullptr;
    return answer_headlines(study.answer->head, same ? &reference->answer->head : nullptr);
  }
  static const Prediction nothing;
  const Prediction& p = study.report ? study.report->prediction : nothing;
  const QString why =
      study.report ? tr("the plan cannot run") : tr("no forecast while the text has errors");
  std::vector<Headline> lines{memory_headline(study, units), step_headline(p, units, why),
                              mfu_headline(p, why),          throughput_headline(p, why),
                              run_headline(p, why),          cost_headline(p, why)};
  if (study.report && reference != nullptr && reference->report)
    add_differences(lines, reference->report->prediction, p, units);
  return lines;
}

}  // namespace foretrain::gui
