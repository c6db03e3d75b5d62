// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

#include "gui/looks/theme.hpp"
#include "gui/looks/units.hpp"
#include "gui/process/study.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain::gui {

/// One number that people look at first.
struct Headline {
  QString title;  ///< what it is: the figure's label
  QString value;  ///< the number, or a verdict
  QString detail;
  QString tooltip;
  Tone tone = Tone::plain;
  QString difference{};  ///< to the reference, signed; empty: none, or the same
  Tone difference_tone = Tone::plain;
};

/// The verdict, then the figures of the answer's head, in its words; of a training run always the
/// same, memory with the verdict. Differences are to `reference`, where both know the number.
[[nodiscard]] std::vector<Headline> headlines(const Study& study, const Units& units,
                                              const Study* reference = nullptr);

/// "OUT OF MEMORY", "out-of-memory" -> "Out of memory".
[[nodiscard]] QString sentence_case(const std::string& words);

/// The headlines as cards of equal width. Numbers shrink rather than being cut; while a forecast of
/// a changed text is on its way the old ones fade.
class CardRow : public QWidget {
  Q_OBJECT

 public:
  explicit CardRow(QWidget* parent = nullptr);

  /// `reference`: what differences are to, "to the pinned forecast".
  void show_headlines(std::vector<Headline> headlines, const QString& reference = {});
  [[nodiscard]] const std::vector<Headline>& shown() const { return headlines_; }
  void set_theme(const Theme& theme);
  void set_stale(bool stale);
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] QRect card(std::size_t index) const;
  [[nodiscard]] int card_at(const QPoint& place) const;
  void paint_card(QPainter& painter, const QRect& area, const Headline& line) const;

  std::vector<Headline> headlines_;
  QString reference_;
  const Theme* theme_;
  bool stale_ = false;
};

}  // namespace foretrain::gui
