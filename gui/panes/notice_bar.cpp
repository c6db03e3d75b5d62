// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/notice_bar.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace foretrain::gui {
namespace {

constexpr int button_padding = 22;
constexpr qsizetype longest_text = 150;
constexpr int widest_button = 340;

}  // namespace

NoticeBar::NoticeBar(QWidget* parent)
    : QFrame{parent},
      text_{new QLabel},
      row_{new QHBoxLayout},
      theme_{&theme_of(ThemeKind::light)} {
  setProperty("card", true);
  setObjectName(QStringLiteral("notice"));
  setAccessibleName(tr("What is in the way"));
  text_->setWordWrap(true);
  text_->setTextFormat(Qt::RichText);
  auto* column = new QVBoxLayout{this};
  column->setContentsMargins(12, 8, 12, 8);
  column->addWidget(text_);
  column->addLayout(row_);
  hide();
}

void NoticeBar::show_notice(std::optional<Advice> notice, bool older) {
  if (notice == notice_ && older == older_) return;
  notice_ = std::move(notice);
  older_ = older;
  for (QPushButton* button : std::exchange(buttons_, {})) button->deleteLater();
  setVisible(notice_.has_value());
  if (!notice_) return;
  for (const Fix& fix : notice_->fixes) add_button(fix);
  write_text();
  fit_labels();
}

void NoticeBar::write_text() {
  if (!notice_) return;
  QString text = notice_->text;
  if (text.size() > longest_text) text = text.left(longest_text) + QStringLiteral("…");
  QString words =
      QStringLiteral("<b style='color:%1'>%2</b>: %3")
          .arg(theme_->bad.name(), notice_->title.toHtmlEscaped(), text.toHtmlEscaped());
  if (older_) words += tr(" Shown below: the forecast before that.");
  text_->setText(words);
  text_->setToolTip(notice_->text);
  setAccessibleDescription(notice_->title + QStringLiteral(": ") + notice_->text);
}

void NoticeBar::add_button(const Fix& fix) {
  auto* button = new QPushButton;
  button->setObjectName(QStringLiteral("remedy"));
  button->setProperty("primary", !fix.settings.isEmpty());
  button->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
  button->setAccessibleName(fix.label);
  button->setAccessibleDescription(fix.effect);
  button->setToolTip(fix.label + QLatin1Char('\n') + fix.effect);
  button->setMaximumWidth(widest_button);
  row_->addWidget(button, 1);
  buttons_.push_back(button);
  connect(button, &QPushButton::clicked, this, [this, fix] { Q_EMIT fix_wanted(fix); });
}

void NoticeBar::fit_labels() {
  if (buttons_.empty()) return;
  const int count = static_cast<int>(buttons_.size());
  const int room = std::max(60, std::min(widest_button, (width() - 24) / count) - button_padding);
  for (std::size_t i = 0; i < buttons_.size(); ++i) {
    const Fix& fix = notice_->fixes[i];
    const QFontMetrics metrics{buttons_[i]->font()};
    QString label = metrics.elidedText(fix.label, Qt::ElideRight, room);
    if (!fix.effect.isEmpty())
      label += QLatin1Char('\n') + metrics.elidedText(fix.effect, Qt::ElideRight, room);
    buttons_[i]->setText(label);
  }
}

void NoticeBar::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  fit_labels();
}

void NoticeBar::set_theme(const Theme& theme) {
  theme_ = &theme;
  write_text();
}

}  // namespace foretrain::gui
