// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "gui/panes/field_model.hpp"

class QCheckBox;
class QLineEdit;
class QSortFilterProxyModel;
class QTreeView;

namespace foretrain::gui {

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
