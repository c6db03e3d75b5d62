// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "calibration/imports/import_log.hpp"
#include "calibration/imports/log_text.hpp"
#include "calibration/records/run_record.hpp"

namespace foretrain {
namespace {

/// The one device that all records are of; empty where they differ.
template <class Records>
std::string common_device(const Records& records) {
  std::set<std::string> devices;
  for (const auto& record : records) devices.insert(device_of_product(record.gpu));
  return devices.size() == 1 ? *devices.begin() : "";
}

}  // namespace

ImportedLog import_records(const std::string& text, const std::string& file, LogFormat format,
                           Diagnostics& diagnostics) {
  ImportedLog log;
  log.file = file;
  log.format = format;
  log.facts.tool = "records";
  if (format == LogFormat::kernel_table) {
    log.kernels = read_kernel_records(text, file, diagnostics);
    log.facts.device = common_device(log.kernels);
  } else if (format == LogFormat::sweep_table) {
    log.sweeps = read_sweep_records(text, file, diagnostics);
    log.facts.device = common_device(log.sweeps);
  } else {
    const auto document = parse_yaml(text, file, run_record_limits(), diagnostics);
    if (document && !read_run_records(*document, file, diagnostics).empty()) log.run_records = text;
  }
  return log;
}

}  // namespace foretrain
