// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStyledItemDelegate>
#include <QWidget>

#include "gui/looks/theme.hpp"
#include "gui/panes/field_model.hpp"

class QCheckBox;
class QLineEdit;
class QSortFilterProxyModel;
class QTreeView;

namespace foretrain::gui {

/// Draws a value of FieldModel, its error below it, and makes the editor that its kind needs.
class FieldDelegate : public QStyledItemDelegate {
  Q_OBJECT

 public:
  explicit FieldDelegate(QObject* parent = nullptr);
  void set_theme(const Theme& theme) { theme_ = &theme; }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override;
  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override;
  QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem& option,
                        const QModelIndex& index) const override;
  void setEditorData(QWidget* editor, const QModelIndex& index) const override;
  void setModelData(QWidget* editor, QAbstractItemModel* model,
                    const QModelIndex& index) const override;
  void updateEditorGeometry(QWidget* editor, const QStyleOptionViewItem& option,
                            const QModelIndex& index) const override;

 private:
  const Theme* theme_;
};

class FieldDelegate;
struct Theme;

/// Every key as a searchable tree.
class FieldPane : public QWidget {
  Q_OBJECT

 public:
  explicit FieldPane(QWidget* parent = nullptr);

  void set_text(const std::string& text) { model_->set_text(text); }
  void set_study(const Study& study);
  void set_theme(const Theme& theme);
  [[nodiscard]] FieldModel& model() { return *model_; }
  /// Shows a key, selects it, and puts the cursor into its value.
  void reveal(const QString& path);
  void focus_search();

 Q_SIGNALS:
  /// Somebody entered a value, as YAML; empty: take the key away.
  void edited(const QString& path, const QString& value);

 private:
  void filter();
  void expand_given();
  void show_first_error();
  void show_menu(const QPoint& at);

  FieldModel* model_;
  QSortFilterProxyModel* proxy_;
  QTreeView* tree_;
  FieldDelegate* delegate_;
  QLineEdit* search_;
  QCheckBox* only_given_;
  bool expanded_ = false;
};

}  // namespace foretrain::gui
