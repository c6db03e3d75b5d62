// SPDX-License-Identifier: Apache-2.0
#include "gui/views/answer_widgets.hpp"

#include <QFrame>
#include <QGridLayout>
#include <QLabel>
#include <QPainter>
#include <QScrollArea>
#include <QScrollBar>
#include <QSvgRenderer>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "gui/looks/units.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/svg_text.hpp"

namespace foretrain::gui {
namespace {

QLabel* label(const QString& text, const QColor& ink, const QFont& font = body_font()) {
  auto* made = new QLabel{text};
  made->setTextFormat(Qt::PlainText);
  made->setWordWrap(true);
  made->setFont(font);
  made->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  made->setStyleSheet(QStringLiteral("color: %1;").arg(ink.name()));
  return made;
}

/// Bars and stacks of a table's cell.
class CellBar : public QWidget {
 public:
  CellBar(const AnswerCell& cell, const Theme& theme)
      : bar_{cell.bar}, stack_{cell.stack}, tone_{cell.tone}, theme_{&theme} {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  }
  [[nodiscard]] QSize sizeHint() const override { return {220, 14}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {80, 14}; }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter painter{this};
    painter.fillRect(rect(), theme_->idle);
    if (bar_) paint_bar(painter);
    if (stack_) paint_stack(painter);
  }

 private:
  void paint_span(QPainter& painter, double from, double to, const QColor& colour) const {
    const double left = width() * std::clamp(std::min(from, to), 0.0, 1.0);
    const double right = width() * std::clamp(std::max(from, to), 0.0, 1.0);
    painter.fillRect(QRectF{left, 0.0, std::max(1.0, right - left), 1.0 * height()}, colour);
  }

  void paint_mark(QPainter& painter, double at) const {
    const double x = std::clamp(width() * at, 1.0, width() - 1.0);
    painter.fillRect(QRectF{x - 1.0, 0.0, 2.0, 1.0 * height()}, theme_->text);
  }

  void paint_bar(QPainter& painter) const {
    const QColor colour = tone_ == Tone::bad    ? theme_->bad
                          : tone_ == Tone::good ? theme_->good
                          : bar_->mark          ? theme_->series[4]
                                                : theme_->series[0];
    paint_span(painter, bar_->from, bar_->to, colour);
    if (bar_->broken) {
      painter.setPen(QPen{theme_->surface, 2.0});
      painter.drawLine(QLineF{8.0, 1.0 * height(), 14.0, 0.0});
    }
    if (bar_->mark) paint_mark(painter, *bar_->mark);
    if (bar_->axis) paint_mark(painter, *bar_->axis);
  }

  void paint_stack(QPainter& painter) const {
    double at = 0.0;
    for (const AnswerStack::Part& part : stack_->parts) {
      paint_span(painter, at, at + part.share, colour_of(*theme_, part.paint));
      at += part.share;
    }
    paint_mark(painter, stack_->limit);
  }

  std::optional<AnswerBar> bar_;
  std::optional<AnswerStack> stack_;
  Tone tone_;
  const Theme* theme_;
};

/// A picture of ours, as wide as there is room.
class PictureBox : public QWidget {
 public:
  PictureBox(const AnswerPicture& picture, const Theme& theme)
      : drawing_{QByteArray::fromStdString(drawn(*picture.scene, theme))} {
    setAccessibleName(shown_text(picture.label));
    QSizePolicy policy{QSizePolicy::Expanding, QSizePolicy::Preferred};
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
  }
  [[nodiscard]] QSize sizeHint() const override {
    return {drawing_.defaultSize().width(), heightForWidth(drawing_.defaultSize().width())};
  }
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int room) const override {
    const QSize size = drawing_.defaultSize();
    return size.width() > 0 ? std::min(room, size.width()) * size.height() / size.width() : 0;
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter painter{this};
    const int shown = std::min(width(), drawing_.defaultSize().width());
    drawing_.render(&painter, QRectF{0.0, 0.0, 1.0 * shown, 1.0 * heightForWidth(shown)});
  }

 private:
  /// On the window's ground, in its colours.
  static std::string drawn(const Scene& scene, const Theme& theme) {
    const auto name = [&](const SceneColour& colour) { return colour.hex(theme.dark()); };
    return svg_start(scene.space.width, scene.space.height, false) + scene_elements(scene, name) +
           "</svg>\n";
  }

  mutable QSvgRenderer drawing_;
};

QWidget* cell_widget(const AnswerCell& cell, const AnswerColumn& column, const Theme& theme) {
  if (cell.bar || cell.stack) return new CellBar{cell, theme};
  QString words = shown_text(cell.text);
  const bool part = words.startsWith(QLatin1String("  "));
  if (part) words = QStringLiteral("    ") + words.trimmed();
  QLabel* made = label(words, part ? theme.muted : colour_of(theme, cell.tone),
                       cell.tone == Tone::strong ? title_font() : body_font());
  const bool number = column.align == TextTable::Align::right;
  made->setWordWrap(!number);
  made->setAlignment((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return made;
}

/// Adds what a block is made of to a column.
struct WidgetsOf {
  QVBoxLayout& column;
  const Theme& theme;

  void operator()(const AnswerFacts& facts) const {
    auto* grid = new QGridLayout;
    grid->setColumnStretch(1, 1);
    grid->setHorizontalSpacing(16);
    grid->setVerticalSpacing(4);
    int line = 0;
    for (const AnswerFact& fact : facts.rows) {
      grid->addWidget(label(shown_text(fact.label).trimmed(), theme.muted), line, 0, Qt::AlignTop);
      const QString lead =
          fact.verdict.empty() ? QString{} : shown_text(fact.verdict) + QLatin1Char(' ');
      grid->addWidget(label(lead + shown_text(fact.text), colour_of(theme, fact.tone)), line++, 1);
    }
    column.addLayout(grid);
  }

  void operator()(const AnswerTable& table) const {
    auto* grid = new QGridLayout;
    grid->setHorizontalSpacing(18);
    grid->setVerticalSpacing(3);
    int line = 0;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (!table.columns[i].head.empty()) {
        QLabel* head = label(shown_text(table.columns[i].head), theme.muted, small_font());
        head->setWordWrap(false);
        head->setAlignment(table.columns[i].align == TextTable::Align::right ? Qt::AlignRight
                                                                             : Qt::AlignLeft);
        grid->addWidget(head, 0, static_cast<int>(i));
        line = 1;
      }
    for (const auto& row : table.rows) {
      for (std::size_t i = 0; i < row.size(); ++i)
        grid->addWidget(cell_widget(row[i], table.columns[i], theme), line, static_cast<int>(i));
      ++line;
    }
    // What is left of the width goes to the last column of words or bars.
    for (std::size_t i = table.columns.size(); i-- > 0;)
      if (table.columns[i].align == TextTable::Align::left) {
        grid->setColumnStretch(static_cast<int>(i), 1);
        break;
      }
    column.addLayout(grid);
  }

  void operator()(const AnswerLegend& legend) const {
    QString words;
    for (const AnswerLegend::Entry& entry : legend.entries)
      words +=
          QStringLiteral("<span style='color:%1'>■</span> %2 &nbsp; ")
              .arg(colour_of(theme, entry.paint).name(), shown_text(entry.label).toHtmlEscaped());
    if (!legend.limit.empty())
      words += QStringLiteral("<b>|</b> ") + shown_text(legend.limit).toHtmlEscaped();
    QLabel* made = label({}, theme.muted, small_font());
    made->setTextFormat(Qt::RichText);
    made->setText(words);
    column.addWidget(made);
  }

  void operator()(const AnswerLine& line) const {
    QLabel* made = label({}, theme.text);
    made->setTextFormat(Qt::RichText);
    const QString lead = line.lead.empty() ? QString{}
                                           : QStringLiteral("<b style='color:%1'>%2</b>")
                                                 .arg(colour_of(theme, line.tone).name(),
                                                      shown_text(line.lead).toHtmlEscaped());
    made->setText(lead + shown_text(line.text).toHtmlEscaped());
    column.addWidget(made);
  }

  void operator()(const AnswerList& list) const {
    for (const std::string& item : list.items)
      column.addWidget(label(QStringLiteral("•  ") + shown_text(item), theme.text));
  }

  void operator()(const AnswerCode& code) const {
    const QString lead = code.label.empty() ? QString{} : shown_text(code.label) + QLatin1Char(' ');
    column.addWidget(label(lead + shown_text(code.text), theme.text, mono_font()));
  }

  void operator()(const AnswerPicture& picture) const {
    if (picture.titled)
      column.addWidget(label(shown_text(picture.label), theme.text, title_font()));
    column.addWidget(new PictureBox{picture, theme});
  }
};

void add_head(QVBoxLayout& column, const AnswerHead& head, const Theme& theme) {
  const QColor ink = head.verdict ? colour_of(theme, tone_of(*head.verdict)) : theme.text;
  column.addWidget(label(shown_text(head.subject) + QStringLiteral(": ") + shown_text(head.words),
                         ink, headline_font()));
  if (!head.sentence.empty()) column.addWidget(label(shown_text(head.sentence), theme.text));
  if (head.figures.empty()) return;
  AnswerTable figures{{words_column(), number_column(), words_column()}};
  for (const HeadFigure& figure : head.figures)
    figures.add({figure.label,
                 {figure.value, Tone::strong},
                 figure.band + (figure.band.empty() || figure.difference.empty() ? "" : "; ") +
                     figure.difference});
  WidgetsOf{column, theme}(figures);
}

}  // namespace

QWidget* answer_widgets(const Answer& answer, const Theme& theme) {
  auto* page = new QWidget;
  auto* column = new QVBoxLayout{page};
  column->setContentsMargins(16, 12, 16, 12);
  column->setSpacing(8);
  add_head(*column, answer.head, theme);
  for (const AnswerSection& section : answer.sections) {
    if (section.place == AnswerPlace::terminal) continue;
    column->addSpacing(6);
    if (!section.title.empty())
      column->addWidget(label(shown_text(section.title), theme.text, title_font()));
    for (const AnswerBlock& block : section.blocks) std::visit(WidgetsOf{*column, theme}, block);
  }
  column->addStretch(1);
  return page;
}

void show_answer(QScrollArea& area, const Answer& answer, const Theme& theme) {
  const int place = area.verticalScrollBar()->value();
  area.setWidget(answer_widgets(answer, theme));
  area.verticalScrollBar()->setValue(place);
}

}  // namespace foretrain::gui
