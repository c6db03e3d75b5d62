// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/forecast_bar.hpp"

#include <QComboBox>
#include <QFontMetrics>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>

#include <cmath>

#include "planner/text/format.hpp"

namespace foretrain::gui {

QString event_sentence(const Study& study, const Units& units) {
  const auto tr = [](const char* text) { return ForecastBar::tr(text); };
  if (!study.event) return {};
  if (!study.event->step) return tr("Event engine: the plan cannot run");
  const Seconds played = study.event->step->time;
  QString text = tr("On the fabric: step %1").arg(time_label(played, units));
  if (study.report && study.report->prediction.step) {
    const double ratio = played / study.report->prediction.step->time - 1.0;
    const QString change = QString::fromStdString(percent_text(std::abs(ratio)));
    text += std::abs(ratio) < 0.0005 ? tr(", as forecast")
            : ratio < 0.0            ? tr(", %1 shorter").arg(change)
                                     : tr(", %1 longer").arg(change);
  }
  if (!study.event->links.empty())
    text += tr("; busiest link %1 at %2")
                .arg(QString::fromStdString(study.event->links.front().name),
                     QString::fromStdString(percent_text(study.event->links.front().utilisation)));
  return text;
}

ForecastBar::ForecastBar(EventPlayer& player, QWidget* parent)
    : QWidget{parent},
      player_{&player},
      engine_{new QComboBox},
      play_{new QPushButton{tr("Simulate on the fabric")}},
      cancel_{new QPushButton{tr("Cancel")}},
      pin_{new QPushButton{tr("Pin")}},
      progress_{new QProgressBar},
      text_{new QLabel} {
  engine_->addItem(tr("closed form"), static_cast<int>(EngineKind::closed_form));
  engine_->addItem(tr("critical path"), static_cast<int>(EngineKind::path));
  engine_->setToolTip(tr("How the live forecast is computed"));
  engine_->setAccessibleName(tr("Engine"));
  play_->setToolTip(
      tr("Simulate the step with the event engine, flow by flow, in the background (F5)"));
  play_->setObjectName(QStringLiteral("play"));
  cancel_->setObjectName(QStringLiteral("cancel"));
  pin_->setToolTip(tr("Compare later changes with this forecast (Ctrl+P)"));
  progress_->setRange(0, 1000);
  progress_->setTextVisible(false);
  text_->setProperty("role", QStringLiteral("muted"));
  text_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  auto* layout = new QHBoxLayout{this};
  layout->setContentsMargins(0, 6, 0, 6);
  for (QWidget* part : {static_cast<QWidget*>(engine_), static_cast<QWidget*>(play_)})
    layout->addWidget(part);
  layout->addWidget(progress_, 1);
  layout->addWidget(text_, 2);
  layout->addWidget(cancel_);
  layout->addWidget(pin_);
  show_playing(false);
  connect(engine_, &QComboBox::activated, this, [this] {
    Q_EMIT engine_wanted(static_cast<EngineKind>(engine_->currentData().toInt()));
  });
  connect(play_, &QPushButton::clicked, this, &ForecastBar::play_wanted);
  connect(pin_, &QPushButton::clicked, this, &ForecastBar::pin_wanted);
  connect(cancel_, &QPushButton::clicked, player_, &EventPlayer::cancel);
  connect(player_, &EventPlayer::progressed, this, [this](double share, double simulated) {
    show_playing(true);
    progress_->setValue(static_cast<int>(share * 1000.0));
    text_->setText(tr("%1, %2 simulated")
                       .arg(QString::fromStdString(percent_text(share)),
                            QString::fromStdString(seconds_text(Seconds{simulated}))));
  });
}

void ForecastBar::show_playing(bool playing) {
  progress_->setVisible(playing);
  cancel_->setVisible(playing);
  play_->setEnabled(!playing);
}

void ForecastBar::set_engine(EngineKind engine) {
  engine_->setCurrentIndex(engine_->findData(static_cast<int>(engine)));
}

void ForecastBar::set_study(const Study& study, const Units& units) {
  show_playing(player_->playing());
  if (player_->playing()) {
    progress_->setValue(0);
    text_->setText(tr("event engine: building the fabric"));
    return;
  }
  play_->setEnabled(study.runs());
  const QString sentence = event_sentence(study, units);
  text_->setText(sentence);
  text_->setToolTip(sentence);
}

void ForecastBar::tell(const QString& sentence) {
  show_playing(false);
  text_->setText(sentence);
  text_->setToolTip(sentence);
}

}  // namespace foretrain::gui
