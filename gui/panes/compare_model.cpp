// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/compare_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "gui/looks/theme.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {
namespace {

constexpr std::size_t most_rows = 40;

QString text_of(const std::string& text) { return QString::fromStdString(text); }

}  // namespace

CompareModel::CompareModel(QObject* parent) : QAbstractTableModel{parent} {}

void CompareModel::hold(const Study& pinned, const Study& present) {
  beginResetModel();
  rows_.clear();
  comparison_ = compare({*pinned.report, *present.report});
  add_figures();
  add_settings();
  add_memory();
  endResetModel();
}

void CompareModel::clear() {
  beginResetModel();
  rows_.clear();
  comparison_.reset();
  endResetModel();
}

void CompareModel::add_figures() {
  const auto shown = [](const std::string& text) {
    return text == "-" ? QString{} : text_of(text);
  };
  for (const ComparedFigure& figure : comparison_->figures)
    rows_.push_back({text_of(figure.label), text_of(figure.text(0)), text_of(figure.text(1)),
                     shown(figure.difference(1)), shown(figure.ratio(1)), false});
}

void CompareModel::add_settings() {
  const auto& settings = comparison_->settings;
  if (settings.empty()) return;
  rows_.push_back({tr("Settings that differ"), {}, {}, {}, {}, true});
  const auto value = [](const std::optional<ResolvedValue>& side) {
    return side ? text_of(side->value) : QStringLiteral("–");
  };
  std::size_t left = most_rows;
  for (const ComparedSetting& setting : settings) {
    if (setting.catalog || left-- == 0) continue;
    rows_.push_back(
        {text_of(setting.path), value(setting.values[0]), value(setting.values[1]), {}, {}, false});
  }
}

void CompareModel::add_memory() {
  const auto& rows = comparison_->rows;
  if (rows.empty()) return;
  rows_.push_back({tr("Memory of the heaviest stage"), {}, {}, {}, {}, true});
  const auto size = [](const std::optional<Bytes>& side) {
    return side ? text_of(bytes_text(*side)) : QStringLiteral("–");
  };
  for (std::size_t i = 0; i < std::min(rows.size(), most_rows); ++i) {
    const ComparedRow& row = rows[i];
    QString difference;
    if (row.sizes[0] && row.sizes[1]) {
      const Bytes change = *row.sizes[1] - *row.sizes[0];
      difference = (change.value() < 0.0 ? QStringLiteral("−") : QStringLiteral("+")) +
                   text_of(bytes_text(Bytes{std::abs(change.value())}));
    }
    rows_.push_back(
        {text_of(row.name), size(row.sizes[0]), size(row.sizes[1]), difference, {}, false});
  }
}

int CompareModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int CompareModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : column_count;
}

QVariant CompareModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Row& row = rows_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
    case Qt::ToolTipRole: {
      const std::array cells{&row.what, &row.first, &row.second, &row.difference, &row.ratio};
      return *cells.at(static_cast<std::size_t>(index.column()));
    }
    case Qt::TextAlignmentRole:
      return index.column() == what_column ? QVariant{Qt::AlignLeft | Qt::AlignVCenter}
                                           : QVariant{Qt::AlignRight | Qt::AlignVCenter};
    case Qt::FontRole:
      return row.section ? QVariant{title_font()} : QVariant{};
    case section_role:
      return row.section;
    default:
      return {};
  }
}

QVariant CompareModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole)
    return section == what_column ? QVariant{Qt::AlignLeft | Qt::AlignVCenter}
                                  : QVariant{Qt::AlignRight | Qt::AlignVCenter};
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case first_column:
      return tr("A: pinned");
    case second_column:
      return tr("B: now");
    case difference_column:
      return tr("B − A");
    case ratio_column:
      return tr("B / A");
    default:
      return tr("What");
  }
}

}  // namespace foretrain::gui
