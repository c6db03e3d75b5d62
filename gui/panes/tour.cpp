// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/tour.hpp"

#include <QEvent>
#include <QFrame>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace foretrain::gui {
namespace {

constexpr int card_width = 340;
constexpr int gap = 12;

}  // namespace

Tour::Tour(std::vector<TourStop> stops, const Theme& theme, QWidget* window)
    : QWidget{window},
      stops_{std::move(stops)},
      theme_{&theme},
      card_{new QFrame{this}},
      title_{new QLabel},
      text_{new QLabel},
      next_{new QPushButton} {
  setObjectName(QStringLiteral("tour"));
  setAccessibleName(tr("Tour of the window"));
  setAttribute(Qt::WA_DeleteOnClose);
  setFocusPolicy(Qt::StrongFocus);
  std::erase_if(stops_, [](const TourStop& stop) { return !stop.place->isVisible(); });
  card_->setProperty("inner", true);
  card_->setFixedWidth(card_width);
  title_->setFont(title_font());
  text_->setWordWrap(true);
  auto* skip = new QPushButton{tr("Skip")};
  next_->setProperty("primary", true);
  next_->setObjectName(QStringLiteral("tour next"));
  auto* buttons = new QHBoxLayout;
  buttons->addStretch(1);
  buttons->addWidget(skip);
  buttons->addWidget(next_);
  auto* column = new QVBoxLayout{card_};
  column->setContentsMargins(14, 12, 14, 12);
  column->addWidget(title_);
  column->addWidget(text_);
  column->addLayout(buttons);
  connect(skip, &QPushButton::clicked, this, &QWidget::close);
  connect(next_, &QPushButton::clicked, this, [this] { go_to(at_ + 1); });
  window->installEventFilter(this);
  show();
  raise();
  setFocus();
  go_to(0);
}

void Tour::go_to(int stop) {
  if (stop >= stops()) {
    close();
    return;
  }
  at_ = std::max(0, stop);
  const TourStop& shown = stops_[static_cast<std::size_t>(at_)];
  title_->setText(shown.title);
  text_->setText(shown.text);
  setAccessibleDescription(shown.title + QStringLiteral(": ") + shown.text);
  next_->setText(at_ + 1 == stops() ? tr("Done") : tr("Next (%1 of %2)").arg(at_ + 1).arg(stops()));
  lay_out();
}

QRect Tour::shown_part() const {
  const QWidget* place = stops_[static_cast<std::size_t>(at_)].place;
  return {place->mapTo(parentWidget(), QPoint{0, 0}), place->size()};
}

void Tour::lay_out() {
  setGeometry(parentWidget()->rect());
  card_->adjustSize();
  const QRect part = shown_part();
  // Beside the part where there is room, else over its middle.
  QPoint place = part.center() - QPoint{card_->width() / 2, card_->height() / 2};
  if (part.right() + gap + card_->width() < width())
    place = {part.right() + gap, part.top()};
  else if (part.left() - gap - card_->width() > 0)
    place = {part.left() - gap - card_->width(), part.top()};
  else if (part.bottom() + gap + card_->height() < height())
    place.setY(part.bottom() + gap);
  place.setX(std::clamp(place.x(), gap, std::max(gap, width() - card_->width() - gap)));
  place.setY(std::clamp(place.y(), gap, std::max(gap, height() - card_->height() - gap)));
  card_->move(place);
  update();
}

void Tour::paintEvent(QPaintEvent* /*event*/) {
  constexpr int opacity = 170;
  QPainter painter{this};
  painter.setRenderHint(QPainter::Antialiasing);
  QPainterPath faded;
  faded.addRect(rect());
  QPainterPath part;
  part.addRoundedRect(QRectF{shown_part()}.adjusted(-3, -3, 3, 3), theme_->radius, theme_->radius);
  QColor ground = theme_->window;
  ground.setAlpha(opacity);
  painter.fillPath(faded.subtracted(part), ground);
  painter.setPen(QPen{theme_->accent, 2.0});
  painter.drawPath(part);
}

void Tour::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Escape:
      close();
      break;
    case Qt::Key_Left:
      go_to(at_ - 1);
      break;
    case Qt::Key_Right:
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
      go_to(at_ + 1);
      break;
    default:
      QWidget::keyPressEvent(event);
  }
}

bool Tour::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize) lay_out();
  return QWidget::eventFilter(watched, event);
}

}  // namespace foretrain::gui
