// SPDX-License-Identifier: Apache-2.0

#include "planner/sweep/sweep_row.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "planner/study/study_of.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

void refuse_double(const std::vector<std::string>& paths) {
  if (paths.empty()) throw UsageError("--metrics: no name is given");
  for (const std::string& path : paths)
    if (std::ranges::count(paths, path) > 1)
      throw UsageError("--metrics: " + path + " is listed twice");
}

[[noreturn]] void refuse_unknown(const std::string& path, const std::vector<std::string>& known) {
  throw UsageError("--metrics: " + in_quotes(path) +
                   " is not a number of the forecast (foretrain explain SCENARIO lists them)" +
                   nearest_hint(path, known));
}

}  // namespace

bool more_is_better(std::string_view path) {
  if (const auto found = quantities().find(path)) return found->quantity->more_is_better;
  for (const Work work : {Work::serving, Work::post_training}) {
    const auto figures = study_figures(work);
    const StudyFigure* figure = find_figure(figures, path);
    if (figure != nullptr && figure->path == path) return figure->more_is_better;
  }
  return false;
}

std::vector<std::string> default_metrics(Work work) {
  if (work != Work::training) {
    const std::vector<StudyFigure> figures = study_figures(work);
    std::vector<std::string> leading{ranking(figures).path};
    for (const StudyFigure& figure : figures)
      if (figure.leads && !figure.ranks) leading.push_back(figure.path);
    return leading;
  }
  return {"step.time_s",       "step.low_s",  "step.high_s",    "mfu",     "tokens_per_s",
          "memory.peak_bytes", "run.ideal_s", "cost.gpu_hours", "cost.usd"};
}

std::vector<std::string> split_metrics(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char c : list) {
    if (c == ',')
      names.emplace_back();
    else if (c != ' ')
      names.back() += c;
  }
  if (contains(names, ""))
    throw UsageError("--metrics: a name is empty; write for example step.time_s,mfu");
  return names;
}

SweepMetrics::SweepMetrics(std::vector<std::string> paths, const Quantities& table)
    : paths_(std::move(paths)) {
  refuse_double(paths_);
  for (const std::string& path : paths_) {
    const auto found = table.find(path);
    if (!found || !found->quantity->is_number() || path.starts_with("provenance."))
      refuse_unknown(path, table.number_paths());
    metrics_.push_back(*found);
  }
}

SweepMetrics::SweepMetrics(std::vector<std::string> paths, Work work) : paths_(std::move(paths)) {
  refuse_double(paths_);
  std::vector<std::string> known;
  for (const StudyFigure& figure : study_figures(work)) known.push_back(figure.path);
  for (const std::string& path : paths_)
    if (!contains(known, path)) refuse_unknown(path, known);
}

std::vector<std::optional<double>> SweepMetrics::of(const Study& study) const {
  std::vector<std::optional<double>> result;
  for (const std::string& path : paths_) result.push_back(find_figure(study.figures, path)->value);
  return result;
}

std::vector<std::optional<double>> SweepMetrics::of(const Prediction& prediction) const {
  std::vector<std::optional<double>> result;
  for (const QuantityAt& metric : metrics_) result.push_back(metric.number(prediction));
  return result;
}

namespace {

template <class T>
void put(std::string& bytes, T value) {
  std::array<char, sizeof(T)> raw;
  std::memcpy(raw.data(), &value, sizeof(T));
  bytes.append(raw.data(), raw.size());
}

void put_text(std::string& bytes, const std::string& text) {
  put(bytes, static_cast<std::uint32_t>(text.size()));
  bytes += text;
}

/// Reads the fields of one row, in the order that they were put.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  template <class T>
  T take() {
    FORETRAIN_REQUIRE(rest_.size() >= sizeof(T));
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_.remove_prefix(sizeof(T));
    return value;
  }

  std::string take_text() {
    const auto size = take<std::uint32_t>();
    FORETRAIN_REQUIRE(rest_.size() >= size);
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }

 private:
  std::string_view rest_;
};

SweepRow decode_row(std::string_view bytes) {
  Fields fields(bytes);
  SweepRow row;
  row.point = fields.take<std::int64_t>();
  row.status = static_cast<PointStatus>(fields.take<std::int32_t>());
  row.hash = fields.take_text();
  row.rule = fields.take_text();
  row.reason = fields.take_text();
  row.metrics.resize(fields.take<std::uint32_t>());
  for (auto& metric : row.metrics)
    if (fields.take<char>() != 0) metric = fields.take<double>();
  return row;
}

}  // namespace

void encode_row(const SweepRow& row, std::string& bytes) {
  const std::size_t start = bytes.size();
  put(bytes, std::uint32_t{0});
  put(bytes, row.point);
  put(bytes, static_cast<std::int32_t>(row.status));
  put_text(bytes, row.hash);
  put_text(bytes, row.rule);
  put_text(bytes, row.reason);
  put(bytes, static_cast<std::uint32_t>(row.metrics.size()));
  for (const auto& metric : row.metrics) {
    put(bytes, metric ? '\1' : '\0');
    if (metric) put(bytes, *metric);
  }
  const auto length = static_cast<std::uint32_t>(bytes.size() - start - sizeof(std::uint32_t));
  std::memcpy(bytes.data() + start, &length, sizeof(length));
}

std::vector<SweepRow> decode_rows(std::string& bytes) {
  std::vector<SweepRow> rows;
  std::string_view rest = bytes;
  std::uint32_t length = 0;
  while (rest.size() >= sizeof(length)) {
    std::memcpy(&length, rest.data(), sizeof(length));
    if (rest.size() - sizeof(length) < length) break;
    rows.push_back(decode_row(rest.substr(sizeof(length), length)));
    rest.remove_prefix(sizeof(length) + length);
  }
  bytes.erase(0, bytes.size() - rest.size());
  return rows;
}

}  // namespace foretrain
