// SPDX-License-Identifier: Apache-2.0
#include "calibration/validate/power_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/records/measured_data.hpp"
#include "calibration/records/run_job.hpp"
#include "models/base/ranges.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/run/power_course.hpp"

namespace foretrain {
namespace {

Field watts(const char* path, const char* help, const char* example) {
  return {.path = path,
          .kind = FieldKind::quantity,
          .help = help,
          .example = example,
          .dimension = Dimension::power};
}

Field number(const char* path, const char* help, const char* example) {
  return {.path = path, .kind = FieldKind::number, .help = help, .example = example};
}

Field words(const char* path, const char* help, const char* example, bool required = true) {
  return {.path = path, .help = help, .example = example, .required = required};
}

const FieldTable& power_fields() {
  static const FieldTable table(
      "Measured power",
      {schema_field(),
       {.path = "series", .kind = FieldKind::list, .help = "Runs whose power was measured."},
       words("series[].id", "Its name.", "smc-gpt3-512xh100"),
       words("series[].record", "The run.", "mlperf-v4.0-gpt3-64xsmc-h100-sxm-80gb"),
       words("series[].runs", "The file that has the run.", "runs.yaml"),
       {.path = "series[].meter",
        .kind = FieldKind::quantity,
        .help = "Time that one reading stands for.",
        .example = "2 s",
        .required = true,
        .dimension = Dimension::time},
       watts("series[].host", "One host without its GPUs under load.", "1.8 kW"),
       watts("series[].host_idle", "The same while its GPUs are idle.", "1.5 kW"),
       watts("series[].gpu_idle", "A GPU without a process.", "76 W"),
       watts("series[].gpu", "Measured: a GPU in training, mean.", "680 W"),
       watts("series[].node", "Measured: a host in training, mean.", "6.9 kW"),
       watts("series[].node_idle", "Measured: an idle host.", "2.1 kW"),
       number("series[].peak_over_mean", "Measured: highest reading over the mean.", "1.04"),
       number("series[].ramp", "Measured: largest change of all hosts, kW/s.", "31"),
       number("series[].coherence", "Measured: deviation of the sum over sum of deviations.",
              "0.78"),
       {.path = "series[].fitted",
        .kind = FieldKind::text_list,
        .help = "Keys of these that constants were fitted on.",
        .example = "[node]"},
       words("series[].source", "Where it was published.", "arXiv 2412.08602"),
       words("series[].note", "How the numbers were taken.", "AC", false)});
  return table;
}

PowerSeries series_of(const FieldValues& values, const std::string& at) {
  PowerSeries series;
  series.id = values.text(at + "id");
  series.record = values.text(at + "record");
  series.runs = values.text(at + "runs");
  series.meter = values.quantity<Seconds>(at + "meter");
  series.facts.host = values.optional_quantity<Watts>(at + "host");
  series.facts.host_idle = values.optional_quantity<Watts>(at + "host_idle");
  series.facts.gpu_idle = values.optional_quantity<Watts>(at + "gpu_idle");
  series.gpu = values.optional_quantity<Watts>(at + "gpu");
  series.node = values.optional_quantity<Watts>(at + "node");
  series.node_idle = values.optional_quantity<Watts>(at + "node_idle");
  series.peak_over_mean = values.optional_number(at + "peak_over_mean");
  series.ramp = values.optional_number(at + "ramp");
  series.coherence = values.optional_number(at + "coherence");
  if (values.has(at + "fitted")) series.fitted = values.at(at + "fitted").texts;
  series.source = values.text(at + "source");
  if (values.has(at + "note")) series.note = values.text(at + "note");
  return series;
}

/// Highest reading, and the largest change from one reading to the next.
struct Readings {
  Watts most;
  double ramp = 0.0;  ///< kW per second
};

Readings readings_of(const PowerCourse& course, const std::vector<Watts>& watts, Seconds meter) {
  const std::vector<Watts> seen = seen_by_meter(watts, course.sample, meter);
  Readings readings{*std::ranges::max_element(seen)};
  const auto later = static_cast<std::size_t>(meter / course.sample + 0.5);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double change = (seen[(i + later) % seen.size()] - seen[i]).value();
    readings.ramp = std::max(readings.ramp, std::abs(change) / meter.value() / 1e3);
  }
  return readings;
}

}  // namespace

std::vector<PowerSeries> power_series() {
  Diagnostics diagnostics;
  const FieldValues values = read_measured_data("power.yaml", power_fields(), diagnostics);
  diagnostics.throw_if_any();
  std::vector<PowerSeries> series;
  for (int i = 0; i < values.list_size("series"); ++i)
    series.push_back(series_of(values, fmt::format("series[{}].", i)));
  return series;
}

std::vector<PowerCheck> check_power(const PowerSeries& series, const RunRecord& record,
                                    const RunCatalog& catalog, std::string& why) {
  const RunJob run = run_job(record, catalog);
  why = run.why;
  if (!run.job) return {};
  Job job = *run.job;
  job.operations.power = series.facts;
  const StepPath path = step_path(job, stage_layout(job.model, job.parallel));
  const StepForecast step = step_forecast(path);
  const PowerCourse course = power_course(job, gpu_course(path.graph, path.timeline, path.release,
                                                          step.time, gpu_power(job), 1.0 * ms));
  const PowerForecast power = power_forecast(job, step, course);
  const bool gpu_alone = series.gpu && !series.node;
  const Readings readings = readings_of(course, gpu_alone ? course.gpu : course.site, series.meter);
  std::vector<PowerCheck> checks;
  const auto add = [&](const char* key, const char* quantity, std::optional<double> measured,
                       double predicted) {
    if (!measured) return;
    const bool fitted = contains(series.fitted, key);
    checks.push_back({series.id, quantity, *measured, predicted, fitted});
  };
  const auto value = [](const std::optional<Watts>& measured) {
    return measured ? std::optional(measured->value()) : std::nullopt;
  };
  add("gpu", "GPU, W", value(series.gpu), power.gpu.value());
  add("node", "host, W", value(series.node), power.host.value());
  add("node_idle", "idle host, W", value(series.node_idle),
      one_host(job, job.cluster.host.gpus * gpu_power(job).idle).value());
  add("peak_over_mean", "peak over mean", series.peak_over_mean,
      readings.most / (gpu_alone ? power.gpu : power.mean));
  add("ramp", "ramp, kW/s", series.ramp, readings.ramp);
  add("coherence", "coherence", series.coherence, power.coherence);
  return checks;
}

}  // namespace foretrain
