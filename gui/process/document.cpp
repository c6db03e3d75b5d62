// SPDX-License-Identifier: Apache-2.0
#include "gui/process/document.hpp"

#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QUndoCommand>

#include <utility>
#include <vector>

#include "planner/edit/yaml_edit.hpp"

namespace foretrain::gui {

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

}  // namespace foretrain::gui
