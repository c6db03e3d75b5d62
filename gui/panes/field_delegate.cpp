// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/field_delegate.hpp"

#include <QComboBox>
#include <QCompleter>
#include <QLineEdit>
#include <QPainter>

#include "gui/panes/field_model.hpp"

namespace foretrain::gui {
namespace {

constexpr int row_height = 27;
constexpr int inset = 6;

int error_height() { return QFontMetrics{small_font()}.height() * 2 + 4; }

bool shows_error(const QModelIndex& index) {
  return index.column() == FieldModel::value_column &&
         !index.data(FieldModel::error_role).toString().isEmpty();
}

QString shown_text(const QModelIndex& index) {
  QString text = index.data(Qt::DisplayRole).toString();
  if (index.column() == FieldModel::key_column || !index.data(FieldModel::group_role).toBool())
    return text;
  const int count = index.data(FieldModel::count_role).toInt();
  return count == 0 ? QString{} : FieldDelegate::tr("%n set", nullptr, count);
}

}  // namespace

FieldDelegate::FieldDelegate(QObject* parent)
    : QStyledItemDelegate{parent}, theme_{&theme_of(ThemeKind::light)} {}

void FieldDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option,
                          const QModelIndex& index) const {
  painter->save();
  const bool chosen = option.state.testFlag(QStyle::State_Selected);
  const bool value = index.column() == FieldModel::value_column;
  const bool group = index.data(FieldModel::group_role).toBool();
  const bool given = index.data(FieldModel::given_role).toBool();
  const bool wrong = !index.data(FieldModel::error_role).toString().isEmpty();
  if (chosen) painter->fillRect(option.rect, theme_->hover);

  QRect line = option.rect.adjusted(inset, 0, -inset, 0);
  line.setHeight(row_height);
  QFont font = group && !value ? title_font() : body_font();
  if (value && given) font.setWeight(QFont::DemiBold);
  painter->setFont(font);
  painter->setPen(value && wrong               ? theme_->bad
                  : value && (!given || group) ? theme_->muted
                                               : theme_->text);
  const QFontMetrics metrics{font};
  painter->drawText(line, Qt::AlignVCenter | Qt::AlignLeft,
                    metrics.elidedText(shown_text(index), Qt::ElideRight, line.width()));
  if (shows_error(index)) {
    painter->setFont(small_font());
    painter->setPen(theme_->bad);
    const QRect below{line.left(), line.bottom() + 1, line.width(), error_height()};
    painter->drawText(below, Qt::AlignTop | Qt::AlignLeft | Qt::TextWordWrap,
                      index.data(FieldModel::error_role).toString());
  }
  painter->restore();
}

QSize FieldDelegate::sizeHint(const QStyleOptionViewItem& /*option*/,
                              const QModelIndex& index) const {
  return {60, row_height + (shows_error(index) ? error_height() : 0)};
}

QWidget* FieldDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem& /*option*/,
                                     const QModelIndex& index) const {
  const QStringList choices = index.data(FieldModel::choices_role).toStringList();
  if (choices.isEmpty()) {
    auto* line = new QLineEdit{parent};
    line->setPlaceholderText(index.data(FieldModel::hint_role).toString());
    return line;
  }
  auto* box = new QComboBox{parent};
  box->addItem(tr("(default)"), QString{});
  for (const QString& choice : choices) box->addItem(choice, choice);
  // Catalog entries may also be paths to files.
  const bool open = index.data(FieldModel::hint_role).toString() == QLatin1String("text");
  box->setEditable(open);
  if (open) box->completer()->setFilterMode(Qt::MatchContains);
  connect(box, &QComboBox::activated, this, [this, box] {
    auto* self = const_cast<FieldDelegate*>(this);  // signals of a delegate are not const
    Q_EMIT self->commitData(box);
    Q_EMIT self->closeEditor(box);
  });
  return box;
}

void FieldDelegate::setEditorData(QWidget* editor, const QModelIndex& index) const {
  const QString value = index.data(Qt::EditRole).toString();
  if (auto* line = qobject_cast<QLineEdit*>(editor)) {
    line->setText(value);
  } else if (auto* box = qobject_cast<QComboBox*>(editor)) {
    const int found = box->findData(value);
    box->setCurrentIndex(found < 0 ? 0 : found);
    if (box->isEditable() && found < 0) box->setEditText(value);
  }
}

void FieldDelegate::setModelData(QWidget* editor, QAbstractItemModel* model,
                                 const QModelIndex& index) const {
  if (const auto* line = qobject_cast<QLineEdit*>(editor)) {
    model->setData(index, line->text());
  } else if (const auto* box = qobject_cast<QComboBox*>(editor)) {
    const bool listed = box->currentText() == box->itemText(box->currentIndex());
    model->setData(index, listed ? box->currentData().toString() : box->currentText());
  }
}

void FieldDelegate::updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                                         const QModelIndex& /*index*/) const {
  QRect line = option.rect;
  line.setHeight(row_height);
  editor->setGeometry(line);
}

}  // namespace foretrain::gui
