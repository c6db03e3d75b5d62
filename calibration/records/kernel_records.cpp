// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/kernel_records.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "calibration/records/csv_table.hpp"
#include "calibration/records/internal/words.hpp"

namespace foretrain {
namespace {

struct NumberColumn {
  std::string_view name;
  std::optional<double> KernelRecord::*member;
};
constexpr std::array<NumberColumn, 5> numbers{{{"m", &KernelRecord::m},
                                               {"n", &KernelRecord::n},
                                               {"tflops", &KernelRecord::tflops},
                                               {"gbs", &KernelRecord::gbs},
                                               {"time_us", &KernelRecord::time_us}}};

}  // namespace

std::string KernelRecord::family() const { return family_of(source); }

std::vector<KernelRecord> read_kernel_records(const std::string& text, const std::string& file,
                                              Diagnostics& diagnostics) {
  const CsvTable table = read_csv(text, file,
                                  {"id", "source", "op", "gpu", "dtype", "m", "n", "k_or_shape",
                                   "tflops", "gbs", "time_us", "note"},
                                  diagnostics);
  std::vector<KernelRecord> records;
  for (const CsvRow& row : table.rows) {
    const auto word = [&](std::string_view column) { return table.cell(row, column); };
    KernelRecord record;
    record.id = "kernel-" + word("id");
    record.source = word("source");
    record.op = word("op");
    record.gpu = word("gpu");
    record.dtype = word("dtype");
    record.shape = word("k_or_shape");
    record.note = word("note");
    bool legal = true;
    for (const NumberColumn& column : numbers) {
      const std::string& cell = table.cell(row, column.name);
      std::optional<double>& value = record.*(column.member);
      if (read_number(cell, value) && (!value || *value > 0.0)) continue;
      legal = false;
      diagnostics.add(Diagnostic{
          file, row.line, 1, "",
          std::string(column.name) + ": " + in_quotes(cell) + " is not a positive number or null"});
    }
    if (legal) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace foretrain
