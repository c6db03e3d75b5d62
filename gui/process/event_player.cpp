// SPDX-License-Identifier: Apache-2.0
#include "gui/process/event_player.hpp"
#include "planner/answer/prediction_parts.hpp"

#include <QCoreApplication>
#include <QFileInfo>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTimer>

#include <nlohmann/json.hpp>

#include <array>
#include <csignal>
#include <exception>
#include <utility>

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace foretrain::gui {
namespace {

using Json = nlohmann::json;

constexpr int patience_ms = 2000;
constexpr qsizetype most_words = 4000;

QString beside_or_in_path() {
  const QString beside = QCoreApplication::applicationDirPath() + QStringLiteral("/foretrain");
  return QFileInfo{beside}.isExecutable()
             ? beside
             : QStandardPaths::findExecutable(QStringLiteral("foretrain"));
}

TimeBreakdown breakdown_of(const Json& json) {
  TimeBreakdown b;
  for (const StepPart& part : step_parts())
    b.*part.time = Seconds{json.at(std::string(part.key)).get<double>()};
  return b;
}

}  // namespace

EventAnswer read_event_answer(const std::string& text) {
  const Json json = Json::parse(text);
  EventAnswer answer;
  answer.json = text;
  if (const Json& step = json.at("step"); step.is_object() && step.at("time_s").is_number())
    answer.step = StepForecast{Seconds{step.at("time_s").get<double>()},
                               Seconds{step.at("low_s").get<double>()},
                               Seconds{step.at("high_s").get<double>()},
                               breakdown_of(step.at("breakdown")),
                               {}};
  if (json.at("mfu").is_number())
    answer.efficiency = Efficiency{json.at("mfu").get<double>(), json.at("hfu").get<double>(),
                                   json.at("tokens_per_s").get<double>(),
                                   json.at("tokens_per_s_per_gpu").get<double>(),
                                   json.at("model_tflops_per_gpu").get<double>()};
  for (const Json& link : json.at("links"))
    answer.links.push_back({link.at("name").get<std::string>(),
                            Bytes{link.at("bytes").get<double>()},
                            link.at("utilisation").get<double>()});
  return answer;
}

EventPlayer::EventPlayer(QObject* parent) : QObject{parent}, program_{beside_or_in_path()} {
  qRegisterMetaType<std::shared_ptr<const EventAnswer>>();
}

EventPlayer::~EventPlayer() {
  if (!process_) return;
  process_->disconnect(this);
  process_->kill();
  process_->waitForFinished(patience_ms);
}

void EventPlayer::play(const Question& question) {
  if (process_) return;
  if (program_.isEmpty()) {
    Q_EMIT failed(
        tr("The program foretrain, which runs the event engine, is neither beside "
           "foretrain-gui nor in PATH."));
    return;
  }
  question_ = question;
  said_.clear();
  line_.clear();
  cancelling_ = false;
  process_ = new QProcess{this};
  process_->setWorkingDirectory(QString::fromStdString(question.folder.string()));
#ifdef __linux__
  // It must not play on for nobody when this program is killed.
  process_->setChildProcessModifier([] { prctl(PR_SET_PDEATHSIG, SIGKILL); });
#endif
  connect(process_, &QProcess::finished, this, &EventPlayer::end);
  connect(process_, &QProcess::errorOccurred, this, &EventPlayer::give_up);
  connect(process_, &QProcess::readyReadStandardError, this, &EventPlayer::read_progress);
  clock_.start();
  QStringList words{QStringLiteral("simulate"), QStringLiteral("-"),
                    QStringLiteral("--engine"), QStringLiteral("event"),
                    QStringLiteral("--json"),   QStringLiteral("--progress")};
  if (const auto root = repository_of(question.folder); !root.empty())
    words << QStringLiteral("--root") << QString::fromStdString(root.string());
  process_->start(program_, words);
  process_->write(QByteArray::fromStdString(question.text));
  process_->closeWriteChannel();
}

void EventPlayer::cancel() {
  if (!process_ || cancelling_) return;
  cancelling_ = true;
  process_->terminate();
  QTimer::singleShot(patience_ms, process_, [process = process_] { process->kill(); });
}

void EventPlayer::read_progress() {
  static const QRegularExpression pattern{
      QStringLiteral(R"(^progress (\d+) of (\d+) tasks, ([\d.]+) s simulated$)")};
  line_ += process_->readAllStandardError();
  for (auto end = line_.indexOf('\n'); end >= 0; end = line_.indexOf('\n')) {
    const QByteArray line = line_.left(end);
    line_.remove(0, end + 1);
    const auto match = pattern.match(QString::fromUtf8(line));
    if (!match.hasMatch()) {
      if (said_.size() < most_words) said_ += line + '\n';
      continue;
    }
    const double tasks = match.captured(2).toDouble();
    Q_EMIT progressed(tasks > 0.0 ? match.captured(1).toDouble() / tasks : 0.0,
                      match.captured(3).toDouble());
  }
}

QString EventPlayer::last_words() const {
  const QString words = QString::fromUtf8(said_).trimmed();
  return words.isEmpty() ? tr("it printed nothing") : tr("it printed: %1").arg(words);
}

void EventPlayer::close() {
  process_->deleteLater();
  process_ = nullptr;
}

void EventPlayer::end(int code, QProcess::ExitStatus status) {
  read_progress();
  const QByteArray out = process_->readAllStandardOutput();
  close();
  if (cancelling_) {
    Q_EMIT cancelled();
    return;
  }
  if (status == QProcess::CrashExit) {
    Q_EMIT failed(tr("The event engine was killed (signal %1) after %2 s; %3. Nothing else is "
                     "affected: run it again, or with a smaller scenario.")
                      .arg(code)
                      .arg(static_cast<double>(clock_.elapsed()) / 1000.0, 0, 'f', 1)
                      .arg(last_words()));
    return;
  }
  try {
    auto answer = read_event_answer(out.toStdString());
    answer.took = std::chrono::milliseconds{clock_.elapsed()};
    Q_EMIT finished(std::make_shared<const EventAnswer>(std::move(answer)));
  } catch (const std::exception&) {
    Q_EMIT failed(tr("The event engine ended with status %1 and no forecast; %2")
                      .arg(code)
                      .arg(last_words()));
  }
}

void EventPlayer::give_up(QProcess::ProcessError error) {
  if (error != QProcess::FailedToStart) return;  // everything else ends in end()
  const QString why = process_->errorString();
  close();
  Q_EMIT failed(tr("%1 cannot be started: %2").arg(program_, why));
}

}  // namespace foretrain::gui
