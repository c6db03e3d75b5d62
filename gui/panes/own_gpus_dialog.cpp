// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/own_gpus_dialog.hpp"

#include <QComboBox>
#include <QCompleter>
#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QSpinBox>

namespace foretrain::gui {
namespace {

enum Trained { all_weights, adapters, adapters_on_4_bits };

constexpr int usual_rank = 16;
constexpr int usual_sequence = 4096;

/// A list to choose from or to type into, found by any part of a name.
QComboBox* choice_of(const QStringList& names, QWidget* parent) {
  auto* box = new QComboBox{parent};
  box->addItems(names);
  box->setEditable(true);
  box->setInsertPolicy(QComboBox::NoInsert);
  box->completer()->setFilterMode(Qt::MatchContains);
  box->completer()->setCompletionMode(QCompleter::PopupCompletion);
  return box;
}

QSpinBox* number_of(int least, int most, int value, QWidget* parent) {
  auto* box = new QSpinBox{parent};
  box->setRange(least, most);
  box->setValue(value);
  return box;
}

}  // namespace

OwnGpusDialog::OwnGpusDialog(const QStringList& models, const QStringList& devices, QWidget* parent)
    : QDialog{parent},
      model_{choice_of(models, this)},
      device_{choice_of(devices, this)},
      gpus_{number_of(1, 8, 1, this)},
      trained_{new QComboBox{this}},
      rank_{number_of(1, 1024, usual_rank, this)},
      sequence_{number_of(1, 1'048'576, usual_sequence, this)} {
  setObjectName(QStringLiteral("own gpus"));
  setWindowTitle(tr("I have these GPUs"));
  trained_->addItems({tr("All weights"), tr("Adapters (LoRA)"), tr("Adapters on 4 bits (QLoRA)")});
  trained_->setCurrentIndex(adapters_on_4_bits);
  setMinimumWidth(fontMetrics().averageCharWidth() * 64);
  auto* form = new QFormLayout{this};
  form->addRow(tr("&GPU"), device_);
  form->addRow(tr("&How many"), gpus_);
  form->addRow(tr("&Model"), model_);
  form->addRow(tr("What is &trained"), trained_);
  form->addRow(tr("Adapter &rank"), rank_);
  form->addRow(tr("Sequence &length"), sequence_);
  for (QWidget* box : {static_cast<QWidget*>(model_), static_cast<QWidget*>(device_),
                       static_cast<QWidget*>(gpus_), static_cast<QWidget*>(trained_),
                       static_cast<QWidget*>(rank_), static_cast<QWidget*>(sequence_)})
    box->setAccessibleName(
        static_cast<QLabel*>(form->labelForField(box))->text().remove(QLatin1Char('&')));
  auto* note = new QLabel{tr("By the Hugging Face Trainer: one sequence per GPU, layers "
                             "recomputed. Everything can be changed afterwards."),
                          this};
  note->setWordWrap(true);
  form->addRow(note);
  auto* buttons =
      new QDialogButtonBox{QDialogButtonBox::Ok | QDialogButtonBox::Cancel, Qt::Horizontal, this};
  form->addRow(buttons);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  connect(trained_, &QComboBox::currentIndexChanged, rank_,
          [this](int index) { rank_->setEnabled(index != all_weights); });
}

OwnGpus OwnGpusDialog::answer() const {
  OwnGpus own;
  own.model = model_->currentText().toStdString();
  own.device = device_->currentText().toStdString();
  own.gpus = gpus_->value();
  own.sequence = sequence_->value();
  if (trained_->currentIndex() != all_weights) own.rank = rank_->value();
  own.quantised = trained_->currentIndex() == adapters_on_4_bits;
  return own;
}

}  // namespace foretrain::gui
