// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "gui/looks/units.hpp"
#include "gui/process/event_player.hpp"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace foretrain::gui {

/// Which engine forecasts, the event engine with its progress, and what to hold the forecast
/// against.
class ForecastBar : public QWidget {
  Q_OBJECT

 public:
  explicit ForecastBar(EventPlayer& player, QWidget* parent = nullptr);

  /// Shows what the event engine has to say about this study.
  void set_study(const Study& study, const Units& units);
  void set_engine(EngineKind engine);
  /// How the event engine ended; stays until the next study.
  void tell(const QString& sentence);

 Q_SIGNALS:
  void engine_wanted(foretrain::EngineKind engine);
  void play_wanted();
  void pin_wanted();

 private:
  void show_playing(bool playing);

  EventPlayer* player_;
  QComboBox* engine_;
  QPushButton* play_;
  QPushButton* cancel_;
  QPushButton* pin_;
  QProgressBar* progress_;
  QLabel* text_;
};

/// "on the fabric: step 5.31 s, 1.5 % longer; busiest link ... at 43 %"
[[nodiscard]] QString event_sentence(const Study& study, const Units& units);

}  // namespace foretrain::gui
