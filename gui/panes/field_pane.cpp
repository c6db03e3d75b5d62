// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/field_pane.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QCompleter>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QPainter>
#include <QSortFilterProxyModel>
#include <QTreeView>
#include <QVBoxLayout>

#include "gui/looks/theme.hpp"
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

/// Keeps keys whose path or help holds the words, and, when wished, only those that are given or
/// wrong. Groups stay when one of their keys does.
class FieldFilter : public QSortFilterProxyModel {
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

  void look_for(const QString& words, bool only_given) {
    words_ = words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    only_given_ = only_given;
    invalidateFilter();
  }

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override {
    const QModelIndex index = sourceModel()->index(row, 0, parent);
    if (index.data(FieldModel::group_role).toBool()) return false;  // recursion keeps used ones
    const bool wrong = !index.data(FieldModel::error_role).toString().isEmpty();
    if (only_given_ && !wrong && !index.data(FieldModel::given_role).toBool()) return false;
    const QString text =
        index.data(FieldModel::path_role).toString() + index.data(Qt::ToolTipRole).toString();
    return std::ranges::all_of(
        words_, [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
  }

 private:
  QStringList words_;
  bool only_given_ = false;
};

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

FieldPane::FieldPane(QWidget* parent)
    : QWidget{parent},
      model_{new FieldModel{this}},
      proxy_{new FieldFilter{this}},
      tree_{new QTreeView},
      delegate_{new FieldDelegate{this}},
      search_{new QLineEdit},
      only_given_{new QCheckBox{tr("only set")}} {
  proxy_->setSourceModel(model_);
  proxy_->setRecursiveFilteringEnabled(true);
  tree_->setModel(proxy_);
  tree_->setItemDelegate(delegate_);
  tree_->setEditTriggers(QAbstractItemView::AllEditTriggers);
  tree_->setIndentation(14);
  tree_->setMouseTracking(true);
  tree_->setContextMenuPolicy(Qt::CustomContextMenu);
  tree_->header()->setStretchLastSection(true);
  tree_->header()->resizeSection(FieldModel::key_column, 190);
  tree_->setObjectName(QStringLiteral("fields"));
  search_->setPlaceholderText(
      tr("Search %1 keys by name or meaning").arg(scenario_table().fields().size()));
  search_->setAccessibleName(tr("Search keys"));
  tree_->setAccessibleName(tr("Keys of the scenario"));
  search_->setClearButtonEnabled(true);

  auto* top = new QHBoxLayout;
  top->addWidget(search_, 1);
  top->addWidget(only_given_);
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(6, 6, 6, 6);
  layout->addLayout(top);
  layout->addWidget(tree_, 1);
  connect(search_, &QLineEdit::textChanged, this, &FieldPane::filter);
  connect(only_given_, &QCheckBox::toggled, this, &FieldPane::filter);
  connect(model_, &FieldModel::edited, this, &FieldPane::edited);
  connect(tree_, &QTreeView::customContextMenuRequested, this, &FieldPane::show_menu);
}

void FieldPane::set_study(const Study& study) {
  model_->set_study(study);
  tree_->doItemsLayout();  // rows with errors are taller
  if (!expanded_) expand_given();
  if (!study.diagnostics.empty()) show_first_error();
}

void FieldPane::show_first_error() {
  const auto found =
      proxy_->match(proxy_->index(0, FieldModel::value_column), FieldModel::error_role,
                    QStringLiteral(".+"), 1, Qt::MatchRegularExpression | Qt::MatchRecursive);
  if (!found.isEmpty()) tree_->scrollTo(found.first(), QAbstractItemView::EnsureVisible);
}

void FieldPane::set_theme(const Theme& theme) {
  delegate_->set_theme(theme);
  tree_->viewport()->update();
}

void FieldPane::expand_given() {
  expanded_ = true;
  for (const char* group : {"cluster", "cluster.fabric", "training", "parallel", "memory"})
    tree_->expand(
        proxy_->mapFromSource(model_->index_of(QLatin1String(group), FieldModel::key_column)));
}

void FieldPane::filter() {
  static_cast<FieldFilter*>(proxy_)->look_for(search_->text(), only_given_->isChecked());
  if (!search_->text().isEmpty() || only_given_->isChecked()) tree_->expandAll();
}

void FieldPane::reveal(const QString& path) {
  search_->clear();
  only_given_->setChecked(false);
  const QModelIndex index = proxy_->mapFromSource(model_->index_of(path));
  if (!index.isValid()) return;
  tree_->setCurrentIndex(index);
  tree_->scrollTo(index, QAbstractItemView::PositionAtCenter);
  tree_->setFocus();
  tree_->edit(index);
}

void FieldPane::focus_search() {
  search_->setFocus();
  search_->selectAll();
}

void FieldPane::show_menu(const QPoint& at) {
  const QModelIndex index = tree_->indexAt(at);
  if (!index.isValid() || !index.data(FieldModel::given_role).toBool()) return;
  QMenu menu;
  const QString path = index.data(FieldModel::path_role).toString();
  menu.addAction(tr("Take %1 out of the file").arg(path), this,
                 [this, path] { Q_EMIT edited(path, {}); });
  menu.exec(tree_->viewport()->mapToGlobal(at));
}

}  // namespace foretrain::gui
