// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractItemModel>
#include <QHash>
#include <QStringList>

#include <memory>
#include <string>
#include <vector>

#include "gui/process/study.hpp"
#include "planner/edit/scenario_text.hpp"

namespace foretrain::gui {

/// Every key of a scenario as a tree of groups, from the field table of the reader. The value
/// column is editable; what is entered goes to edited(), and comes back with the next text.
class FieldModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column { key_column, value_column, column_count };
  enum Role {
    path_role = Qt::UserRole,  ///< QString
    choices_role,              ///< QStringList; empty: free text
    error_role,                ///< QString; what is wrong with the value, empty: nothing
    given_role,                ///< bool: the text gives it
    group_role,                ///< bool
    hint_role,                 ///< QString: what holds while nothing is given, or legal values
    count_role                 ///< int: given values in a group
  };

  explicit FieldModel(QObject* parent = nullptr);
  ~FieldModel() override;

  /// The values that the text gives.
  void set_text(const std::string& text);
  /// Errors and the values that hold where the text gives none.
  void set_study(const Study& study);

  [[nodiscard]] QModelIndex index_of(const QString& path, int column = value_column) const;
  [[nodiscard]] QModelIndex index(int row, int column,
                                  const QModelIndex& parent = {}) const override;
  [[nodiscard]] QModelIndex parent(const QModelIndex& child) const override;
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role = Qt::DisplayRole) const override;

 Q_SIGNALS:
  /// Somebody entered a value, as YAML; empty: take the key away.
  void edited(const QString& path, const QString& value);

 private:
  struct Node;
  [[nodiscard]] Node* node_at(const QModelIndex& index) const;
  void build(Node& parent, const std::string& group);
  void collect(Node& node);
  void announce();
  [[nodiscard]] static QString tooltip(const Node& node);
  [[nodiscard]] const QStringList& choices(const Node& node) const;

  std::unique_ptr<Node> root_;
  std::vector<Node*> nodes_;
  QHash<QString, Node*> by_path_;
  mutable QHash<QString, QStringList> catalogs_;  ///< names by catalog, read when first asked for
};

}  // namespace foretrain::gui
