// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for training logs. Whatever a file holds, it becomes a run whose figures are
// sound and whose record is read back, or a diagnostic.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "calibration/records/run_record.hpp"
#include "calibration/training_logs/log_record.hpp"
#include "calibration/training_logs/read_training_log.hpp"
#include "scenarios/yaml/yaml_tree.hpp"
#include "tests/fuzz/promises.hpp"

using foretrain::fuzz::check_printable;
using foretrain::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  foretrain::Diagnostics diagnostics;
  const foretrain::TrainingLog log =
      foretrain::read_training_log_text(text, "fuzz.log", diagnostics);
  for (const foretrain::Diagnostic& diagnostic : diagnostics.items())
    check_printable(diagnostic.text());
  if (!diagnostics.empty()) return 0;
  require(log.iterations >= 0, "iterations are counted");
  if (log.step) {
    require(std::isfinite(log.step->median) && log.step->median > 0.0, "a step takes time");
    require(log.step->p10 <= log.step->p90, "percentiles are in order");
  }
  for (const foretrain::LogEvent& event : log.events) check_printable(event.what);
  for (const auto naming : {foretrain::LogNaming::file, foretrain::LogNaming::anonymous}) {
    foretrain::Diagnostics again;
    const auto tree = foretrain::parse_yaml(foretrain::log_record_text(log, naming), "mine.yaml",
                                            foretrain::run_record_limits(), again);
    require(tree.has_value(), "a record is YAML");
    require(foretrain::read_run_records(*tree, "mine.yaml", again).size() == 1 && again.empty(),
            "a record is read back");
  }
  return 0;
}
