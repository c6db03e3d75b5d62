// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/history_strip.hpp"

#include <QPainter>
#include <QStyledItemDelegate>

#include <cmath>

#include "planner/text/format.hpp"

namespace foretrain::gui {
namespace {

constexpr int card_width = 190;
constexpr int inset = 9;

int line_height() { return QFontMetrics{body_font()}.height(); }
int card_height() { return 2 * line_height() + 14; }

class StepPainter : public QStyledItemDelegate {
 public:
  explicit StepPainter(HistoryStrip& strip) : QStyledItemDelegate{&strip}, strip_{&strip} {}

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& /*option*/,
                               const QModelIndex& /*index*/) const override {
    return {card_width, card_height() + 2};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const Theme& theme = strip_->theme();
    const bool present = index.data(HistoryModel::present_role).toBool();
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setPen(QPen{present ? theme.accent : theme.border, present ? 1.6 : 1.0});
    painter->setBrush(option.state.testFlag(QStyle::State_MouseOver) ? theme.hover : theme.surface);
    QRectF card = QRectF{option.rect}.adjusted(1, 1, -5, -1);
    card.setHeight(card_height());
    painter->drawRoundedRect(card, theme.radius, theme.radius);
    QRect line = card.toRect().adjusted(inset, 5, -inset, 0);
    line.setHeight(line_height());
    painter->setFont(body_font());
    painter->setPen(theme.text);
    painter->drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetrics{body_font()}.elidedText(index.data().toString(), Qt::ElideRight,
                                                           line.width()));
    line.translate(0, line_height() + 1);
    painter->setFont(small_font());
    paint_result(*painter, line, index, theme);
    painter->restore();
  }

 private:
  void paint_result(QPainter& painter, const QRect& line, const QModelIndex& index,
                    const Theme& theme) const {
    const QVariant step = index.data(HistoryModel::step_role);
    if (!step.isValid()) {
      painter.setPen(theme.bad);
      painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                       index.data(HistoryModel::verdict_role).toString());
      return;
    }
    painter.setPen(theme.muted);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                     time_label(Seconds{step.toDouble()}, strip_->units()));
    const QVariant gain = index.data(HistoryModel::gain_role);
    if (!gain.isValid() || index.row() == 0) return;
    const double change = gain.toDouble();
    painter.setPen(change < -0.0005 ? theme.good : change > 0.0005 ? theme.caution : theme.muted);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight,
                     (change < 0.0 ? QStringLiteral("−") : QStringLiteral("+")) +
                         QString::fromStdString(percent_text(std::abs(change))));
  }

  HistoryStrip* strip_;
};

}  // namespace

HistoryStrip::HistoryStrip(HistoryModel& model, QWidget* parent)
    : QListView{parent}, steps_{&model}, theme_{&theme_of(ThemeKind::light)} {
  setModel(&model);
  setItemDelegate(new StepPainter{*this});
  setFlow(QListView::LeftToRight);
  setWrapping(false);
  setMouseTracking(true);
  setEditTriggers(QAbstractItemView::EditKeyPressed);
  setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFrameShape(QFrame::NoFrame);
  setObjectName(QStringLiteral("history"));
  setAccessibleName(tr("History"));
  setStyleSheet(QStringLiteral("QListView { background: transparent; border: none; }"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  const auto restore = [this](const QModelIndex& index) {
    if (index.row() == steps_->present()) return;
    const HistoryStep& step = steps_->step(index.row());
    Q_EMIT restore_wanted(step.text, step.name);
  };
  connect(this, &QListView::clicked, this, restore);
  connect(this, &QListView::activated, this, restore);
  connect(&model, &HistoryModel::present_changed, this,
          [this](int row) { scrollTo(steps_->index(row)); });
}

void HistoryStrip::set_theme(const Theme& theme) {
  theme_ = &theme;
  viewport()->update();
}

void HistoryStrip::set_units(const Units& units) {
  units_ = units;
  viewport()->update();
}

QSize HistoryStrip::sizeHint() const { return {600, card_height() + 14}; }

}  // namespace foretrain::gui
