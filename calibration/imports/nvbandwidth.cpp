// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/imported_log.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/imports/json_document.hpp"
#include "calibration/imports/record_text.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// One matrix of nvbandwidth: rows and columns are the host or GPUs.
struct LinkMatrix {
  std::string test;   ///< "device_to_device_memcpy_read_ce"
  std::string title;  ///< "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)"
  int line = 0;
  std::vector<std::vector<std::optional<double>>> rows;
  std::vector<int> lines;  ///< of the rows
};

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

/// Adds the matrix's links to the log. A unit other than GB/s and ns, rows of different lengths,
/// and a sum that is not the matrix's are flagged and the matrix is left out.
/// @param sum as the tool prints it; nothing: it does not
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

/// Sets the log's product from "NVIDIA H100 80GB HBM3 (00000000:1b:00.0)"; GPUs of several products
/// become a diagnostic.
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

constexpr std::size_t most_columns = 1024;

std::string_view behind(std::string_view text, std::string_view start) {
  return text.starts_with(start) ? trimmed(text.substr(start.size())) : std::string_view{};
}

class BandwidthReader {
 public:
  BandwidthReader(ImportedLog& log, Diagnostics& diagnostics)
      : log_{log}, diagnostics_{diagnostics} {}

  void read(const std::string& text) {
    for (const LogLine& line : log_lines(text)) take(line.number, trimmed(line.text));
    if (open_)
      log_.flagged.push_back(
          {matrix_.line, false,
           plain_text(matrix_.test, 60) + ": the log ends before the sum: it was cut"});
  }

 private:
  void take(int line, std::string_view text) {
    if (const auto test = behind(text, "Running "); !test.empty()) return start(line, test);
    if (const auto driver = behind(text, "Driver Version:"); !driver.empty())
      log_.facts.driver = plain_text(driver, 40);
    if (const auto cuda = behind(text, "CUDA Runtime Version:"); !cuda.empty())
      log_.facts.library = "CUDA " + plain_text(blank_words(cuda).front(), 20);
    if (text.starts_with("Device ") && text.find(": ") != std::string_view::npos) {
      const auto words = blank_words(text);
      if (words.size() >= 3 && words[1].ends_with(':') &&
          whole_in(words[1].substr(0, words[1].size() - 1)))
        return add_link_device(std::string(text.substr(text.find(": ") + 2)), line, log_,
                               diagnostics_);
    }
    if (text.starts_with("SUM ")) return finish(text);
    if (open_) take_matrix(line, text);
  }

  void start(int line, std::string_view test) {
    if (open_ && !matrix_.rows.empty())
      log_.flagged.push_back({matrix_.line, false,
                              plain_text(matrix_.test, 60) + ": there is no sum: the log is cut"});
    matrix_ = {};
    matrix_.test = plain_text(test.ends_with('.') ? test.substr(0, test.size() - 1) : test, 80);
    matrix_.line = line;
    columns_ = 0;
    open_ = true;
  }

  void take_matrix(int line, std::string_view text) {
    if (text.starts_with("memcpy") || text.starts_with("memory") || text.starts_with("mem")) {
      matrix_.title = plain_text(text, 120);
      matrix_.line = line;
      return;
    }
    const auto words = blank_words(text);
    if (matrix_.title.empty() || words.empty() || !whole_in(words.front())) return;
    if (columns_ == 0) {
      columns_ = words.size();
      return;
    }
    std::vector<std::optional<double>> row;
    for (std::size_t i = 1; i < words.size() && i <= most_columns; ++i) {
      row.push_back(number_in(words[i]));
      if (!row.back() && words[i] != "N/A")
        log_.flagged.push_back({line, true, in_quotes(words[i]) + " is not a number or N/A"});
    }
    if (row.size() != columns_)
      log_.flagged.push_back({line, true, "the row has another number of columns than the head"});
    matrix_.rows.push_back(std::move(row));
    matrix_.lines.push_back(line);
  }

  void finish(std::string_view text) {
    if (!open_) return;
    open_ = false;
    const auto words = blank_words(text);
    const auto sum = words.size() >= 3 ? number_in(words[2]) : std::nullopt;
    if (!sum) {
      log_.flagged.push_back(
          {matrix_.line, false, plain_text(matrix_.test, 60) + ": the sum is not a number"});
      return;
    }
    add_link_matrix(matrix_, sum, log_);
  }

  ImportedLog& log_;
  Diagnostics& diagnostics_;
  LinkMatrix matrix_;
  std::size_t columns_ = 0;
  bool open_ = false;
};

ImportedLog empty_log(const std::string& file, LogFormat format) {
  ImportedLog log;
  log.file = file;
  log.format = format;
  log.facts.tool = "nvbandwidth";
  return log;
}

/// Where the log lists no device, the options name it.
void name_device(const ImportOptions& options, ImportedLog& log) {
  if (!log.facts.gpu.empty() || options.gpu.empty()) return;
  log.facts.gpu = options.gpu;
  log.facts.device = device_of_product(options.gpu);
}

void read_testcase(const JsonValue& testcase, ImportedLog& log) {
  LinkMatrix matrix;
  matrix.test = plain_text(testcase.text_of("name"), 80);
  matrix.line = testcase.line;
  matrix.title = plain_text(testcase.text_of("bandwidth_description"), 120);
  const std::string status = testcase.text_of("status");
  if (status == "Waived") return;
  if (status != "Passed") {
    log.flagged.push_back(
        {testcase.line, false, matrix.test + ": the status is " + in_quotes(status)});
    return;
  }
  const JsonValue* const rows = testcase.find("bandwidth_matrix");
  if (rows == nullptr) return;
  for (const JsonValue& row : rows->items) {
    std::vector<std::optional<double>> cells;
    for (const JsonValue& cell : row.items) {
      cells.push_back(cell.as_number());
      if (!cells.back() && cell.text != "N/A")
        log.flagged.push_back({cell.line, true, in_quotes(cell.text) + " is not a number or N/A"});
    }
    matrix.rows.push_back(std::move(cells));
    matrix.lines.push_back(row.line);
  }
  add_link_matrix(matrix, testcase.number_of("sum"), log);
}

}  // namespace

ImportedLog import_nvbandwidth(const std::string& text, const std::string& file,
                               const ImportOptions& options, Diagnostics& diagnostics) {
  ImportedLog log = empty_log(file, LogFormat::nvbandwidth);
  BandwidthReader(log, diagnostics).read(text);
  name_device(options, log);
  return log;
}

ImportedLog import_nvbandwidth_json(const std::string& text, const std::string& file,
                                    const ImportOptions& options, Diagnostics& diagnostics) {
  ImportedLog log = empty_log(file, LogFormat::nvbandwidth_json);
  const auto document = parse_json(text, file, diagnostics);
  if (!document) return log;
  const JsonValue* const root = document->find("nvbandwidth");
  const JsonValue* const testcases = root == nullptr ? nullptr : root->find("testcases");
  if (testcases == nullptr || !testcases->is_list()) {
    report(file, document->line, "there is no list nvbandwidth.testcases", diagnostics);
    return log;
  }
  log.facts.driver = plain_text(root->text_of("Driver Version"), 40);
  if (const auto cuda = root->number_of("CUDA Runtime Version"))
    log.facts.library =
        "CUDA " + plain_text(std::to_string(static_cast<long>(*cuda < 1e9 ? *cuda : 0.0)), 20);
  if (const JsonValue* const devices = root->find("GPU Device list"))
    for (const JsonValue& device : devices->items) {
      const auto colon = device.text.find(": ");
      add_link_device(device.text.substr(colon == std::string::npos ? 0 : colon + 2), device.line,
                      log, diagnostics);
    }
  for (const JsonValue& testcase : testcases->items) read_testcase(testcase, log);
  name_device(options, log);
  return log;
}

}  // namespace foretrain
