// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/compare_pane.hpp"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QPainter>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "gui/looks/theme.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {
namespace {

constexpr std::size_t most_rows = 40;

double step_of(const Comparison& comparison, std::size_t side) {
  const auto& step = comparison.reports[side].prediction.step;
  return step ? step->time.value() : 0.0;
}

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
    return text == "-" ? QString{} : qt_text(text);
  };
  for (const ComparedFigure& figure : comparison_->figures)
    rows_.push_back({qt_text(figure.label), qt_text(figure.text(0)), qt_text(figure.text(1)),
                     shown(figure.difference(1)), shown(figure.ratio(1)), false});
}

void CompareModel::add_settings() {
  const auto& settings = comparison_->settings;
  if (settings.empty()) return;
  rows_.push_back({tr("Settings that differ"), {}, {}, {}, {}, true});
  const auto value = [](const std::optional<ResolvedValue>& side) {
    return side ? qt_text(side->value) : QStringLiteral("–");
  };
  std::size_t left = most_rows;
  for (const ComparedSetting& setting : settings) {
    if (setting.catalog || left-- == 0) continue;
    rows_.push_back(
        {qt_text(setting.path), value(setting.values[0]), value(setting.values[1]), {}, {}, false});
  }
}

void CompareModel::add_memory() {
  const auto& rows = comparison_->rows;
  if (rows.empty()) return;
  rows_.push_back({tr("Memory of the heaviest stage"), {}, {}, {}, {}, true});
  const auto size = [](const std::optional<Bytes>& side) {
    return side ? qt_text(bytes_text(*side)) : QStringLiteral("–");
  };
  for (std::size_t i = 0; i < std::min(rows.size(), most_rows); ++i) {
    const ComparedRow& row = rows[i];
    QString difference;
    if (row.sizes[0] && row.sizes[1]) {
      const Bytes change = *row.sizes[1] - *row.sizes[0];
      difference = (change.value() < 0.0 ? QStringLiteral("−") : QStringLiteral("+")) +
                   qt_text(bytes_text(Bytes{std::abs(change.value())}));
    }
    rows_.push_back(
        {qt_text(row.name), size(row.sizes[0]), size(row.sizes[1]), difference, {}, false});
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

DifferenceChart::DifferenceChart(QWidget* parent)
    : QWidget{parent}, theme_{&theme_of(ThemeKind::light)} {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void DifferenceChart::show_comparison(const Comparison* comparison) {
  bars_.clear();
  const bool both = comparison && comparison->reports[0].prediction.step &&
                    comparison->reports[1].prediction.step;
  if (both) {
    double at = step_of(*comparison, 0);
    bars_.push_back({QStringLiteral("step"), tr("step of A"), 0.0, at, true});
    for (const ComparedPart& part : comparison->parts) {
      const double change =
          part.times[1].value_or(Seconds{}).value() - part.times[0].value_or(Seconds{}).value();
      if (std::abs(change) < 1e-6 * step_of(*comparison, 0)) continue;
      bars_.push_back({QString::fromStdString(part.key), QString::fromStdString(part.label), at,
                       at + change, false});
      at += change;
    }
    bars_.push_back({QStringLiteral("step"), tr("step of B"), 0.0, step_of(*comparison, 1), true});
  }
  update();
}

void DifferenceChart::set_theme(const Theme& theme) {
  theme_ = &theme;
  update();
}

void DifferenceChart::set_units(const Units& units) {
  units_ = units;
  update();
}

void DifferenceChart::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter{this};
  painter.setRenderHint(QPainter::Antialiasing);
  const QFontMetrics metrics{small_font()};
  painter.setFont(small_font());
  if (bars_.empty()) {
    painter.setPen(theme_->muted);
    painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap,
                     tr("Both forecasts need a step time to be compared."));
    return;
  }
  int labels = 0;
  double longest = 0.0;
  for (const Bar& bar : bars_) {
    labels = std::max(labels, metrics.horizontalAdvance(bar.label));
    longest = std::max({longest, bar.from, bar.to});
  }
  const int numbers = metrics.horizontalAdvance(QStringLiteral("+88.88 ms")) + 8;
  const QRectF area{labels + 18.0, 8.0, width() - labels - numbers - 30.0, height() - 16.0};
  const double row = std::min(26.0, area.height() / static_cast<double>(bars_.size()));
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    const Bar& bar = bars_[i];
    const double top = area.top() + row * static_cast<double>(i);
    const auto x = [&](double seconds) { return area.left() + area.width() * seconds / longest; };
    painter.setPen(bar.total ? theme_->text : theme_->muted);
    painter.drawText(QRectF{6.0, top, labels + 4.0, row}, Qt::AlignRight | Qt::AlignVCenter,
                     bar.label);
    painter.setPen(Qt::NoPen);
    painter.setBrush(bar.total ? theme_->muted : bar.to < bar.from ? theme_->good : theme_->bad);
    const double left = std::min(x(bar.from), x(bar.to));
    painter.drawRoundedRect(QRectF{left, top + row * 0.16,
                                   std::max(1.5, std::abs(x(bar.to) - x(bar.from))), row * 0.68},
                            2.0, 2.0);
    const double change = bar.to - bar.from;
    const QString sign = bar.total      ? QString{}
                         : change < 0.0 ? QStringLiteral("−")
                                        : QStringLiteral("+");
    painter.setPen(theme_->text);
    painter.drawText(QRectF{area.right() + 8.0, top, static_cast<double>(numbers), row},
                     Qt::AlignRight | Qt::AlignVCenter,
                     sign + time_label(Seconds{std::abs(change)}, units_));
  }
}

ComparePane::ComparePane(QWidget* parent)
    : QWidget{parent},
      model_{new CompareModel{this}},
      table_{new QTableView},
      chart_{new DifferenceChart},
      heading_{new QLabel},
      restore_{new QPushButton{tr("Back to A")}},
      unpin_{new QPushButton{tr("Unpin")}},
      halves_{new QSplitter{Qt::Horizontal}} {
  table_->setModel(model_);
  table_->verticalHeader()->hide();
  table_->setShowGrid(false);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setObjectName(QStringLiteral("comparison"));
  table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table_->horizontalHeader()->setSectionResizeMode(CompareModel::what_column, QHeaderView::Stretch);
  table_->horizontalHeader()->setMinimumSectionSize(60);
  table_->setTextElideMode(Qt::ElideMiddle);
  table_->verticalHeader()->setDefaultSectionSize(25);
  halves_->addWidget(table_);
  halves_->addWidget(chart_);
  halves_->setSizes({520, 380});
  heading_->setWordWrap(true);
  auto* top = new QHBoxLayout;
  top->addWidget(heading_, 1);
  top->addWidget(restore_);
  top->addWidget(unpin_);
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(10, 8, 10, 10);
  layout->addLayout(top);
  layout->addWidget(halves_, 1);
  connect(unpin_, &QPushButton::clicked, this, [this] { pin(nullptr); });
  connect(restore_, &QPushButton::clicked, this, [this] {
    Q_EMIT restore_wanted(QString::fromStdString(pinned_->question.text),
                          tr("the pinned forecast"));
  });
  refresh();
}

void ComparePane::pin(StudyPointer study) {
  pinned_ = std::move(study);
  refresh();
  Q_EMIT pin_changed();
}

void ComparePane::set_study(const StudyPointer& study) {
  if (study->valid()) present_ = study;
  if (pinned_) refresh();
}

void ComparePane::refresh() {
  const bool shown = pinned_ && present_;
  halves_->setVisible(shown);
  restore_->setVisible(shown);
  unpin_->setVisible(shown);
  if (!shown) {
    model_->clear();
    heading_->setText(
        tr("Nothing is pinned. Pin a forecast (Ctrl+P), change something, and see "
           "here what differs."));
    return;
  }
  model_->hold(*pinned_, *present_);
  chart_->show_comparison(&*model_->comparison());
  table_->clearSpans();
  for (int row = 0; row < model_->rowCount(); ++row)
    if (model_->index(row, 0).data(CompareModel::section_role).toBool())
      table_->setSpan(row, 0, 1, CompareModel::column_count);
  heading_->setText(
      tr("A is <b>%1</b> as pinned, B is what is on the screen")
          .arg(QString::fromStdString(pinned_->report->scenario.job.name).toHtmlEscaped()));
}

}  // namespace foretrain::gui
