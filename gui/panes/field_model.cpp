// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/field_model.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "planner/edit/yaml_edit.hpp"

namespace foretrain::gui {

struct FieldModel::Node {
  const Field* field = nullptr;  ///< null for the root
  QString path;
  QString name;
  Node* parent = nullptr;
  int row = 0;
  std::vector<std::unique_ptr<Node>> children;
  QStringList choices;

  bool given = false;
  QString value;     ///< as given
  QString resolved;  ///< what holds, given or not; empty: unknown
  QString error;

  [[nodiscard]] bool group() const { return !field || field->kind == FieldKind::group; }
};

namespace {

/// "cluster.fabric.kind" -> "kind" with blanks, for people.
QString label_of(const std::string& path) {
  QString name = QString::fromStdString(std::string(leaf_name(path)));
  return name.replace(QLatin1Char('_'), QLatin1Char(' '));
}

QStringList choices_of_field(const Field& field) {
  if (field.kind == FieldKind::boolean) return {QStringLiteral("true"), QStringLiteral("false")};
  QStringList choices;
  if (field.kind == FieldKind::choice)
    for (const std::string& choice : field.choices) choices << QString::fromStdString(choice);
  return choices;
}

/// A list or group is entered as YAML; everything else is one scalar.
bool is_scalar(FieldKind kind) {
  return kind != FieldKind::choice_list && kind != FieldKind::integer_list &&
         kind != FieldKind::text_list && kind != FieldKind::list && kind != FieldKind::tree;
}

}  // namespace

FieldModel::FieldModel(QObject* parent)
    : QAbstractItemModel{parent}, root_{std::make_unique<Node>()} {
  build(*root_, "");
  collect(*root_);
}

FieldModel::~FieldModel() = default;

void FieldModel::build(Node& parent, const std::string& group) {
  for (const Field* field : scenario_table().children(group)) {
    auto node = std::make_unique<Node>();
    node->field = field;
    node->path = QString::fromStdString(field->path);
    node->name = label_of(field->path);
    node->parent = &parent;
    node->row = static_cast<int>(parent.children.size());
    node->choices = choices_of_field(*field);
    if (field->kind == FieldKind::group) build(*node, field->path);
    parent.children.push_back(std::move(node));
  }
}

void FieldModel::collect(Node& node) {
  for (const auto& child : node.children) {
    nodes_.push_back(child.get());
    by_path_.insert(child->path, child.get());
    collect(*child);
  }
}

void FieldModel::set_text(const std::string& text) {
  QHash<QString, QString> given;
  for (const GivenValue& value : given_values(text))
    given.insert(QString::fromStdString(value.path), QString::fromStdString(value.text));
  for (Node* node : nodes_) {
    const auto found = given.constFind(node->path);
    node->given = found != given.constEnd();
    node->value = node->given ? *found : QString{};
  }
  announce();
}

void FieldModel::set_study(const Study& study) {
  for (Node* node : nodes_) node->error.clear();
  const auto blame = [&](const std::string& path, const std::string& message) {
    std::string key = table_path(path);
    // Elements of lists stand in the row of their list.
    if (const auto bracket = key.find("[]"); bracket != std::string::npos) key.resize(bracket);
    if (Node* node = by_path_.value(QString::fromStdString(key)); node && node->error.isEmpty())
      node->error = QString::fromStdString(message);
  };
  for (const Diagnostic& diagnostic : study.diagnostics) blame(diagnostic.path, diagnostic.message);
  if (study.report) {
    for (const Infeasible& reason : study.report->prediction.reasons)
      if (!reason.key.empty()) blame(reason.key, reason.message);
    for (Node* node : nodes_) node->resolved.clear();
    for (const ResolvedValue& value : study.report->scenario.values)
      if (Node* node = by_path_.value(QString::fromStdString(value.path)))
        node->resolved = QString::fromStdString(value.value);
  }
  announce();
}

void FieldModel::announce() {
  const auto tell = [this](auto& self, Node& node, const QModelIndex& at) -> void {
    if (node.children.empty()) return;
    const int last = static_cast<int>(node.children.size()) - 1;
    Q_EMIT dataChanged(index(0, key_column, at), index(last, value_column, at));
    for (int row = 0; row <= last; ++row)
      self(self, *node.children[static_cast<std::size_t>(row)], index(row, key_column, at));
  };
  tell(tell, *root_, {});
}

QModelIndex FieldModel::index_of(const QString& path, int column) const {
  Node* node = by_path_.value(path);
  return node ? createIndex(node->row, column, node) : QModelIndex{};
}

FieldModel::Node* FieldModel::node_at(const QModelIndex& index) const {
  return index.isValid() ? static_cast<Node*>(index.internalPointer()) : root_.get();
}

QModelIndex FieldModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return createIndex(row, column, node_at(parent)->children[static_cast<std::size_t>(row)].get());
}

QModelIndex FieldModel::parent(const QModelIndex& child) const {
  if (!child.isValid()) return {};
  Node* above = node_at(child)->parent;
  return !above || above == root_.get() ? QModelIndex{} : createIndex(above->row, 0, above);
}

int FieldModel::rowCount(const QModelIndex& parent) const {
  if (parent.column() > 0) return 0;
  return static_cast<int>(node_at(parent)->children.size());
}

int FieldModel::columnCount(const QModelIndex& /*parent*/) const { return column_count; }

QString FieldModel::tooltip(const Node& node) {
  const Field& field = *node.field;
  QString text = QStringLiteral("<b>%1</b><br>%2")
                     .arg(node.path, QString::fromStdString(field.help).toHtmlEscaped());
  if (node.group()) return text;
  text += tr("<br><br>Value: %1").arg(QString::fromStdString(legal_values(field)).toHtmlEscaped());
  if (!field.default_text.empty())
    text += tr("<br>Default: %1").arg(QString::fromStdString(field.default_text));
  else
    text +=
        field.required ? tr("<br>Required") : tr("<br>No default: left out, nothing is assumed");
  if (!field.example.empty())
    text += tr("<br>Example: %1").arg(QString::fromStdString(field.example).toHtmlEscaped());
  if (!node.error.isEmpty()) text += tr("<br><br><b>Wrong:</b> %1").arg(node.error.toHtmlEscaped());
  return text;
}

const QStringList& FieldModel::choices(const Node& node) const {
  const QString catalog = QString::fromStdString(catalog_of_key(node.field->path));
  if (catalog.isEmpty()) return node.choices;
  if (!catalogs_.contains(catalog)) {
    QStringList names;
    try {
      for (const CatalogEntry& entry : catalog_entries(catalog.toStdString()))
        names << QString::fromStdString(entry.name);
    } catch (const std::exception&) {
      names.clear();  // the forecast reports an unreadable catalog; here there is just no list
    }
    catalogs_.insert(catalog, names);
  }
  return *catalogs_.constFind(catalog);
}

QVariant FieldModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Node& node = *node_at(index);
  switch (role) {
    case Qt::DisplayRole:
      if (index.column() == key_column) return node.name;
      return node.given ? node.value : node.resolved;
    case Qt::EditRole:
      return index.column() == key_column ? node.name : node.value;
    case Qt::ToolTipRole:
      return tooltip(node);
    case path_role:
      return node.path;
    case choices_role:
      return node.group() ? QStringList{} : choices(node);
    case error_role:
      return node.error;
    case given_role:
      return node.given;
    case group_role:
      return node.group();
    case hint_role:
      return node.group() ? QString{} : QString::fromStdString(legal_values(*node.field));
    case count_role:
      return static_cast<int>(std::ranges::count_if(nodes_, [&](const Node* other) {
        return other->given && other->path.startsWith(node.path + QLatin1Char('.'));
      }));
    default:
      return {};
  }
}

bool FieldModel::setData(const QModelIndex& index, const QVariant& value, int role) {
  if (!index.isValid() || role != Qt::EditRole || index.column() != value_column) return false;
  const Node& node = *node_at(index);
  const QString entered = value.toString().trimmed();
  if (node.group() || entered == node.value) return false;
  const bool scalar = is_scalar(node.field->kind);
  const QString yaml = entered.isEmpty() || !scalar
                           ? entered
                           : QString::fromStdString(yaml_scalar(entered.toStdString()));
  Q_EMIT edited(node.path, yaml);
  return true;
}

Qt::ItemFlags FieldModel::flags(const QModelIndex& index) const {
  if (!index.isValid()) return Qt::NoItemFlags;
  Qt::ItemFlags flags = Qt::ItemIsEnabled | Qt::ItemIsSelectable;
  if (index.column() == value_column && !node_at(index)->group()) flags |= Qt::ItemIsEditable;
  return flags;
}

QVariant FieldModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == key_column ? tr("Key") : tr("Value");
}

}  // namespace foretrain::gui
