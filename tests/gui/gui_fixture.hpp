// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QApplication>
#include <QFile>
#include <QSettings>
#include <QString>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "gui/process/study.hpp"

namespace foretrain::gui {

inline std::filesystem::path source_folder() { return FORETRAIN_SOURCE_DIR; }

inline QString example(const QString& name) {
  return QString::fromStdString((source_folder() / "scenarios").string()) + QLatin1Char('/') +
         name + QStringLiteral(".yaml");
}

inline QString main_example() { return example(QStringLiteral("llama2-70b-1024xh100")); }

/// Every shipped scenario, sorted.
inline std::vector<QString> all_examples() {
  std::vector<QString> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "scenarios"))
    if (entry.path().extension() == ".yaml")
      files.push_back(QString::fromStdString(entry.path().string()));
  std::sort(files.begin(), files.end());
  return files;
}

inline QString read_text(const QString& file) {
  QFile source{file};
  if (!source.open(QIODevice::ReadOnly)) qFatal("cannot read %s", qPrintable(file));
  return QString::fromUtf8(source.readAll());
}

inline Question question_about(const QString& file) {
  Question question;
  question.text = read_text(file).toStdString();
  question.name = file.toStdString();
  question.folder = std::filesystem::path{file.toStdString()}.parent_path();
  return question;
}

inline StudyPointer studied(const QString& file) {
  return std::make_shared<const Study>(study_of(question_about(file)));
}

/// Settings of the user who runs the tests stay untouched.
inline void use_own_settings() {
  static const QTemporaryDir folder;
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, folder.path());
  QCoreApplication::setOrganizationName(QStringLiteral("Foretrain"));
  QCoreApplication::setApplicationName(QStringLiteral("foretrain-gui"));
}

}  // namespace foretrain::gui
