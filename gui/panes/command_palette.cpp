// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/command_palette.hpp"

#include <QKeyEvent>
#include <QLineEdit>
#include <QListView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include <algorithm>
#include <optional>
#include <utility>

#include "gui/looks/theme.hpp"

namespace foretrain::gui {
namespace {

/// Smaller is better; nothing where a word is missing.
std::optional<int> rank_of(const PaletteEntry& entry, const QStringList& words) {
  if (words.isEmpty()) return 0;
  int rank = entry.text.startsWith(words.first(), Qt::CaseInsensitive) ? 0 : 1;
  for (const QString& word : words) {
    if (entry.text.contains(word, Qt::CaseInsensitive)) continue;
    if (!entry.detail.contains(word, Qt::CaseInsensitive)) return std::nullopt;
    rank = 2;
  }
  return rank;
}

class EntryPainter : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& /*option*/,
                               const QModelIndex& /*index*/) const override {
    return {400, QFontMetrics{body_font()}.height() + 14};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    painter->save();
    const bool chosen = option.state.testFlag(QStyle::State_Selected);
    const QPalette& palette = option.palette;
    if (chosen) painter->fillRect(option.rect, palette.color(QPalette::Highlight));
    const QRect line = option.rect.adjusted(10, 0, -10, 0);
    const QFontMetrics small{small_font()};
    const QString detail = small.elidedText(index.data(PaletteModel::detail_role).toString(),
                                            Qt::ElideRight, line.width() * 55 / 100);
    const int side = small.horizontalAdvance(detail) + 14;
    painter->setFont(small_font());
    painter->setPen(palette.color(chosen ? QPalette::HighlightedText : QPalette::PlaceholderText));
    painter->drawText(line, Qt::AlignVCenter | Qt::AlignRight, detail);
    painter->setFont(body_font());
    painter->setPen(palette.color(chosen ? QPalette::HighlightedText : QPalette::Text));
    painter->drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                      QFontMetrics{body_font()}.elidedText(index.data().toString(), Qt::ElideRight,
                                                           line.width() - side));
    painter->restore();
  }
};

}  // namespace

PaletteModel::PaletteModel(std::vector<PaletteEntry> entries, QObject* parent)
    : QAbstractListModel{parent}, entries_{std::move(entries)} {
  look_for({});
}

void PaletteModel::look_for(const QString& text) {
  const QStringList words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  std::vector<std::pair<int, std::size_t>> ranked;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (const auto rank = rank_of(entries_[i], words)) ranked.emplace_back(*rank, i);
  std::ranges::sort(ranked);
  beginResetModel();
  found_.clear();
  for (const auto& [rank, entry] : ranked) found_.push_back(entry);
  endResetModel();
}

void PaletteModel::run(int row) const {
  // A copy: what runs may close the window that holds the entries.
  const auto what = entries_[found_[static_cast<std::size_t>(row)]].run;
  what();
}

int PaletteModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(found_.size());
}

QVariant PaletteModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const PaletteEntry& entry = entries_[found_[static_cast<std::size_t>(index.row())]];
  if (role == Qt::DisplayRole) return entry.text;
  if (role == detail_role || role == Qt::ToolTipRole) return entry.detail;
  return {};
}

CommandPalette::CommandPalette(std::vector<PaletteEntry> entries, QWidget* parent)
    : QDialog{parent, Qt::Popup | Qt::FramelessWindowHint},
      model_{new PaletteModel{std::move(entries), this}},
      line_{new QLineEdit},
      list_{new QListView} {
  setAttribute(Qt::WA_DeleteOnClose);
  setObjectName(QStringLiteral("palette"));
  line_->setPlaceholderText(tr("What do you want to do? A command, a key, an example, a view"));
  list_->setModel(model_);
  list_->setItemDelegate(new EntryPainter{list_});
  list_->setUniformItemSizes(true);
  list_->setCurrentIndex(model_->index(0));
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(8, 8, 8, 8);
  layout->addWidget(line_);
  layout->addWidget(list_, 1);
  resize(640, 420);
  if (parent) {
    const QRect area = parent->geometry();
    move(area.center().x() - width() / 2, area.top() + 70);
  }
  line_->installEventFilter(this);
  line_->setFocus();
  connect(line_, &QLineEdit::textChanged, this, [this](const QString& words) {
    model_->look_for(words);
    list_->setCurrentIndex(model_->index(0));
  });
  connect(list_, &QListView::clicked, this, &CommandPalette::choose);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched != line_ || event->type() != QEvent::KeyPress)
    return QDialog::eventFilter(watched, event);
  const int key = static_cast<QKeyEvent*>(event)->key();
  const int row = list_->currentIndex().row();
  const int last = model_->rowCount() - 1;
  const auto go = [&](int to) { list_->setCurrentIndex(model_->index(std::clamp(to, 0, last))); };
  switch (key) {
    case Qt::Key_Down:
      go(row + 1);
      return true;
    case Qt::Key_Up:
      go(row - 1);
      return true;
    case Qt::Key_PageDown:
      go(row + 10);
      return true;
    case Qt::Key_PageUp:
      go(row - 10);
      return true;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      choose(list_->currentIndex());
      return true;
    default:
      return QDialog::eventFilter(watched, event);
  }
}

void CommandPalette::choose(const QModelIndex& index) {
  if (!index.isValid()) return;
  hide();
  model_->run(index.row());
  close();
}

}  // namespace foretrain::gui
