// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>

#include <vector>

#include "gui/looks/units.hpp"
#include "gui/panes/headlines.hpp"
#include "gui/process/study.hpp"

namespace foretrain::gui {

/// A change that one click makes.
struct Fix {
  QString label;         ///< on the button, e.g. "Use parallel.tensor=16"
  QString effect;        ///< beside it, e.g. "peak 61.2 GiB, step 5.30 s"
  QStringList settings;  ///< as for --set; empty: `field` is shown instead
  QString field;         ///< key to look at

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

}  // namespace foretrain::gui
