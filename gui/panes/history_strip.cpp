// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/history_strip.hpp"

#include <QPainter>
#include <QStyledItemDelegate>
#include <algorithm>
#include <utility>

#include "gui/panes/card_row.hpp"
#include "gui/panes/knob_rules.hpp"
#include "gui/process/reproduce.hpp"

namespace foretrain::gui {
namespace {

constexpr qsizetype most_keys = 3;

/// Names and comments decide nothing.
bool same_question(const std::string& before, const std::string& after) {
  auto old_values = values_of(before);
  auto new_values = values_of(after);
  for (auto* values : {&old_values, &new_values}) values->erase("name");
  return old_values == new_values;
}

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
    const auto& model = *static_cast<const HistoryModel*>(index.model());
    const HistoryStep& step = model.step(index.row());
    painter.setPen(step.step_s ? theme.muted : colour_of(theme, step.tone));
    painter.drawText(
        line, Qt::AlignVCenter | Qt::AlignLeft,
        step.step_s ? time_label(Seconds{*step.step_s}, strip_->units()) : step.verdict);
    const auto change = model.change(index.row(), strip_->units());
    if (!change) return;
    painter.setPen(change->better ? theme.good : theme.caution);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight, qt_text(change->text));
  }

  HistoryStrip* strip_;
};

}  // namespace

QString difference_label(const std::string& before, const std::string& after) {
  const auto old_values = values_of(before);
  const auto new_values = values_of(after);
  QStringList parts;
  for (const auto& [path, value] : new_values) {
    const auto old = old_values.find(path);
    if (old != old_values.end() && old->second == value) continue;
    const QString from = old == old_values.end()
                             ? QString{}
                             : QString::fromStdString(old->second) + QStringLiteral(" → ");
    parts << key_words(path) + QLatin1Char(' ') + from + QString::fromStdString(value);
  }
  for (const auto& [path, value] : old_values)
    if (!new_values.contains(path)) parts << HistoryModel::tr("no %1").arg(key_words(path));
  if (parts.isEmpty()) return HistoryModel::tr("text only");
  const qsizetype more = parts.size() - most_keys;
  if (more > 0) parts = parts.mid(0, most_keys) << HistoryModel::tr("%1 more").arg(more);
  return parts.join(QStringLiteral(", "));
}

HistoryModel::HistoryModel(QObject* parent) : QAbstractListModel{parent} {}

void HistoryModel::add(const Study& study) {
  if (!study.answered()) return;
  const QString text = QString::fromStdString(study.question.text);
  for (int row = 0; row < rowCount(); ++row) {
    if (step(row).text != text) continue;
    go_to(row);
    return;
  }
  if (present_ >= 0 && same_question(step(present_).text.toStdString(), study.question.text)) {
    steps_[static_cast<std::size_t>(present_)].text = text;
    return;
  }
  HistoryStep next;
  next.text = text;
  next.name = present_ < 0
                  ? tr("start")
                  : difference_label(step(present_).text.toStdString(), study.question.text);
  const AnswerHead head = head_of(study);
  next.verdict = sentence_case(head.words);
  if (head.verdict) next.tone = tone_of(*head.verdict);
  if (study.runs()) next.step_s = study.step()->time.value();
  if (steps_.size() == most_steps) {
    beginRemoveRows({}, 1, 1);  // the first one is what gains are counted from
    steps_.erase(steps_.begin() + 1);
    endRemoveRows();
  }
  const int row = rowCount();
  beginInsertRows({}, row, row);
  steps_.push_back(std::move(next));
  endInsertRows();
  go_to(row);
}

void HistoryModel::clear() {
  beginResetModel();
  steps_.clear();
  present_ = -1;
  endResetModel();
}

void HistoryModel::go_to(int row) {
  present_ = row;
  Q_EMIT dataChanged(index(0), index(rowCount() - 1), {present_role});
  Q_EMIT present_changed(row);
}

int HistoryModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(steps_.size());
}

QVariant HistoryModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const HistoryStep& at = step(index.row());
  switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole:
      return at.name;
    case Qt::ToolTipRole:
      return tr("%1\n%2. Click to come back, F2 to name it.").arg(at.name, at.verdict);
    case present_role:
      return index.row() == present_;
    default:
      return {};
  }
}

std::optional<FigureChange> HistoryModel::change(int row, const Units& units) const {
  return figure_change("step.time_s", steps_.front().step_s, step(row).step_s, units);
}

bool HistoryModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  const QString name = value.toString().trimmed();
  if (!index.isValid() || role != Qt::EditRole || name.isEmpty()) return false;
  HistoryStep& at = steps_[static_cast<std::size_t>(index.row())];
  at.named = at.named || name != at.name;
  at.name = name;
  Q_EMIT dataChanged(index, index);
  return true;
}

Qt::ItemFlags HistoryModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  return Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable | Qt::ItemNeverHasChildren;
}

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
