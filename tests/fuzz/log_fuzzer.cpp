// SPDX-License-Identifier: Apache-2.0
// libFuzzer target for one reader of measured logs, FORETRAIN_FUZZ_FORMAT. Whatever a log holds,
// it becomes records that are sound, rows flagged with their line, or a diagnostic.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "calibration/imports/import_log.hpp"
#include "calibration/imports/record_text.hpp"
#include "tests/fuzz/promises.hpp"

using foretrain::fuzz::check_printable;
using foretrain::fuzz::require;

namespace {

bool positive(const std::optional<double>& value) {
  return !value || (std::isfinite(*value) && *value > 0.0);
}

void check_log(const foretrain::ImportedLog& log) {
  for (const foretrain::SweepRecord& record : log.sweeps) {
    require(record.time_us && positive(record.time_us), "a collective has a time");
    require(record.size_bytes > 0.0 && record.nodes > 0 && record.gpus_per_node > 0,
            "a collective has a size and ranks");
  }
  for (const foretrain::KernelRecord& record : log.kernels)
    require(positive(record.time_us) && positive(record.gbs) && positive(record.m) &&
                positive(record.n),
            "figures of a kernel are above zero");
  for (const foretrain::LinkRate& link : log.links)
    require((link.gbs || link.time_us) && positive(link.gbs) && positive(link.time_us),
            "a link has a rate or a time");
  for (const foretrain::LoggedRun& run : log.runs)
    require(std::isfinite(run.step_s) && run.step_s > 0.0, "a run has a step time");
  for (const foretrain::FlaggedRow& row : log.flagged) {
    require(row.line >= 0 && !row.what.empty(), "a flagged row has a reason");
    check_printable(row.what);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  foretrain::ImportOptions options;
  // One half of the inputs meets a machine that is told, the other one that the log must tell.
  if (size % 2 == 0) {
    options.gpu = "h100-sxm5-80gb";
    options.nodes = 1;
    options.gpus_per_node = 8;
  }
  foretrain::Diagnostics diagnostics;
  const foretrain::ImportedLog log = foretrain::import_log(
      text, "fuzz.log", foretrain::LogFormat::FORETRAIN_FUZZ_FORMAT, options, diagnostics);
  for (const foretrain::Diagnostic& diagnostic : diagnostics.items())
    check_printable(diagnostic.text());
  if (!diagnostics.empty()) return 0;
  check_log(log);
  static_cast<void>(foretrain::detect_format(text));
  // What an import writes is read again, without a complaint.
  foretrain::Diagnostics again;
  if (!log.kernels.empty())
    require(foretrain::import_log(foretrain::kernel_table_text({log}), "kernels.csv",
                                  foretrain::LogFormat::kernel_table, {}, again)
                    .kernels.size() == log.kernels.size() + log.links.size(),
            "written kernels are read back");
  if (!log.sweeps.empty())
    require(foretrain::import_log(foretrain::sweep_table_text({log}), "sweeps.csv",
                                  foretrain::LogFormat::sweep_table, {}, again)
                    .sweeps.size() == log.sweeps.size(),
            "written sweeps are read back");
  require(again.empty(), "written records have no errors");
  return 0;
}
