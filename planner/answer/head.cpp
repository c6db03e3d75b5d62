// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/head.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "planner/text/json.hpp"
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

std::string head_json(const AnswerHead& head) {
  const auto or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  Json figures = Json::array();
  for (const HeadFigure& figure : head.figures)
    figures.push_back({{"label", figure.label},
                       {"value", figure.value},
                       {"band", or_null(figure.band)},
                       {"difference", or_null(figure.difference)}});
  return dump({{"schema", "head/1"},
               {"foretrain_version", version},
               {"subject", head.subject},
               {"verdict", head.verdict ? Json(name_of(*head.verdict)) : Json(nullptr)},
               {"words", head.words},
               {"sentence", head.sentence},
               {"figures", std::move(figures)},
               {"next", or_null(head.next)}});
}

}  // namespace foretrain
