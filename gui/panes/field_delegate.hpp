// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStyledItemDelegate>

#include "gui/looks/theme.hpp"

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

}  // namespace foretrain::gui
