// SPDX-License-Identifier: Apache-2.0
#include "planner/page/answer_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "planner/page/internal/page_shell.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/svg_text.hpp"

namespace foretrain {
namespace {

const char* class_of(Tone tone) {
  switch (tone) {
    case Tone::plain:
      return "";
    case Tone::strong:
      return "strong";
    case Tone::dim:
      return "soft";
    case Tone::good:
      return "good";
    case Tone::bad:
      return "bad";
    case Tone::warn:
      return "at-risk";
  }
  return "";
}

/// Text of an answer with arrows that no line breaks in.
std::string words_html(const std::string& text) {
  constexpr std::string_view arrow = "-&gt;";
  std::string html = xml_text(text);
  for (std::size_t at = 0; (at = html.find(arrow, at)) != std::string::npos;)
    html.replace(at, arrow.size(), "\u2192");
  return html;
}

/// Blanks before a label say that it is part of what stands above.
std::string spoken(const std::string& text, Tone tone) {
  const bool part = text.starts_with("  ");
  std::string words = words_html(part ? text.substr(text.find_first_not_of(' ')) : text);
  if (tone == Tone::plain && !part) return words;
  return fmt::format("<span class=\"{}{}\">{}</span>", class_of(tone), part ? " part" : "", words);
}

std::string bar_html(const AnswerBar& bar, Tone tone) {
  const double from = 100.0 * std::clamp(std::min(bar.from, bar.to), 0.0, 1.0);
  const double to = 100.0 * std::clamp(std::max(bar.from, bar.to), 0.0, 1.0);
  std::string marks = fmt::format(
      "<rect class=\"track\" width=\"100\" height=\"10\"/>"
      "<rect x=\"{:.2f}\" width=\"{:.2f}\" height=\"10\" fill=\"var(--{})\"/>",
      from, std::max(to - from, to > from ? 0.5 : 0.0),
      tone == Tone::bad    ? "red"
      : tone == Tone::good ? "green"
      : bar.mark           ? "sky"
                           : "blue");
  if (bar.broken) marks += "<path class=\"break\" d=\"M3 10L5 0M5 10L7 0\"/>";
  const auto line = [&](double at) {
    marks += fmt::format("<rect class=\"mark\" x=\"{:.2f}\" width=\"0.8\" height=\"10\"/>",
                         std::clamp(100.0 * at - 0.4, 0.0, 99.2));
  };
  if (bar.mark && *bar.mark >= 0.0) line(*bar.mark);
  if (bar.axis) line(*bar.axis);
  return "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
         "aria-hidden=\"true\">" +
         marks + "</svg>";
}

std::string ink(const Paint& paint) { return fmt::format("var(--ink-{})", paint.light + 1); }

std::string stack_html(const AnswerStack& stack) {
  std::string marks = "<rect class=\"track\" width=\"100\" height=\"10\"/>";
  double from = 0.0;
  for (const AnswerStack::Part& part : stack.parts) {
    marks +=
        fmt::format("<rect x=\"{:.2f}\" width=\"{:.2f}\" height=\"10\" fill=\"{}\"/>", 100.0 * from,
                    100.0 * std::clamp(part.share, 0.0, 1.0 - from), ink(part.paint));
    from = std::min(1.0, from + part.share);
  }
  marks += fmt::format("<rect class=\"mark\" x=\"{:.2f}\" width=\"0.8\" height=\"10\"/>",
                       std::clamp(100.0 * stack.limit - 0.4, 0.0, 99.2));
  return "<svg class=\"bar\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
         "aria-hidden=\"true\">" +
         marks + "</svg>";
}

std::string cell_html(const AnswerCell& cell, const char* look) {
  if (cell.stack) return "<td>" + stack_html(*cell.stack) + "</td>";
  if (cell.bar) return "<td>" + bar_html(*cell.bar, cell.tone) + "</td>";
  return fmt::format("<td{}>{}</td>", look, spoken(cell.text, cell.tone));
}

/// What a colour of a picture is called on a page, which has it on either ground.
std::string page_colour(const SceneColour& colour) {
  if (const Ink* quiet = std::get_if<Ink>(&colour.of))
    return fmt::format("var(--{})", inks.at(static_cast<std::size_t>(*quiet)).property);
  if (const Paint* paint = std::get_if<Paint>(&colour.of)) return ink(*paint);
  return colour.hex(false);
}

/// As wide as there is room, in the colours of its ground.
std::string picture_html(const AnswerPicture& picture) {
  const std::string title = picture.titled ? "<h3>" + xml_text(picture.label) + "</h3>\n" : "";
  const SceneSpace& space = picture.scene->space;
  return title + fmt::format(
                     "<div class=\"chart drawn\"><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
                     "aria-label=\"{}\" font-size=\"12\" fill=\"currentColor\">\n{}</svg></div>\n",
                     space.width, space.height, xml_text(picture.label),
                     scene_elements(*picture.scene, page_colour));
}

struct HtmlOf {
  std::string operator()(const AnswerFacts& facts) const {
    std::string rows;
    for (const AnswerFact& fact : facts.rows)
      rows += fmt::format(
          "<tr><th scope=\"row\">{}</th><td>{}{}</td></tr>\n", spoken(fact.label, Tone::plain),
          fact.verdict.empty() ? "" : spoken(fact.verdict, fact.tone) + " ", words_html(fact.text));
    return "<div class=\"scroll\"><table class=\"facts\">\n" + rows + "</table></div>\n";
  }
  std::string operator()(const AnswerTable& table) const {
    const auto look = [&](std::size_t i) {
      return table.columns[i].align == TextTable::Align::right ? " class=\"num\"" : "";
    };
    std::string heads;
    bool headed = false;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      headed = headed || !table.columns[i].head.empty();
      heads += fmt::format("<th scope=\"col\"{}>{}</th>", look(i), xml_text(table.columns[i].head));
    }
    std::string rows;
    for (const auto& row : table.rows) {
      rows += "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i) rows += cell_html(row[i], look(i));
      rows += "</tr>\n";
    }
    return "<div class=\"scroll\"><table>\n" +
           (headed ? "<thead><tr>" + heads + "</tr></thead>\n" : std::string()) + "<tbody>\n" +
           rows + "</tbody></table></div>\n";
  }
  std::string operator()(const AnswerLegend& legend) const {
    std::string items;
    for (const AnswerLegend::Entry& entry : legend.entries)
      items += fmt::format(
          "<li><svg class=\"swatch\" viewBox=\"0 0 12 12\" width=\"12\" height=\"12\" "
          "aria-hidden=\"true\"><rect width=\"12\" height=\"12\" fill=\"{}\"/></svg>{}</li>\n",
          ink(entry.paint), xml_text(entry.label));
    if (!legend.limit.empty()) items += "<li>line: " + xml_text(legend.limit) + "</li>\n";
    return "<ul class=\"legend\">\n" + items + "</ul>\n";
  }
  std::string operator()(const AnswerLine& line) const {
    const std::string lead =
        line.lead.empty() ? "" : "<b>" + spoken(line.lead, line.tone) + "</b> ";
    return "<p>" + lead + xml_text(line.text) + "</p>\n";
  }
  std::string operator()(const AnswerList& list) const {
    std::string items;
    for (const std::string& item : list.items) items += "<li>" + xml_text(item) + "</li>\n";
    return "<ul>\n" + items + "</ul>\n";
  }
  std::string operator()(const AnswerCode& code) const {
    return "<p>" + (code.label.empty() ? "" : xml_text(code.label) + " ") + "<code>" +
           xml_text(code.text) + "</code></p>\n";
  }
  std::string operator()(const AnswerPicture& picture) const { return picture_html(picture); }
};

std::string card_html(const HeadFigure& figure) {
  const auto part = [](const char* look, const std::string& text) {
    return text.empty() ? "" : fmt::format("<div class=\"{}\">{}</div>", look, xml_text(text));
  };
  return "<li class=\"card\">" + part("label", figure.label) + part("value", figure.value) +
         part("band", figure.band) + part("note", figure.difference) + "</li>\n";
}

}  // namespace

std::string head_html(const AnswerHead& head) {
  std::string cards;
  for (const HeadFigure& figure : head.figures) cards += card_html(figure);
  return fmt::format(
      "<section class=\"answer\">\n<p><span class=\"verdict {}\">{}</span></p>\n"
      "<p class=\"sentence\">{}</p>\n{}{}</section>\n",
      head.verdict ? std::string(name_of(*head.verdict)) : "soft", xml_text(head.words),
      xml_text(head.sentence), cards.empty() ? "" : "<ul class=\"cards\">\n" + cards + "</ul>\n",
      head.next.empty() ? ""
                        : "<p class=\"next\">Next: <code>" + xml_text(head.next) + "</code></p>\n");
}

std::string block_html(const AnswerBlock& block) { return std::visit(HtmlOf{}, block); }

std::string section_html(const AnswerSection& section, const std::string& id, int level) {
  if (section.place == AnswerPlace::terminal) return "";
  const char* look = section.place == AnswerPlace::screens ? " class=\"screen\"" : "";
  std::string body;
  for (const AnswerBlock& block : section.blocks) body += block_html(block);
  if (section.folded)
    return fmt::format("<details{}>\n<summary>{}</summary>\n{}</details>\n", look,
                       xml_text(section.title), body);
  const std::string title = section.title.empty() ? ""
                                                  : fmt::format("<h{0} id=\"{1}\">{2}</h{0}>\n",
                                                                level, id, xml_text(section.title));
  return fmt::format("<section{}>\n", look) + title + body + "</section>\n";
}

std::string sections_html(const Answer& answer, const std::string& prefix, int level) {
  std::string html;
  std::size_t number = 0;
  for (const AnswerSection& section : answer.sections)
    html += section_html(section, fmt::format("{}-{}", prefix, ++number), level);
  return html;
}

std::vector<std::pair<std::string, std::string>> section_links(const Answer& answer,
                                                               const std::string& prefix) {
  std::vector<std::pair<std::string, std::string>> links;
  std::size_t number = 0;
  for (const AnswerSection& section : answer.sections) {
    ++number;
    if (!section.title.empty() && !section.folded && section.place != AnswerPlace::terminal)
      links.emplace_back(fmt::format("{}-{}", prefix, number), section.title);
  }
  return links;
}

std::string answer_page(const Answer& answer, const std::string& kind) {
  PageShell shell;
  shell.kind = kind;
  shell.title = answer.head.subject;
  shell.main = head_html(answer.head) + sections_html(answer, "section", 2);
  shell.links = section_links(answer, "section");
  shell.limits = {
      "This is computed from the settings of its scenarios and from measured or published "
      "constants; it is not a measurement. Ranges are 10th to 90th percentiles of what may turn "
      "out, from the errors of earlier forecasts, where nothing else is said.",
      "How far forecasts were from measurements, source by source: <code>foretrain "
      "validate</code>."};
  return shell_html(shell);
}

}  // namespace foretrain
