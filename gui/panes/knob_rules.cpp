// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/knob_rules.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "gui/looks/units.hpp"
#include "planner/edit/scenario_draft.hpp"
#include "planner/edit/scenario_text.hpp"
#include "planner/search/search_space.hpp"

namespace foretrain::gui {
namespace {

constexpr std::string_view tensor = "parallel.tensor";
constexpr std::string_view pipeline = "parallel.pipeline";
constexpr std::string_view context = "parallel.context";
constexpr std::string_view expert = "parallel.expert";
constexpr std::string_view data = "parallel.data";
constexpr std::string_view hosts = "cluster.hosts";
constexpr std::string_view virtual_stages = "parallel.virtual_stages";

std::set<std::int64_t> doublings(std::int64_t first, std::int64_t last) {
  std::set<std::int64_t> result;
  for (std::int64_t value = first; value <= last; value *= 2) result.insert(value);
  return result;
}

std::set<std::int64_t> divisors(int number, int most) {
  std::set<std::int64_t> result;
  for (int value = 1; value <= std::min(number, most); ++value)
    if (number % value == 0) result.insert(value);
  return result;
}

std::set<std::int64_t> stops_at(const std::vector<int>& values) {
  return {values.begin(), values.end()};
}

std::set<std::int64_t> numbers(std::string_view path, const KnobState& state) {
  if (path == tensor) return stops_at(state.tensor);
  if (path == pipeline) return stops_at(state.pipeline);
  if (path == context) return stops_at(state.context);
  if (path == expert) return stops_at(state.expert);
  if (path == virtual_stages)
    return divisors(state.layers / std::max(1, state.number("parallel.pipeline")), 64);
  if (path == hosts) return doublings(1, 4096);
  if (path == data) return doublings(1, 4096);
  if (path == "training.micro_batch")
    return divisors(std::max(1, state.number("training.global_batch")), 64);
  if (path == "training.global_batch") return doublings(1, 65'536);
  if (path == "training.sequence") return doublings(512, 1 << 20);
  if (path == "parallel.zero") return {0, 1, 2, 3};
  return {};
}

QString setting(std::string_view path, const QString& value) {
  return QString::fromLatin1(path.data(), static_cast<qsizetype>(path.size())) + QLatin1Char('=') +
         value;
}

/// Data ranks that the machine has left; 0 where it does not divide.
std::int64_t data_left(const KnobState& state) {
  const std::int64_t model = std::int64_t{state.number("parallel.tensor")} *
                             state.number("parallel.pipeline") * state.number("parallel.context");
  const std::int64_t gpus = std::int64_t{state.number("cluster.hosts")} * state.gpus_per_host;
  return model > 0 && gpus % model == 0 ? gpus / model : 0;
}

}  // namespace

const std::vector<Knob>& knobs() {
  static const std::vector<Knob> list{
      {"cluster.hosts", "Hosts", "Number of hosts; data ranks follow", true},
      {"parallel.tensor", "Tensor",
       "GPUs that every weight matrix is sharded across; data ranks follow", true},
      {"parallel.pipeline", "Pipeline", "Pipeline stages; data ranks follow", true},
      {"parallel.context", "Context", "GPUs that share one sequence; data ranks follow", true},
      {"parallel.expert", "Experts", "GPUs that routed experts are spread over", true},
      {"parallel.data", "Data", "Replicas; hosts follow", true},
      {"parallel.virtual_stages", "Virtual stages",
       "Chunks of layers per stage; the schedule follows", true},
      {"training.micro_batch", "Micro-batch", "Sequences per pass", true},
      {"training.global_batch", "Global batch", "Sequences per optimizer step", true},
      {"training.sequence", "Sequence", "Tokens per sequence", true},
      {"memory.recompute.granularity", "Recompute", "Activations recomputed instead of kept",
       false},
      {"parallel.zero", "ZeRO", "What replicas shard instead of copy", false},
      {"parallel.schedule", "Schedule", "Order of passes on a stage", false},
      {"memory.offload", "Offload", "What lives in host memory instead of GPU memory", false},
      {"training.precision", "Precision", "Number format of the GEMMs", false}};
  return list;
}

int KnobState::number(const char* path) const { return value(path).toInt(); }

QString KnobState::value(const char* path) const { return values.value(QLatin1String(path)); }

KnobState knob_state(const Report& report) {
  KnobState state;
  const Job& job = report.scenario.job;
  state.gpus_per_host = job.cluster.host.gpus;
  const SearchSpace space = default_space(job);
  state.tensor = space.tensor;
  state.pipeline = space.pipeline;
  state.context = space.context;
  if (job.model.moe) state.expert = space.expert;
  state.layers = job.model.layers;
  for (const ResolvedValue& value : report.scenario.values) {
    const auto known =
        std::ranges::any_of(knobs(), [&](const Knob& knob) { return knob.path == value.path; });
    if (!known) continue;
    state.values.insert(QString::fromStdString(value.path), QString::fromStdString(value.value));
    if (value.path == data) state.data_follows = value.origin.starts_with("derived");
  }
  return state;
}

QStringList knob_stops(const Knob& knob, const KnobState& state) {
  QStringList stops;
  const QString present = state.value(knob.path);
  if (!knob.slider && std::string_view{knob.path} != "parallel.zero") {
    const Field* field = scenario_table().find(knob.path);
    for (const std::string& choice : field->choices) stops << QString::fromStdString(choice);
    return stops;
  }
  std::set<std::int64_t> values = numbers(knob.path, state);
  bool number = false;
  if (const qlonglong now = present.toLongLong(&number); number && !values.empty())
    values.insert(now);
  for (const std::int64_t value : values) stops << QString::number(value);
  return stops;
}

QStringList knob_settings(const Knob& knob, const QString& value, const KnobState& state) {
  const std::string_view path = knob.path;
  QStringList settings{setting(path, value)};
  KnobState after = state;
  after.values.insert(QLatin1String(knob.path), value);
  if (path == data) {
    const std::int64_t gpus = std::int64_t{after.number("parallel.tensor")} *
                              after.number("parallel.pipeline") * after.number("parallel.context") *
                              after.number("parallel.data");
    if (state.gpus_per_host > 0 && gpus % state.gpus_per_host == 0)
      settings << setting(hosts, QString::number(gpus / state.gpus_per_host));
  } else if ((path == tensor || path == pipeline || path == context || path == hosts) &&
             !state.data_follows) {
    if (const std::int64_t left = data_left(after); left > 0)
      settings << setting(data, QString::number(left));
  } else if (path == virtual_stages) {
    const bool chunks = value.toInt() > 1;
    const std::string kind = state.value("parallel.schedule").toStdString();
    if (chunks != runs_chosen_chunks(kind))
      settings << setting("parallel.schedule",
                          QString::fromStdString(schedule_for_chunks(kind, chunks)));
  } else if (path == "parallel.schedule") {
    const bool needs_chunks = runs_chosen_chunks(value.toStdString());
    const bool chunks = state.number("parallel.virtual_stages") > 1;
    if (needs_chunks != chunks)
      settings << setting(virtual_stages, needs_chunks ? QStringLiteral("2") : QStringLiteral("1"));
  }
  return settings;
}

QString key_words(const std::string& path) {
  const auto knob =
      std::ranges::find_if(knobs(), [&](const Knob& one) { return one.path == path; });
  // Without the section: "overlap tensor".
  QString name =
      knob != knobs().end() ? QLatin1String(knob->label) : qt_text(path.substr(path.find('.') + 1));
  name.replace(QLatin1Char('.'), QLatin1Char(' ')).replace(QLatin1Char('_'), QLatin1Char(' '));
  if (name != QLatin1String("ZeRO")) name[0] = name[0].toLower();
  return name;
}

QString setting_words(const QStringList& settings) {
  QStringList words;
  for (const QString& setting : settings)
    words << key_words(setting.section(QLatin1Char('='), 0, 0).toStdString()) + QLatin1Char(' ') +
                 setting.section(QLatin1Char('='), 1);
  return words.join(QStringLiteral(", "));
}

}  // namespace foretrain::gui
