// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/link_matrix.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "calibration/imports/log_text.hpp"

namespace foretrain {
namespace {

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// What the test measures, by its name; "" is nothing that a cluster's links are priced by.
std::string kind_of(const std::string& test) {
  const std::string both = holds(test, "bidirectional") ? "-both-ways" : "";
  const std::string many = test.starts_with("all_") || holds(test, "_all_") ? "-all-at-once" : "";
  if (holds(test, "latency")) return "latency";
  if (holds(test, "host_to_device") || holds(test, "host_to_all"))
    return "host-to-device" + both + many;
  if (holds(test, "device_to_host") || holds(test, "all_to_host"))
    return "device-to-host" + both + many;
  if (holds(test, "device_to_device")) return "peer" + both + many;
  if (holds(test, "local_copy")) return "local-copy";
  return "other" + both + many;
}

}  // namespace

namespace {

/// Why a matrix is not taken, and where; nothing where it is whole.
struct MatrixFault {
  int line = 0;
  std::string what;
};

std::optional<MatrixFault> fault_of(const LinkMatrix& matrix, std::optional<double> sum) {
  if (holds(matrix.title, "(GB/s)") == holds(matrix.title, "(ns)"))
    return MatrixFault{matrix.line,
                       "the unit of " + in_quotes(matrix.title) + " is not GB/s or ns"};
  if (matrix.rows.empty()) return MatrixFault{matrix.line, "there is no row: the log is cut"};
  double total = 0.0;
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    if (matrix.rows[i].size() != matrix.rows.front().size())
      return MatrixFault{matrix.lines[i], "rows have different lengths: the log is cut or damaged"};
    for (const auto& cell : matrix.rows[i]) total += cell.value_or(0.0);
  }
  if (sum && std::abs(total - *sum) > 0.01 * std::abs(*sum) + 0.05)
    return MatrixFault{matrix.line, fmt::format("the sum is {:g}, that of the rows {:.5g}: rows "
                                                "are missing or changed",
                                                *sum, total)};
  return std::nullopt;
}

/// What the rows and columns of a matrix are.
struct MatrixAxes {
  bool between = false;   ///< from a GPU to a GPU
  bool gpu_rows = false;  ///< a GPU per row
};

MatrixAxes axes_of(const LinkMatrix& matrix) {
  const bool rows = holds(matrix.title, "GPU(row)");
  const bool between = rows && holds(matrix.title, "GPU(column)");
  return {between, rows && !between && matrix.rows.size() > 1};
}

std::string link_of(const MatrixAxes& axes, std::size_t row, std::size_t column) {
  return axes.between ? fmt::format("GPU {} - GPU {}", row, column)
                      : fmt::format("GPU {}", axes.gpu_rows ? row : column);
}

}  // namespace

void add_link_matrix(const LinkMatrix& matrix, std::optional<double> sum, ImportedLog& log) {
  if (const auto fault = fault_of(matrix, sum)) {
    log.flagged.push_back(
        {fault->line, false, fmt::format("{}: {}", plain_text(matrix.test, 60), fault->what)});
    return;
  }
  const bool rates = holds(matrix.title, "(GB/s)");
  const MatrixAxes axes = axes_of(matrix);
  const std::string kind = kind_of(matrix.test);
  for (std::size_t i = 0; i < matrix.rows.size(); ++i)
    for (std::size_t j = 0; j < matrix.rows[i].size(); ++j) {
      const auto& cell = matrix.rows[i][j];
      if (!cell || *cell <= 0.0) continue;  // "N/A", and the diagonal of older releases
      LinkRate link;
      link.kind = kind;
      link.link = link_of(axes, i, j);
      (rates ? link.gbs : link.time_us) = rates ? *cell : *cell * 1e-3;
      link.line = matrix.lines[i];
      log.links.push_back(std::move(link));
    }
}

void add_link_device(const std::string& text, int line, ImportedLog& log,
                     Diagnostics& diagnostics) {
  const std::string product = plain_text(trimmed(text.substr(0, text.find('('))), 80);
  if (!log.facts.gpu.empty() && log.facts.gpu != product)
    return report(
        log.file, line,
        "GPUs of several models: " + in_quotes(log.facts.gpu) + " and " + in_quotes(product),
        diagnostics);
  log.facts.gpu = product;
  log.facts.device = device_of_product(product);
  ++log.facts.gpus;
}

}  // namespace foretrain
