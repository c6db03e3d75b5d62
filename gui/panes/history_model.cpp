// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/history_model.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "gui/panes/headlines.hpp"
#include "planner/edit/scenario_text.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {
namespace {

constexpr qsizetype most_keys = 3;

std::map<std::string, std::string> values_of(const std::string& text) {
  std::map<std::string, std::string> values;
  for (const GivenValue& value : given_values(text)) values[value.path] = value.text;
  return values;
}

/// Names and comments decide nothing.
bool same_question(const std::string& before, const std::string& after) {
  auto old_values = values_of(before);
  auto new_values = values_of(after);
  for (auto* values : {&old_values, &new_values}) values->erase("name");
  return old_values == new_values;
}

QString short_name(const std::string& path) {
  return QString::fromStdString(std::string(leaf_name(path)))
      .replace(QLatin1Char('_'), QLatin1Char(' '));
}

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
    parts << short_name(path) + QLatin1Char(' ') + from + QString::fromStdString(value);
  }
  for (const auto& [path, value] : old_values)
    if (!new_values.contains(path)) parts << HistoryModel::tr("no %1").arg(short_name(path));
  if (parts.isEmpty()) return HistoryModel::tr("text only");
  const qsizetype more = parts.size() - most_keys;
  if (more > 0) parts = parts.mid(0, most_keys) << HistoryModel::tr("%1 more").arg(more);
  return parts.join(QStringLiteral(", "));
}

HistoryModel::HistoryModel(QObject* parent) : QAbstractListModel{parent} {}

void HistoryModel::add(const Study& study) {
  if (!study.report) return;
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
  next.verdict = verdict_of(study);
  const Prediction& p = study.report->prediction;
  if (p.step) next.step_s = p.step->time.value();
  if (p.efficiency) next.mfu = p.efficiency->mfu;
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
  const auto known = [](const std::optional<double>& value) {
    return value ? QVariant{*value} : QVariant{};
  };
  switch (role) {
    case Qt::DisplayRole:
    case Qt::EditRole:
      return at.name;
    case Qt::ToolTipRole:
      return tr("%1\n%2. Click to come back, F2 to name it.").arg(at.name, at.verdict);
    case step_role:
      return known(at.step_s);
    case mfu_role:
      return known(at.mfu);
    case verdict_role:
      return at.verdict;
    case present_role:
      return index.row() == present_;
    case gain_role:
      if (!at.step_s || !steps_.front().step_s) return {};
      return *at.step_s / *steps_.front().step_s - 1.0;
    default:
      return {};
  }
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

}  // namespace foretrain::gui
