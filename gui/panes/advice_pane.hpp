// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QScrollArea>
#include <QString>
#include <QStringList>
#include <optional>
#include <vector>

#include "gui/looks/theme.hpp"
#include "gui/looks/units.hpp"
#include "gui/panes/card_row.hpp"
#include "gui/process/study.hpp"

class QVBoxLayout;

namespace foretrain::gui {

/// A change that one click makes.
struct Fix {
  QString label;         ///< on the button, e.g. "Use tensor 16, data 8"
  QString effect;        ///< beside it, e.g. "peak 61.2 GiB, step 5.30 s"
  QStringList settings;  ///< as for --set; empty: `field` or `line` is shown instead
  QString field;         ///< key to look at
  int line = 0;          ///< of the text, from 1

  friend bool operator==(const Fix&, const Fix&) = default;
};

/// Something to know, and what can be done about it.
struct Advice {
  Tone tone = Tone::plain;
  QString title;
  QString text;
  std::vector<Fix> fixes;

  friend bool operator==(const Advice&, const Advice&) = default;
};

/// Errors, then reasons why the plan cannot run with the changes that help, budgets, settings that
/// shorten the step (the most first), warnings, and what is unknown.
[[nodiscard]] std::vector<Advice> advice_on(const Study& study, const Units& units);

/// What keeps the text from having a forecast, or the plan from running; nothing where it runs.
[[nodiscard]] std::optional<Advice> notice_on(const Study& study, const Units& units);

/// Advice as cards, each fix a button.
class AdvicePane : public QScrollArea {
  Q_OBJECT

 public:
  explicit AdvicePane(QWidget* parent = nullptr);

  void show_advice(std::vector<Advice> advice);
  void set_theme(const Theme& theme);
  [[nodiscard]] const std::vector<Advice>& shown() const { return advice_; }

 Q_SIGNALS:
  void fix_wanted(const foretrain::gui::Fix& fix);

 private:
  void rebuild();
  [[nodiscard]] QWidget* make_card(const Advice& advice);

  std::vector<Advice> advice_;
  const Theme* theme_;
};

}  // namespace foretrain::gui
