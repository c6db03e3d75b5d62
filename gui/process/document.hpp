// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <QStringList>
#include <QUndoStack>
#include <filesystem>

namespace foretrain::gui {

/// The scenario that is being edited: one text with undo, and the file that it belongs to. Form,
/// sliders, fixes and the YAML pane all change this text and nothing else.
class Document : public QObject {
  Q_OBJECT

 public:
  explicit Document(QObject* parent = nullptr);

  [[nodiscard]] const QString& text() const { return text_; }
  /// The file on disk; empty for texts that were never saved.
  [[nodiscard]] const QString& file() const { return file_; }
  /// What titles and messages call it: the file's name, or e.g. "untitled.yaml".
  [[nodiscard]] QString name() const;
  /// Where relative paths of the text start.
  [[nodiscard]] std::filesystem::path folder() const;
  [[nodiscard]] QUndoStack& undo_stack() { return undo_; }
  [[nodiscard]] bool modified() const { return !undo_.isClean(); }

  /// Replaces everything and forgets the undo history. @return the problem, empty on success
  [[nodiscard]] QString open(const QString& file);
  /// A text without a file; relative paths start in `folder`.
  void start(const QString& text, const QString& name, const std::filesystem::path& folder);
  [[nodiscard]] QString save(const QString& file);

  /// Typing: steps of one second become one undo step.
  void type(const QString& text);
  /// Anything else that replaces the text.
  void replace(const QString& text, const QString& why);
  /// planner/edit/yaml_edit.hpp; one undo step each. Changes of the same key that follow each other
  /// within a second become one step (sliders). @return the problem, empty on success
  [[nodiscard]] QString set(const QString& path, const QString& value);
  [[nodiscard]] QString remove(const QString& path);
  [[nodiscard]] QString apply(const QStringList& settings, const QString& why);

 Q_SIGNALS:
  void text_changed(const QString& text);
  void file_changed();

 private:
  friend class TextStep;
  void put(const QString& text);
  void reset(const QString& text);
  void push(const QString& text, const QString& why, const QString& merge_key);

  QString text_;
  QString file_;
  QString name_;
  std::filesystem::path folder_;
  QUndoStack undo_;
};

/// What a file that somebody dropped on the window is, by words that only its kind has.
struct DroppedFile {
  enum class Kind {
    scenario,   ///< or a cluster file
    model,      ///< a Hugging Face config.json
    framework,  ///< a configuration of `framework`
    log         ///< of training: the rest
  };
  Kind kind = Kind::log;
  QString framework{};  ///< first of a pair of importable_frameworks()
};
/// Reads the start of the file; one that cannot be read is a log, whose reader says why.
[[nodiscard]] DroppedFile dropped_file(const QString& file);

}  // namespace foretrain::gui
