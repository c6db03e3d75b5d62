// SPDX-License-Identifier: Apache-2.0
#include <QFileInfo>
#include <QProcess>
#include <QRegularExpression>
#include <QSignalSpy>

#include <nlohmann/json.hpp>

#include <cmath>

#include "gui/panes/advice_pane.hpp"
#include "gui/panes/card_row.hpp"
#include "gui/process/forecaster.hpp"
#include "planner/edit/yaml_edit.hpp"
#include "planner/forecast/report_json.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace foretrain::gui {
namespace {

using Json = nlohmann::json;

Study with_settings(const QString& file, const std::vector<std::string>& settings) {
  Question question = question_about(file);
  const TextEdit edit = apply_settings(question.text, settings);
  if (!edit.text) qFatal("%s", edit.problem.c_str());
  question.text = *edit.text;
  return study_of(question);
}

/// A number as it is shown, in base units, and half a unit of its last digit.
struct Shown {
  double value = 0.0;
  double half_digit = 0.0;
};

Shown number_in(const QString& text) {
  static const QRegularExpression pattern{QStringLiteral(
      R"(\$?([\d,]+)(\.(\d+))?\s*(days|hours|minutes|ms|us|s\b|%|GiB|GPU-hours|k\b|M\b|B\b|T\b)?)")};
  const auto match = pattern.match(text);
  if (!match.hasMatch()) qFatal("no number in '%s'", qPrintable(text));
  QString digits = match.captured(1);
  digits.remove(QLatin1Char(','));
  const QString fraction = match.captured(3);
  const QHash<QString, double> units{{QStringLiteral("days"), 86400.0},
                                     {QStringLiteral("hours"), 3600.0},
                                     {QStringLiteral("minutes"), 60.0},
                                     {QStringLiteral("ms"), 1e-3},
                                     {QStringLiteral("us"), 1e-6},
                                     {QStringLiteral("%"), 0.01},
                                     {QStringLiteral("GiB"), 1073741824.0},
                                     {QStringLiteral("k"), 1e3},
                                     {QStringLiteral("M"), 1e6},
                                     {QStringLiteral("B"), 1e9},
                                     {QStringLiteral("T"), 1e12}};
  const double unit = units.value(match.captured(4), 1.0);
  const double last = std::pow(10.0, -static_cast<double>(fraction.size()));
  return {(digits + QLatin1Char('.') + fraction + QLatin1Char('0')).toDouble() * unit,
          0.5 * last * unit};
}

void compare_shown(const QString& text, const Json& exact, const char* what) {
  QVERIFY2(exact.is_number(), what);
  const Shown shown = number_in(text);
  const double difference = std::abs(shown.value - exact.get<double>());
  const QString message = QStringLiteral("%1: '%2' against %3")
                              .arg(QLatin1String(what), text)
                              .arg(exact.get<double>(), 0, 'g', 17);
  QVERIFY2(difference <= shown.half_digit * (1.0 + 1e-9), qPrintable(message));
}

}  // namespace

class ForecastTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  // NOLINTNEXTLINE(readability-identifier-naming): Qt calls it so
  void initTestCase() { use_own_settings(); }

  void numbers_equal_the_json_data() {
    QTest::addColumn<QString>("file");
    for (const QString& file : all_examples())
      QTest::newRow(qPrintable(QFileInfo{file}.baseName())) << file;
  }

  /// To the last digit shown, against the very program that people compare with.
  void numbers_equal_the_json() {
    QFETCH(QString, file);
    QProcess program;
    program.start(QStringLiteral(FORETRAIN_PROGRAM),
                  {QStringLiteral("simulate"), file, QStringLiteral("--json")});
    QVERIFY(program.waitForFinished(60'000));
    QCOMPARE(program.exitCode(), 0);
    const Json json = Json::parse(program.readAllStandardOutput().toStdString());
    const StudyPointer study = studied(file);
    const auto lines = headlines(*study, {});
    QCOMPARE(lines.size(), std::size_t{6});
    const auto band = [](const QString& text) { return text.split(QStringLiteral(" to ")); };
    compare_shown(lines[0].detail, json["memory"]["peak_bytes"], "peak");
    compare_shown(lines[0].detail.section(QStringLiteral(" of "), 1),
                  json["memory"]["usable_bytes"], "usable");
    compare_shown(lines[1].value, json["step"]["time_s"], "step");
    compare_shown(band(lines[1].detail)[0], json["step"]["low_s"], "low");
    compare_shown(band(lines[1].detail)[1], json["step"]["high_s"], "high");
    compare_shown(lines[2].value, json["mfu"], "mfu");
    compare_shown(lines[2].detail, json["model_tflops_per_gpu"], "TFLOP/s");
    compare_shown(lines[3].value, json["tokens_per_s"], "tokens/s");
    compare_shown(lines[3].detail.section(QLatin1Char(' '), 1), json["tokens_per_s_per_gpu"],
                  "tokens/s per GPU");
    const Json& run = json["run"];
    compare_shown(lines[4].value, run["expected_s"].is_null() ? run["ideal_s"] : run["expected_s"],
                  "run");
    const Json& cost = json["cost"];
    compare_shown(lines[5].value, cost["usd"].is_null() ? cost["gpu_hours"] : cost["usd"], "cost");
  }

  void report_is_that_of_the_program() {
    Question question = question_about(main_example());
    const Report alone = evaluate(load_scenario(main_example().toStdString()));
    const Study study = study_of(question);
    QCOMPARE(report_json(*study.report), report_json(alone));
    QVERIFY(study.path != nullptr);
    QVERIFY(study.losses != nullptr);
  }

  void last_question_wins() {
    Forecaster forecaster;
    QSignalSpy answers{&forecaster, &Forecaster::answered};
    std::uint64_t last = 0;
    for (int i = 0; i < 200; ++i) last = forecaster.ask(question_about(main_example()));
    QVERIFY(forecaster.busy());
    QTRY_VERIFY_WITH_TIMEOUT(!forecaster.busy(), 20'000);
    QVERIFY(answers.count() >= 1);
    QCOMPARE(answers.last().first().value<StudyPointer>()->question.serial, last);
    for (const auto& answer : answers)
      QCOMPARE(answer.first().value<StudyPointer>()->question.serial, last);
  }

  void long_steps_come_without_their_path_first() {
    Question question = question_about(main_example());
    question.text = *apply_settings(question.text, {"training.global_batch=65536"}).text;
    Forecaster forecaster;
    QSignalSpy answers{&forecaster, &Forecaster::answered};
    forecaster.ask(question);
    QTRY_COMPARE_WITH_TIMEOUT(answers.count(), 2, 60'000);
    const auto first = answers[0].first().value<StudyPointer>();
    const auto second = answers[1].first().value<StudyPointer>();
    QVERIFY(first->path_due && !first->path);
    QVERIFY(!second->path_due && second->path);
  }

  void a_forecaster_dies_in_the_middle_of_work() {
    for (int i = 0; i < 20; ++i) {
      Forecaster forecaster;
      forecaster.ask(question_about(main_example()));
    }
  }

  /// Recorded, not judged: the machine may be busy.
  void latency_of_a_slider() {
    Forecaster forecaster;
    QSignalSpy answers{&forecaster, &Forecaster::answered};
    const Question start = question_about(main_example());
    QBENCHMARK {
      answers.clear();
      Question question = start;
      question.text = *apply_settings(question.text, {"training.micro_batch=2"}).text;
      forecaster.ask(question);
      QVERIFY(answers.wait(10'000));
    }
  }

  void a_plan_that_does_not_fit_offers_changes_that_do() {
    const Study study = with_settings(
        main_example(),
        {"parallel.tensor=1", "parallel.sequence=false", "parallel.pipeline=8", "parallel.data=128",
         "training.global_batch=1024", "memory.recompute.granularity=none"});
    QVERIFY(study.report && !study.report->prediction.feasible());
    QCOMPARE(sentence_case(head_of(study).words), QStringLiteral("Out of memory"));
    const auto advice = advice_on(study, {});
    const auto memory = std::find_if(advice.begin(), advice.end(), [](const Advice& item) {
      return item.title == QStringLiteral("Out of memory");
    });
    QVERIFY(memory != advice.end());
    QVERIFY(!memory->fixes.empty());
    for (const Fix& fix : memory->fixes) {
      std::vector<std::string> settings;
      for (const QString& setting : fix.settings) settings.push_back(setting.toStdString());
      Question question = study.question;
      question.text = *apply_settings(question.text, settings).text;
      const Study fixed = study_of(question);
      QVERIFY2(fixed.report && fixed.report->prediction.feasible(), qPrintable(fix.label));
    }
  }

  void levers_do_what_they_promise() {
    const StudyPointer study = studied(main_example());
    int tried = 0;
    for (const Advice& item : advice_on(*study, {})) {
      if (item.tone != Tone::good) continue;
      for (const Fix& fix : item.fixes) {
        std::vector<std::string> settings;
        for (const QString& setting : fix.settings) settings.push_back(setting.toStdString());
        const Study after = with_settings(main_example(), settings);
        QVERIFY2(after.runs(), qPrintable(fix.label));
        QVERIFY(after.report->prediction.step->time < study->report->prediction.step->time);
        ++tried;
      }
    }
    QVERIFY(tried > 0);
  }

  void an_unreadable_text_is_a_study_with_its_errors() {
    Question question;
    question.text = "schema: 1\nname: [\n";
    question.folder = "/tmp";
    const Study study = study_of(question);
    QVERIFY(!study.valid());
    QVERIFY(!study.diagnostics.empty());
    QCOMPARE(headlines(study, {})[0].value, QStringLiteral("Not a scenario"));
    QVERIFY(!advice_on(study, {}).empty());
  }
};

}  // namespace foretrain::gui

QTEST_MAIN(foretrain::gui::ForecastTest)
#include "forecast_test.moc"
