// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QEvent>
#include <QPainter>
#include <QWidget>

namespace foretrain::gui {

/// Fades a widget beside it, and lets the pointer through.
class Veil : public QWidget {
 public:
  explicit Veil(QWidget& over) : QWidget{over.parentWidget()}, over_{&over} {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setObjectName(QStringLiteral("veil"));
    over.installEventFilter(this);
    hide();
  }

  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::Resize || event->type() == QEvent::Move)
      setGeometry(over_->geometry());
    return QWidget::eventFilter(watched, event);
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    constexpr int opacity = 150;
    QColor ground = palette().color(QPalette::Window);
    ground.setAlpha(opacity);
    QPainter{this}.fillRect(rect(), ground);
  }

 private:
  QWidget* over_;
};

}  // namespace foretrain::gui
