// SPDX-License-Identifier: Apache-2.0
#include "gui/window/main_window.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QLabel>
#include <QSettings>
#include <QSplitter>
#include <QStatusBar>
#include <QStyleFactory>
#include <QTabBar>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

#include "gui/panes/advice_pane.hpp"
#include "gui/panes/card_row.hpp"
#include "gui/panes/compare_pane.hpp"
#include "gui/panes/field_pane.hpp"
#include "gui/panes/forecast_bar.hpp"
#include "gui/panes/history_strip.hpp"
#include "gui/panes/knob_pane.hpp"
#include "gui/panes/notice_bar.hpp"
#include "gui/panes/veil.hpp"
#include "gui/panes/yaml_pane.hpp"
#include "gui/process/document.hpp"
#include "gui/process/event_player.hpp"
#include "gui/process/forecaster.hpp"
#include "gui/views/registry.hpp"

namespace foretrain::gui {
namespace {

QFrame* framed(QWidget* inside) {
  auto* frame = new QFrame;
  frame->setProperty("card", true);
  auto* layout = new QVBoxLayout{frame};
  layout->setContentsMargins(1, 1, 1, 1);
  layout->addWidget(inside);
  return frame;
}

bool stands_beside_cards(const QString& id) {
  return id == QLatin1String("memory") || id == QLatin1String("waterfall");
}

}  // namespace

void apply_theme(ThemeKind kind) {
  const Theme& theme = theme_of(kind);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setPalette(palette_of(theme));
  qApp->setStyleSheet(style_sheet(theme));
}

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow{parent},
      document_{new Document{this}},
      forecaster_{new Forecaster{this}},
      player_{new EventPlayer{this}},
      history_{new HistoryModel{this}},
      quiet_{new QTimer{this}} {
  qRegisterMetaType<StudyPointer>();
  qRegisterMetaType<Selection>();
  build_editor();
  build_forecast();
  build_views();
  halves_ = new QSplitter{Qt::Horizontal};
  halves_->addWidget(left_);
  auto* forecast = new QWidget;
  auto* column = new QVBoxLayout{forecast};
  column->setContentsMargins(0, 0, 0, 0);
  column->addWidget(notice_);
  column->addWidget(cards_);
  column->addWidget(bar_);
  column->addWidget(right_, 1);
  column->addWidget(strip_);
  veil_ = new Veil{*right_};
  halves_->addWidget(forecast);
  halves_->setStretchFactor(1, 1);
  halves_->setSizes({400, 880});
  halves_->setContentsMargins(8, 4, 8, 4);
  setCentralWidget(halves_);
  status_ = new QLabel;
  statusBar()->addPermanentWidget(status_);
  build_actions();
  connect_editor();
  connect_forecast();
  setAcceptDrops(true);
  resize(1280, 800);
  restore_layout();
}

MainWindow::~MainWindow() = default;

void MainWindow::build_editor() {
  knobs_ = new KnobPane;
  fields_ = new FieldPane;
  yaml_ = new YamlPane;
  editors_ = new QTabWidget;
  editors_->setDocumentMode(true);
  editors_->setAccessibleName(tr("Editor"));
  editors_->tabBar()->setDrawBase(false);
  editors_->addTab(fields_, tr("Keys"));
  editors_->addTab(yaml_, tr("YAML"));
  left_ = new QSplitter{Qt::Vertical};
  left_->addWidget(framed(knobs_));
  left_->addWidget(framed(editors_));
  left_->setStretchFactor(1, 1);
  left_->setCollapsible(0, false);
  left_->setMinimumWidth(340);
}

void MainWindow::build_forecast() {
  cards_ = new CardRow;
  notice_ = new NoticeBar;
  advice_ = new AdvicePane;
  bar_ = new ForecastBar{*player_};
  compare_ = new ComparePane;
  strip_ = new HistoryStrip{*history_};
  tabs_ = new QTabWidget;
  tabs_->setDocumentMode(true);
  tabs_->tabBar()->setDrawBase(false);
  tabs_->setObjectName(QStringLiteral("views"));
  tabs_->setAccessibleName(tr("Views"));
  tabs_->setUsesScrollButtons(false);
  tabs_->setElideMode(Qt::ElideRight);
  right_ = new QSplitter{Qt::Vertical};
}

void MainWindow::build_views() {
  auto* beside = new QSplitter{Qt::Horizontal};
  for (const ViewEntry& entry : view_registry()) {
    View* view = entry.make(nullptr);
    views_.push_back(view);
    if (stands_beside_cards(QLatin1String(entry.id))) {
      beside->addWidget(framed(view));
    } else {
      const int tab = tabs_->addTab(view, QString::fromUtf8(entry.title));
      tabs_->setTabToolTip(tab, QString::fromUtf8(entry.help));
    }
    connect(view, &View::selected, this,
            [this, view](const Selection& selection) { spread(selection, view); });
    connect(view, &View::settings_wanted, this, &MainWindow::apply);
  }
  tabs_->addTab(compare_, tr("Compare"));
  tabs_->addTab(advice_, tr("Advice"));
  beside_ = beside;
  right_->addWidget(beside);
  right_->addWidget(framed(tabs_));
  right_->setStretchFactor(0, 1);
  right_->setStretchFactor(1, 1);
  // Not while hidden: a tab that nobody sees draws when it is shown.
  connect(tabs_, &QTabWidget::currentChanged, this, [this] {
    if (auto* view = qobject_cast<View*>(tabs_->currentWidget()); view && shown_)
      view->show_study(shown_);
  });
}

void MainWindow::connect_editor() {
  connect(document_, &Document::text_changed, this, &MainWindow::text_changed);
  connect(document_, &Document::file_changed, this, &MainWindow::update_title);
  connect(&document_->undo_stack(), &QUndoStack::cleanChanged, this, &MainWindow::update_title);
  connect(yaml_, &YamlPane::typed, document_, &Document::type);
  connect(yaml_, &YamlPane::undo_wanted, &document_->undo_stack(), &QUndoStack::undo);
  connect(yaml_, &YamlPane::redo_wanted, &document_->undo_stack(), &QUndoStack::redo);
  connect(knobs_, &KnobPane::turned, this, &MainWindow::apply);
  connect(advice_, &AdvicePane::fix_wanted, this, &MainWindow::use);
  connect(notice_, &NoticeBar::fix_wanted, this, &MainWindow::use);
  connect(fields_, &FieldPane::edited, this, [this](const QString& path, const QString& value) {
    tell(value.isEmpty() ? document_->remove(path) : document_->set(path, value));
  });
}

void MainWindow::connect_forecast() {
  connect(forecaster_, &Forecaster::answered, this, &MainWindow::show_study);
  connect(bar_, &ForecastBar::engine_wanted, this, &MainWindow::set_engine);
  connect(bar_, &ForecastBar::play_wanted, this, &MainWindow::play);
  connect(bar_, &ForecastBar::pin_wanted, this, &MainWindow::pin);
  connect(player_, &EventPlayer::finished, this, &MainWindow::event_finished);
  const auto stopped = [this](const QString& sentence) {
    if (study_) bar_->set_study(*study_, units_);
    bar_->tell(sentence);
  };
  connect(player_, &EventPlayer::failed, this, stopped);
  connect(player_, &EventPlayer::cancelled, this,
          [stopped] { stopped(tr("The event engine was cancelled")); });
  connect(strip_, &HistoryStrip::restore_wanted, this, &MainWindow::restore_text);
  connect(compare_, &ComparePane::restore_wanted, this, &MainWindow::restore_text);
  connect(compare_, &ComparePane::pin_changed, this, [this] {
    if (study_) show_everywhere();
  });
  // What somebody looks at for a moment is a step; what a slider runs through is none.
  quiet_->setSingleShot(true);
  quiet_->setInterval(600);
  connect(quiet_, &QTimer::timeout, this, &MainWindow::settle);
  connect(document_, &Document::file_changed, this, [this] {
    if (document_->modified() || document_->undo_stack().count() != 0) return;
    history_->clear();
    for (StudyPointer* kept : {&shown_, &settled_, &reference_}) kept->reset();
  });
}

void MainWindow::text_changed() {
  const std::string text = document_->text().toStdString();
  yaml_->set_text(document_->text());
  fields_->set_text(text);
  update_title();
  ask();
}

Question MainWindow::question_now() const {
  Question question;
  question.text = document_->text().toStdString();
  question.name = document_->name().toStdString();
  question.folder = document_->folder();
  question.engine = engine_;
  question.log = log_;
  return question;
}

void MainWindow::settle() {
  history_->add(*study_);
  settled_ = study_;
}

void MainWindow::ask() {
  quiet_->stop();
  if (settled_) reference_ = settled_;
  cards_->set_stale(true);
  forecaster_->ask(question_now());
}

void MainWindow::show_study(StudyPointer study) {
  study_ = std::move(study);
  const bool other_kind = study_->answered() && (!shown_ || shown_->kind != study_->kind);
  if (study_->answered() || !shown_) shown_ = study_;
  fields_->set_study(*study_);
  yaml_->set_study(*study_);
  knobs_->set_study(*study_);
  if (study_->answered() && !settled_)
    settle();
  else if (study_->answered())
    quiet_->start();
  else
    quiet_->stop();
  show_parts();
  if (other_kind && study_->answer)
    (void)show_view(study_->kind == TextKind::served ? QStringLiteral("serving")
                                                     : QStringLiteral("queue"));
  show_everywhere();
  status_->setText(
      tr("forecast in %1 ms").arg(static_cast<double>(study_->took.count()) / 1000.0, 0, 'f', 1));
  Q_EMIT shown(study_);
}

void MainWindow::show_parts() {
  const bool training = shown_->kind == TextKind::training;
  for (QWidget* part : {knobs_->parentWidget(), beside_, static_cast<QWidget*>(bar_)})
    part->setVisible(training);
  strip_->setVisible(history_->rowCount() > 0);
  for (int tab = 0; tab < tabs_->count(); ++tab) {
    const auto* view = qobject_cast<View*>(tabs_->widget(tab));
    tabs_->setTabVisible(tab, view ? find_view(view->id())->has(*shown_) : training);
  }
}

void MainWindow::show_everywhere() {
  const bool older = shown_ != study_;
  const StudyPointer& held = compare_->pinned() ? compare_->pinned() : reference_;
  cards_->show_headlines(headlines(*shown_, units_, held.get()), compare_->pinned()
                                                                     ? tr("to the pinned forecast")
                                                                     : tr("to the state before"));
  cards_->set_stale(older);
  notice_->show_notice(notice_on(*study_, units_), older);
  veil_->setVisible(older);
  veil_->raise();
  bar_->set_study(*study_, units_);
  compare_->set_study(shown_);
  advice_->show_advice(advice_on(*study_, units_));
  const auto count = advice_->shown().size();
  tabs_->setTabText(tabs_->indexOf(advice_),
                    count == 0 ? tr("Advice") : tr("Advice (%1)").arg(count));
  for (View* view : views_)
    if (stands_beside_cards(view->id()) || tabs_->currentWidget() == view) view->show_study(shown_);
}

void MainWindow::play() {
  if (player_->playing() || !study_ || !study_->runs()) return;
  player_->play(question_now());
  bar_->set_study(*study_, units_);
}

void MainWindow::event_finished(const std::shared_ptr<const EventAnswer>& answer) {
  const bool present = player_->question().text == document_->text().toStdString();
  if (study_ && present && !forecaster_->busy()) {
    study_ = std::make_shared<const Study>(with_event(*study_, answer));
    shown_ = study_;
    show_everywhere();
    return;
  }
  if (study_) bar_->set_study(*study_, units_);
  const QString step = answer->step ? time_label(answer->step->time, units_) : tr("unknown");
  bar_->tell(tr("The event engine simulated an earlier text: step %1").arg(step));
}

void MainWindow::pin() {
  if (!study_ || !study_->valid()) {
    tell(tr("Only a forecast can be pinned, and the scenario has errors"));
    return;
  }
  compare_->pin(study_);
  tabs_->setCurrentWidget(compare_);
}

void MainWindow::restore_text(const QString& text, const QString& name) {
  document_->replace(text, tr("back to %1").arg(name));
}

View* MainWindow::present_view() const { return qobject_cast<View*>(tabs_->currentWidget()); }

void MainWindow::apply(const QStringList& settings, const QString& why) {
  tell(document_->apply(settings, why));
}

void MainWindow::use(const Fix& fix) {
  if (!fix.settings.isEmpty()) return apply(fix.settings, fix.label);
  if (fix.line > 0) {
    editors_->setCurrentWidget(yaml_);
    yaml_->go_to_line(fix.line);
    return;
  }
  editors_->setCurrentWidget(fields_);
  fields_->reveal(fix.field);
}

void MainWindow::tell(const QString& problem) {
  if (!problem.isEmpty()) statusBar()->showMessage(problem, 8000);
}

void MainWindow::spread(const Selection& selection, View* from) {
  for (View* view : views_)
    if (view != from) view->select(selection);
}

void MainWindow::update_title() {
  setWindowTitle(tr("%1[*] – Foretrain").arg(document_->name()));
  setWindowModified(document_->modified());
}

void MainWindow::set_theme(ThemeKind kind) {
  theme_ = kind;
  const Theme& theme = theme_of(kind);
  apply_theme(kind);
  for (View* view : views_) view->set_theme(theme);
  cards_->set_theme(theme);
  notice_->set_theme(theme);
  compare_->set_theme(theme);
  strip_->set_theme(theme);
  advice_->set_theme(theme);
  fields_->set_theme(theme);
  yaml_->set_theme(theme);
  if (study_) yaml_->set_study(*study_);
}

void MainWindow::set_units(const Units& units) {
  units_ = units;
  for (View* view : views_) view->set_units(units);
  strip_->set_units(units);
  if (study_) show_everywhere();
}

void MainWindow::set_engine(EngineKind engine) {
  if (engine == engine_) return;
  engine_ = engine;
  bar_->set_engine(engine);
  ask();
}

bool MainWindow::show_view(const QString& id) {
  for (View* view : views_) {
    if (view->id() != id) continue;
    if (stands_beside_cards(id)) return true;
    tabs_->setTabVisible(tabs_->indexOf(view), true);
    tabs_->setCurrentWidget(view);
    return true;
  }
  return false;
}

bool MainWindow::settled() const {
  if (forecaster_->busy() || !study_) return false;
  for (const View* view : views_)
    if (view->isVisible() && !view->settled()) return false;
  return true;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!may_discard()) {
    event->ignore();
    return;
  }
  QSettings settings;
  settings.setValue(QStringLiteral("geometry"), saveGeometry());
  settings.setValue(QStringLiteral("halves"), halves_->saveState());
  settings.setValue(QStringLiteral("left"), left_->saveState());
  settings.setValue(QStringLiteral("right"), right_->saveState());
  settings.setValue(QStringLiteral("tab"), tabs_->currentIndex());
  settings.setValue(QStringLiteral("editor"), editors_->currentIndex());
  QMainWindow::closeEvent(event);
}

void MainWindow::restore_layout() {
  const QSettings settings;
  const auto bytes = [&](const char* key) {
    return settings.value(QLatin1String(key)).toByteArray();
  };
  restoreGeometry(bytes("geometry"));
  halves_->restoreState(bytes("halves"));
  left_->restoreState(bytes("left"));
  if (!right_->restoreState(bytes("right"))) right_->setSizes({310, 310});
  tabs_->setCurrentIndex(settings.value(QStringLiteral("tab"), 0).toInt());
  editors_->setCurrentIndex(settings.value(QStringLiteral("editor"), 0).toInt());
  units_.bytes = settings.value(QStringLiteral("decimal bytes"), false).toBool()
                     ? ByteUnits::decimal
                     : ByteUnits::binary;
  units_.time = static_cast<TimeUnits>(
      std::clamp(settings.value(QStringLiteral("time units"), 0).toInt(), 0, 2));
  set_theme(settings.value(QStringLiteral("dark"), false).toBool() ? ThemeKind::dark
                                                                   : ThemeKind::light);
  set_units(units_);
}

}  // namespace foretrain::gui
