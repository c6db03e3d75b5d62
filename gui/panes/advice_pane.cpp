// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/advice_pane.hpp"

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <utility>

namespace foretrain::gui {
namespace {

QColor colour_of_tone(Tone tone, const Theme& theme) {
  switch (tone) {
    case Tone::good:
      return theme.good;
    case Tone::caution:
      return theme.caution;
    case Tone::bad:
      return theme.bad;
    case Tone::unknown:
      return theme.muted;
    case Tone::plain:
      break;
  }
  return theme.text;
}

}  // namespace

AdvicePane::AdvicePane(QWidget* parent) : QScrollArea{parent}, theme_{&theme_of(ThemeKind::light)} {
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setObjectName(QStringLiteral("advice"));
  rebuild();
}

void AdvicePane::show_advice(std::vector<Advice> advice) {
  if (advice == advice_) return;
  advice_ = std::move(advice);
  rebuild();
}

void AdvicePane::set_theme(const Theme& theme) {
  theme_ = &theme;
  rebuild();
}

void AdvicePane::rebuild() {
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout{page};
  layout->setContentsMargins(8, 8, 8, 8);
  layout->setSpacing(6);
  for (const Advice& advice : advice_) layout->addWidget(make_card(advice));
  if (advice_.empty()) {
    auto* nothing =
        new QLabel{tr("No advice: the plan runs, and no setting that was tried "
                      "makes a step shorter.")};
    nothing->setProperty("role", QStringLiteral("muted"));
    nothing->setWordWrap(true);
    layout->addWidget(nothing);
  }
  layout->addStretch(1);
  setWidget(page);  // the old page goes
}

QWidget* AdvicePane::make_card(const Advice& advice) {
  auto* card = new QFrame;
  card->setProperty("inner", true);
  auto* layout = new QVBoxLayout{card};
  layout->setContentsMargins(12, 8, 12, 8);
  layout->setSpacing(4);
  auto* title = new QLabel{advice.title};
  title->setFont(title_font());
  title->setStyleSheet(
      QStringLiteral("color: %1;").arg(colour_of_tone(advice.tone, *theme_).name()));
  auto* text = new QLabel{advice.text};
  text->setWordWrap(true);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  layout->addWidget(title);
  layout->addWidget(text);
  for (const Fix& fix : advice.fixes) {
    auto* button = new QPushButton{fix.label};
    button->setProperty("primary", !fix.settings.isEmpty());
    button->setObjectName(QStringLiteral("fix"));
    button->setToolTip(fix.settings.join(QLatin1Char('\n')));
    auto* effect = new QLabel{fix.effect};
    effect->setProperty("role", QStringLiteral("muted"));
    effect->setWordWrap(true);
    auto* row = new QHBoxLayout;
    row->addWidget(button);
    row->addWidget(effect, 1);
    layout->addLayout(row);
    connect(button, &QPushButton::clicked, this, [this, fix] { Q_EMIT fix_wanted(fix); });
  }
  return card;
}

}  // namespace foretrain::gui
