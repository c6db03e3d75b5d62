// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QProcess>
#include <QString>

#include <memory>

#include "gui/process/study.hpp"

namespace foretrain::gui {

/// Plays a scenario with the event engine in a process of its own: `foretrain simulate - --engine
/// event --json --progress`. Whatever happens to that process, a signal tells it in a sentence.
class EventPlayer : public QObject {
  Q_OBJECT

 public:
  explicit EventPlayer(QObject* parent = nullptr);
  ~EventPlayer() override;

  /// The program; by default the `foretrain` beside this program, else the one in PATH.
  void set_program(const QString& program) { program_ = program; }

  /// Starts at once. Nothing while another one plays.
  void play(const Question& question);
  /// Asks the process to end; cancelled() follows, within two seconds whatever it does.
  void cancel();
  [[nodiscard]] bool playing() const { return process_ != nullptr; }
  [[nodiscard]] qint64 process_id() const { return process_ ? process_->processId() : 0; }
  [[nodiscard]] const Question& question() const { return question_; }

 Q_SIGNALS:
  /// @param share of the tasks that have ended; @param simulated seconds
  void progressed(double share, double simulated);
  void finished(std::shared_ptr<const foretrain::gui::EventAnswer> answer);
  void cancelled();
  /// One sentence.
  void failed(const QString& problem);

 private:
  void read_progress();
  void end(int code, QProcess::ExitStatus status);
  void give_up(QProcess::ProcessError error);
  void close();
  [[nodiscard]] QString last_words() const;

  QString program_;
  QProcess* process_ = nullptr;
  Question question_;
  QElapsedTimer clock_;
  QByteArray said_;  ///< of standard error, but for progress
  QByteArray line_;  ///< of standard error, not complete yet
  bool cancelling_ = false;
};

/// The answer in a JSON text of schema prediction/1. @throws std::exception where it is none
[[nodiscard]] EventAnswer read_event_answer(const std::string& json);

}  // namespace foretrain::gui

Q_DECLARE_METATYPE(std::shared_ptr<const foretrain::gui::EventAnswer>)
