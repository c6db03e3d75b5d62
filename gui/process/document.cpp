// SPDX-License-Identifier: Apache-2.0
#include "gui/process/document.hpp"

#include <QByteArray>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QUndoCommand>
#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

#include "planner/edit/yaml_edit.hpp"

namespace foretrain::gui {
namespace {

constexpr qint64 start_of_file = 1 << 16;

/// Words of a framework's configuration; the first row with one of them is it.
struct FrameworkMarks {
  const char* framework;
  std::array<const char*, 3> any;
};
constexpr std::array<FrameworkMarks, 18> framework_marks{{
    {"verl", {"verl.trainer", "actor_rollout_ref.", nullptr}},
    {"nemo-rl", {"num_prompts_per_step:", "\ngrpo:", nullptr}},
    {"openrlhf", {"openrlhf.cli.train_ppo", nullptr, nullptr}},
    {"slime", {"--rollout-batch-size", "--rollout-num-gpus", nullptr}},
    {"deepspeed", {"\"zero_optimization\"", "\"train_micro_batch_size_per_gpu\"", nullptr}},
    {"torchtune", {"_component_: torchtune", "tune run", nullptr}},
    {"llamafactory", {"finetuning_type:", "llamafactory-cli", nullptr}},
    {"axolotl", {"\nbase_model:", "base_model_config:", "axolotl"}},
    {"swift", {"--train_type", "swift sft", "megatron sft"}},
    {"lightning",
     {"class_path: lightning", "class_path: pytorch_lightning", "\ntrainer:\n  accelerator"}},
    {"torchtitan", {"[parallelism]", "[experimental]", "data_parallel_shard_degree"}},
    {"nanotron", {"tp_linear_async_communication", "\nparallelism:\n", nullptr}},
    {"maxtext", {"ici_fsdp_parallelism", "dcn_data_parallelism", "per_device_batch_size:"}},
    {"horovod", {"horovodrun", nullptr, nullptr}},
    {"megatron-bridge", {"run_recipe", "megatron.bridge", nullptr}},
    {"nemo2", {"nemo llm pretrain", "nemo llm finetune", nullptr}},
    {"megatron", {"--tensor-model-parallel-size", "--num-layers", "\ntensor-model-parallel-size"}},
    {"nemo", {"tensor_model_parallel_size", nullptr, nullptr}},
}};

/// Trainer arguments, accelerate and PEFT files, once nothing else claims their keys.
constexpr std::array trainer_marks{"per_device_train_batch_size",
                                   "distributed_type:", "\"peft_type\""};

bool has_key(const QByteArray& text, const char* key) {
  const QByteArray line = QByteArray(key) + ':';
  return text.startsWith(line) || text.contains('\n' + line);
}

bool is_ours(const QByteArray& text) {
  return has_key(text, "workload") || has_key(text, "extends") ||
         (has_key(text, "model") && has_key(text, "cluster"));
}

}  // namespace

/// One change of the text. The texts share their bytes with the document's.
class TextStep : public QUndoCommand {
 public:
  TextStep(Document& document, QString after, const QString& why, QString merge_key)
      : QUndoCommand{why},
        document_{document},
        before_{document.text()},
        after_{std::move(after)},
        merge_key_{std::move(merge_key)} {
    age_.start();
  }

  void undo() override { document_.put(before_); }
  void redo() override { document_.put(after_); }
  [[nodiscard]] int id() const override { return merge_key_.isEmpty() ? -1 : 1; }

  bool mergeWith(const QUndoCommand* other) override {
    const auto* next = dynamic_cast<const TextStep*>(other);
    if (!next || next->merge_key_ != merge_key_ || age_.elapsed() > 1000) return false;
    after_ = next->after_;
    age_.restart();
    setObsolete(after_ == before_);
    return true;
  }

 private:
  Document& document_;
  QString before_;
  QString after_;
  QString merge_key_;
  QElapsedTimer age_;
};

Document::Document(QObject* parent)
    : QObject{parent},
      name_{QStringLiteral("untitled.yaml")},
      folder_{std::filesystem::current_path()} {}

QString Document::name() const { return name_; }

std::filesystem::path Document::folder() const { return folder_; }

QString Document::open(const QString& file) {
  QFile source{file};
  constexpr qint64 most = qint64{1} << 20;  // the reader's limit
  if (!source.open(QIODevice::ReadOnly))
    return tr("Cannot open %1: %2").arg(file, source.errorString());
  if (source.size() > most)
    return tr("%1 has %2 bytes; a scenario has at most %3").arg(file).arg(source.size()).arg(most);
  const QByteArray bytes = source.readAll();
  const QString text = QString::fromUtf8(bytes);
  if (text.toUtf8() != bytes) return tr("%1 is not UTF-8 text").arg(file);
  const QFileInfo info{file};
  file_ = info.absoluteFilePath();
  name_ = info.fileName();
  folder_ = info.absolutePath().toStdString();
  reset(text);
  Q_EMIT file_changed();
  return {};
}

void Document::start(const QString& text, const QString& name,
                     const std::filesystem::path& folder) {
  file_.clear();
  name_ = name;
  folder_ = folder;
  reset(text);
  Q_EMIT file_changed();
}

QString Document::save(const QString& file) {
  QSaveFile target{file};
  const QByteArray bytes = text_.toUtf8();
  if (!target.open(QIODevice::WriteOnly) || target.write(bytes) != bytes.size() || !target.commit())
    return tr("Cannot write %1: %2").arg(file, target.errorString());
  const QFileInfo info{file};
  const bool moved = folder_ != std::filesystem::path{info.absolutePath().toStdString()};
  file_ = info.absoluteFilePath();
  name_ = info.fileName();
  folder_ = info.absolutePath().toStdString();
  undo_.setClean();
  Q_EMIT file_changed();
  // Relative paths may lead elsewhere now.
  if (moved) Q_EMIT text_changed(text_);
  return {};
}

void Document::type(const QString& text) { push(text, tr("typing"), QStringLiteral("typing")); }

void Document::replace(const QString& text, const QString& why) { push(text, why, {}); }

QString Document::set(const QString& path, const QString& value) {
  const TextEdit edit = set_value(text_.toStdString(), path.toStdString(), value.toStdString());
  if (!edit.text) return QString::fromStdString(edit.problem);
  push(QString::fromStdString(*edit.text), tr("%1 = %2").arg(path, value), path);
  return {};
}

QString Document::remove(const QString& path) {
  const TextEdit edit = remove_value(text_.toStdString(), path.toStdString());
  if (!edit.text) return QString::fromStdString(edit.problem);
  push(QString::fromStdString(*edit.text), tr("default for %1").arg(path), {});
  return {};
}

QString Document::apply(const QStringList& settings, const QString& why) {
  std::vector<std::string> list;
  for (const QString& setting : settings) list.push_back(setting.toStdString());
  const TextEdit edit = apply_settings(text_.toStdString(), list);
  if (!edit.text) return QString::fromStdString(edit.problem);
  push(QString::fromStdString(*edit.text), why, QStringLiteral("apply:") + why);
  return {};
}

void Document::put(const QString& text) {
  if (text == text_) return;
  text_ = text;
  Q_EMIT text_changed(text_);
}

void Document::reset(const QString& text) {
  undo_.clear();
  undo_.setClean();
  text_ = text;
  Q_EMIT text_changed(text_);
}

void Document::push(const QString& text, const QString& why, const QString& merge_key) {
  if (text != text_) undo_.push(new TextStep{*this, text, why, merge_key});
}

DroppedFile dropped_file(const QString& file) {
  QFile source{file};
  if (!source.open(QIODevice::ReadOnly)) return {};
  const QByteArray text = source.read(start_of_file);
  const bool yaml = file.endsWith(QLatin1String(".yaml")) || file.endsWith(QLatin1String(".yml"));
  if (yaml && is_ours(text)) return {DroppedFile::Kind::scenario};
  const auto has = [&](const char* mark) { return mark != nullptr && text.contains(mark); };
  if (has("\"architectures\"") || has("\"model_type\"")) return {DroppedFile::Kind::model};
  // Logs of a run repeat its arguments: only what people write by hand is a configuration.
  const bool log = file.endsWith(QLatin1String(".log")) || file.endsWith(QLatin1String(".out")) ||
                   file.endsWith(QLatin1String(".csv")) || file.endsWith(QLatin1String(".jsonl"));
  if (log) return {};
  for (const FrameworkMarks& row : framework_marks)
    if (std::ranges::any_of(row.any, has))
      return {DroppedFile::Kind::framework, QLatin1String(row.framework)};
  if (std::ranges::any_of(trainer_marks, has))
    return {DroppedFile::Kind::framework, QStringLiteral("transformers")};
  return {};
}

}  // namespace foretrain::gui
