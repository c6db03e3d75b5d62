// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/imported_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "calibration/imports/json_document.hpp"
#include "calibration/imports/record_text.hpp"

namespace foretrain {
namespace {

constexpr std::string_view marker = ":::MLLOG ";
constexpr double most_time = 4e12;  // ms since 1970: beyond it, the year 2096

/// Samples of a step time, and where they come from.
struct Steps {
  std::vector<double> seconds;
  std::string how;
};

double share(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
}

class MlperfReader {
 public:
  MlperfReader(ImportedLog& log, Diagnostics& diagnostics) : log_{log}, diagnostics_{diagnostics} {}

  void read(const std::string& text) {
    for (const LogLine& line : log_lines(text)) {
      const auto at = line.text.find(marker);
      if (at == std::string_view::npos) continue;
      if (first_line_ == 0) first_line_ = line.number;
      Diagnostics own;
      const auto event =
          parse_json(line.text.substr(at + marker.size()), log_.file, own, line.number);
      if (event)
        take(*event);
      else
        flag(line.number, own.items().front().message);
    }
    finish();
  }

 private:
  void take(const JsonValue& event) {
    const auto time = event.number_of("time_ms");
    const JsonValue* const value = event.find("value");
    if (!time || *time < 0.0 || *time > most_time || value == nullptr)
      return flag(event.line, "the line has no time_ms or no value");
    const std::string key = event.text_of("key");
    if (key == "tracked_stats") return take_stats(event, *value);
    if (key == "block_start" || key == "block_stop") return take_block(event, key, *time);
    if (key == "run_start" && run_start_ < 0.0) run_start_ = *time;
    if (key == "run_stop") take_end(event, *time);
    if (value->kind == JsonValue::Kind::text && key == "submission_benchmark")
      run_.benchmark = plain_text(value->text, 60);
    if (value->kind == JsonValue::Kind::text && key == "submission_platform")
      run_.platform = plain_text(value->text, 80);
    constexpr double most = 1e9;
    const auto number = value->as_number();
    if (!number || *number < 1.0 || *number > most || std::floor(*number) != *number) return;
    if (key == "global_batch_size") run_.global_batch = static_cast<int>(*number);
    if (key == "max_sequence_length") run_.sequence = static_cast<int>(*number);
    if (log_.facts.date.empty()) log_.facts.date = date_of_seconds(*time * 1e-3);
  }

  void take_stats(const JsonValue& event, const JsonValue& stats) {
    for (const char* const name : {"train_step_timing", "train_step_time"}) {
      const JsonValue* const step = stats.find(name);
      if (step == nullptr) continue;
      const auto seconds = step->as_number();
      if (!seconds || *seconds <= 0.0)
        flag(event.line, std::string(name) + " is not a time above zero");
      else if (seen_.insert({step_of(event), *seconds}).second)  // ranks may all log it
        timed_.push_back(*seconds);
    }
    const auto rate = stats.number_of("throughput");
    if (rate && *rate > 0.0) rates_.push_back(*rate);
  }

  [[nodiscard]] static double step_of(const JsonValue& event) {
    const JsonValue* const metadata = event.find("metadata");
    return metadata == nullptr ? -1.0 : metadata->number_of("step").value_or(-1.0);
  }

  void take_block(const JsonValue& event, const std::string& key, double time) {
    const JsonValue* const metadata = event.find("metadata");
    const auto samples = metadata == nullptr ? std::nullopt : metadata->number_of("samples_count");
    if (!samples) return;
    if (key == "block_start") {
      block_ = {time, *samples};
      in_block_ = true;
    } else if (in_block_) {
      in_block_ = false;
      if (time <= block_.first || *samples <= block_.second)
        return flag(event.line, "the block ends before it began: lines are out of order");
      blocks_.push_back((time - block_.first) * 1e-3 / (*samples - block_.second));
    }
  }

  void take_end(const JsonValue& event, double time) {
    ended_ = true;
    const JsonValue* const metadata = event.find("metadata");
    const std::string status = metadata == nullptr ? "" : metadata->text_of("status");
    if (!status.empty() && status != "success")
      log_.flagged.push_back({event.line, true, "the run ended with status " + in_quotes(status)});
    if (run_start_ < 0.0) return;  // an excerpt
    if (time > run_start_)
      run_.run_minutes = (time - run_start_) / 6e4;
    else
      flag(event.line, "run_stop comes before run_start: lines are out of order");
  }

  [[nodiscard]] Steps steps() const {
    if (!timed_.empty()) return {timed_, "steps that the log times"};
    Steps made;
    if (!run_.global_batch) return made;
    const double batch = *run_.global_batch;
    if (!rates_.empty()) {
      made.how = "global batch over tracked throughput, validation left out";
      for (const double rate : rates_) made.seconds.push_back(batch / rate);
    } else {
      made.how = "time of blocks over their samples";
      for (const double each : blocks_) made.seconds.push_back(batch * each);
    }
    return made;
  }

  void finish() {
    if (first_line_ == 0)
      return report(log_.file, 0, "there is no :::MLLOG line in it", diagnostics_);
    if (!ended_)
      log_.flagged.push_back({first_line_, true, "there is no run_stop: the log was cut"});
    Steps found = steps();
    if (found.seconds.empty())
      return report(log_.file, first_line_,
                    "no step time can be found: neither train_step_time nor throughput or blocks "
                    "with a global_batch_size",
                    diagnostics_);
    std::ranges::sort(found.seconds);
    run_.step_s = share(found.seconds, 0.5);
    run_.low_s = share(found.seconds, 0.05);
    run_.high_s = share(found.seconds, 0.95);
    run_.samples = static_cast<int>(found.seconds.size());
    run_.how = found.how;
    run_.line = first_line_;
    check_blocks();
    log_.facts.benchmark = run_.benchmark;
    run_.id = fmt::format("mllog-{}-{}", run_.benchmark.empty() ? "run" : run_.benchmark,
                          stem_of(log_.file));
    log_.runs.push_back(run_);
  }

  /// Throughput counts samples; a log that counts tokens would be wrong by the sequence length.
  void check_blocks() {
    if (blocks_.empty() || !run_.global_batch) return;
    std::vector<double> sorted = blocks_;
    std::ranges::sort(sorted);
    const double by_blocks = share(sorted, 0.5) * *run_.global_batch;
    if (std::abs(run_.step_s / by_blocks - 1.0) <= 0.15) return;
    log_.flagged.push_back(
        {first_line_, true,
         fmt::format("a step takes {:.4g} s by {}, but {:.4g} s by the blocks' samples: the log "
                     "counts something else in one of them",
                     run_.step_s, run_.how, by_blocks)});
  }

  void flag(int line, std::string what) { log_.flagged.push_back({line, false, std::move(what)}); }

  ImportedLog& log_;
  Diagnostics& diagnostics_;
  LoggedRun run_;
  std::vector<double> timed_;
  std::vector<double> rates_;
  std::vector<double> blocks_;  ///< seconds per sample
  std::set<std::pair<double, double>> seen_;
  std::pair<double, double> block_;
  bool in_block_ = false;
  bool ended_ = false;
  double run_start_ = -1.0;
  int first_line_ = 0;
};

}  // namespace

ImportedLog import_mlperf(const std::string& text, const std::string& file,
                          const ImportOptions& options, Diagnostics& diagnostics) {
  ImportedLog log;
  log.file = file;
  log.format = LogFormat::mlperf;
  log.facts.tool = "mlperf";
  log.facts.gpu = options.gpu;
  log.facts.device = device_of_product(options.gpu);
  MlperfReader(log, diagnostics).read(text);
  return log;
}

}  // namespace foretrain
