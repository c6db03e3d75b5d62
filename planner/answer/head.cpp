// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/head.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "planner/answer/value_json.hpp"
#include "planner/text/text_table.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

std::string title(const AnswerHead& head, const TextStyle& style) {
  const std::string verdict =
      head.verdict ? toned(head.words, tone_of(*head.verdict), style) : head.words;
  std::string origin =
      fmt::format(" (foretrain {}{}{})", version, head.made_by.empty() ? "" : ", ", head.made_by);
  const auto taken = [&] { return display_width(verdict) + display_width(origin) + 2; };
  const int least = std::min(20, display_width(head.subject));
  if (taken() + least > style.width) origin = fmt::format(" (foretrain {})", version);
  if (taken() + least > style.width) origin.clear();
  const int room = std::max(8, style.width - taken());
  return toned(cut(head.subject, room), Tone::strong, style) + ": " + verdict + origin + "\n";
}

/// Its band, and its difference to what the answer is held against.
std::string beside(const HeadFigure& figure) {
  if (figure.band.empty() || figure.difference.empty()) return figure.band + figure.difference;
  return figure.band + "; " + figure.difference;
}

/// Values that are sentences, each behind its label over as many lines as it needs.
std::string long_figures_text(const AnswerHead& head, int labels, const TextStyle& style) {
  std::string text;
  for (const HeadFigure& figure : head.figures) {
    const std::string more = beside(figure);
    text +=
        labelled(figure.label, figure.value + (more.empty() ? "" : "; " + more), style, labels + 2);
  }
  return text;
}

std::string figures_text(const AnswerHead& head, const TextStyle& style) {
  using Align = TextTable::Align;
  TextTable table{{Align::left, Align::right, Align::left}};
  int labels = 0;
  int values = 0;
  for (const HeadFigure& figure : head.figures) {
    table.add({figure.label, figure.value, beside(figure)});
    labels = std::max(labels, display_width(figure.label));
    values = std::max(values, display_width(figure.value));
  }
  return values > style.width / 3 ? long_figures_text(head, labels, style) : table.text(style);
}

const ValueTable<HeadFigure> figure_values =
    ValueTable<HeadFigure>{}
        .add("label", &HeadFigure::label)
        .add("value", &HeadFigure::value)
        .add("band", [](const HeadFigure& figure) { return if_any(figure.band); })
        .add(
            "difference", [](const HeadFigure& figure) { return if_any(figure.difference); },
            "Difference from the answer that it is compared with.");

const ValueTable<AnswerHead> head_table =
    ValueTable<AnswerHead>{"head/1", "--brief --json of every answer, schema head/1"}
        .add("subject", &AnswerHead::subject)
        .add("verdict", &AnswerHead::verdict, "Null: there is nothing to judge.")
        .add("words", &AnswerHead::words, "Of the verdict.")
        .add("sentence", &AnswerHead::sentence, "That answers.")
        .add("figures", &AnswerHead::figures, figure_values)
        .add(
            "next", [](const AnswerHead& head) { return if_any(head.next); },
            "The command that most people want then.");

}  // namespace

AnswerHead interrupted_head(AnswerHead head, const std::string& before) {
  head.verdict.reset();
  head.words = "INTERRUPTED";
  head.sentence = "Interrupted before " + before + ".";
  head.next.clear();
  return head;
}

std::string head_text(const AnswerHead& head, const TextStyle& style) {
  std::string text = title(head, style);
  if (!head.sentence.empty()) text += hanging("", head.sentence, style);
  if (!head.figures.empty()) text += figures_text(head, style);
  if (!head.next.empty()) text += hanging_command("Next:", head.next, style);
  return text;
}

std::string head_json(const AnswerHead& head) { return json_text(head_table, head); }

const ValueRows& head_document() { return head_table.rows(); }

}  // namespace foretrain
