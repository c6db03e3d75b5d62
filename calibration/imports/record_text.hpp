// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/imports/imported_log.hpp"
#include "models/base/text.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Records in the format of calibration/measured/kernels.csv. Links are rows as well: operations
/// "link_KIND", the link in the shape.
[[nodiscard]] std::string kernel_table_text(const std::vector<ImportedLog>& logs);

/// Records in the format of calibration/measured/nccl_sweeps.csv, with the columns host, fabric and
/// note behind it.
[[nodiscard]] std::string sweep_table_text(const std::vector<ImportedLog>& logs);

/// Runs in the format of calibration/measured/runs.yaml; what logs do not say is null, for their
/// owner to fill in.
[[nodiscard]] std::string run_records_text(const std::vector<ImportedLog>& logs);

/// One line of a log, without its end and without the "12: " that srun's --label puts before it.
struct LogLine {
  int number = 0;
  std::string_view text;
};
[[nodiscard]] std::vector<LogLine> log_lines(std::string_view text);

/// A decimal number and nothing else; nothing for "nan", "inf" and what does not fit.
[[nodiscard]] std::optional<double> number_in(std::string_view text);
/// A whole number from 0 to 2^53 and nothing else.
[[nodiscard]] std::optional<double> whole_in(std::string_view text);

/// "2026-11-21" where the text begins with a date; empty: it does not.
[[nodiscard]] std::string date_in(std::string_view text);
/// The day of a time since 1970, in UTC. @pre 0 <= seconds < 4e9
[[nodiscard]] std::string date_of_seconds(double seconds);
/// 22606 as "2.26.6", 2708 as "2.7.8": ncclGetVersion's numbers.
[[nodiscard]] std::string nccl_version_text(int version);

/// The file's name without folder and ending, of characters that ids may have.
[[nodiscard]] std::string stem_of(const std::string& file);

/// Reports an error of a log.
void report(const std::string& file, int line, std::string what, Diagnostics& diagnostics);

/// Text for a note or a remark: one line, printable, at most `most` characters.
[[nodiscard]] std::string plain_text(std::string_view text, std::size_t most = 120);

/// The source column of records: "gpubench@2026-11-21 driver 580.65 (node17.jsonl)".
[[nodiscard]] std::string source_of(const ImportedLog& log);

/// Value behind "key=" in a note of blank-separated pairs; nothing: there is none.
[[nodiscard]] std::optional<std::string> note_text(const std::string& note, std::string_view key);
[[nodiscard]] std::optional<double> note_number(const std::string& note, std::string_view key);

}  // namespace foretrain
