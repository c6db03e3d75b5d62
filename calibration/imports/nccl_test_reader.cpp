// SPDX-License-Identifier: Apache-2.0

#include "calibration/imports/internal/nccl_test_reader.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "calibration/imports/imported_log.hpp"
#include "calibration/imports/json_document.hpp"
#include "calibration/imports/record_text.hpp"
#include "calibration/imports/sweep_row.hpp"

namespace foretrain {
namespace {

/// The word after one of that name.
std::string_view after(const std::vector<std::string_view>& words, std::string_view name) {
  const auto found = std::ranges::find(words, name);
  if (found == words.end() || found + 1 == words.end()) return {};
  return *(found + 1);
}

}  // namespace

bool RankList::take(int line, std::string_view text) {
  const auto words = blank_words(text);
  if (words.size() < 6 || words[0] != "#" || words[1] != "Rank" || !whole_in(words[2]))
    return false;
  const auto bus = text.find(']');
  const std::string_view product =
      bus == std::string_view::npos ? std::string_view{} : trimmed(text.substr(bus + 1));
  const auto group = whole_in(after(words, "Group")).value_or(0.0);
  add(line, static_cast<int>(std::min(group, 1e6)), plain_text(after(words, "on")),
      plain_text(product));
  return true;
}

void RankList::add(int line, int group, const std::string& host, const std::string& product) {
  if (closed_) {  // the list of another run in the same file
    hosts_.clear();
    products_.clear();
    groups_.clear();
    count_ = 0;
    closed_ = false;
  }
  ++count_;
  line_ = line;
  hosts_.insert(host);
  if (!product.empty()) products_.insert(product);
  groups_.insert(group);
}

bool RankList::close(int line, const ImportOptions& options) {
  const auto refuse = [&](std::string why) {
    report(log_.file, line_ > 0 ? line_ : line, std::move(why), diagnostics_);
    return false;
  };
  closed_ = true;
  if (count_ == 0) return true;
  if (products_.size() > 1)
    return refuse("ranks run on different GPUs: " + joined({products_.begin(), products_.end()}));
  if (groups_.size() > 1)
    return refuse(
        fmt::format("{} groups ran at once (NCCL_TESTS_SPLIT): their rows say nothing "
                    "about one group alone",
                    groups_.size()));
  const int hosts = static_cast<int>(hosts_.size());
  if (count_ % hosts != 0)
    return refuse(
        fmt::format("{} ranks on {} hosts are not the same number on each", count_, hosts));
  const std::string product = products_.empty() ? "" : *products_.begin();
  log_.facts.gpu = product;
  log_.facts.device = device_of_product(product);
  log_.facts.gpus = count_;
  log_.facts.nodes = hosts;
  // Containers on one machine may have names of their own; the options decide.
  if (options.nodes > 0) log_.facts.nodes = options.nodes;
  return true;
}

namespace {

std::string operation_of(const JsonValue& root) {
  const JsonValue* const arguments = root.find("args");
  if (arguments == nullptr || arguments->items.empty()) return "";
  std::string program = arguments->items.front().text;
  program = program.substr(program.find_last_of('/') + 1);
  const auto end = program.find("_perf");
  return end == std::string::npos ? "" : program.substr(0, end);
}

class JsonReader : private NcclTestReader {
 public:
  using NcclTestReader::NcclTestReader;

  void read(const JsonValue& root) {
    log_.facts.date = date_in(root.text_of("start_time"));
    if (const auto version = root.number_of("nccl_version");
        version && *version < 1e6 && *version > 0)
      log_.facts.library = "NCCL " + nccl_version_text(static_cast<int>(*version));
    const JsonValue* const results = root.find("results");
    if (results == nullptr || !results->is_list())
      return report(log_.file, root.line, "there is no list \"results\" of measurements",
                    diagnostics_);
    if (!read_devices(root)) return;
    base_.source = source_of(log_);
    base_.collective = options_.collective.empty() ? operation_of(root) : options_.collective;
    if (!complete_base(options_, log_, root.line, base_, diagnostics_)) return;
    if (!nccl_bus_factor(base_.collective, 2.0))
      return report(log_.file, root.line,
                    "the log does not say which collective it is of; name it (--collective)",
                    diagnostics_);
    base_.sweep = fmt::format("{}-{}x{}-{}", base_.collective, base_.nodes, base_.gpus_per_node,
                              stem_of(log_.file));
    for (const JsonValue& result : results->items) read_result(result);
    check_end(root);
  }

 private:
  bool read_devices(const JsonValue& root) {
    const JsonValue* const devices = root.find("devices");
    if (devices != nullptr)
      for (const JsonValue& device : devices->items) {
        const double group = device.number_of("group").value_or(0.0);
        ranks_.add(device.line, static_cast<int>(std::clamp(group, 0.0, 1e6)),
                   plain_text(device.text_of("hostname")),
                   plain_text(device.text_of("device_info")));
      }
    return ranks_.close(root.line, options_);
  }

  void read_result(const JsonValue& result) {
    const auto size = result.number_of("size");
    if (!size || *size < 0.0 || std::floor(*size) != *size)
      return flag(result.line, "a result without a size in bytes");
    if (*size == 0.0) return;
    take_size(result.line, *size);
    for (const char* const where : {"out_of_place", "in_place"})
      if (const JsonValue* const place = result.find(where); place != nullptr && place->is_object())
        read_place(*place, *size, where);
  }

  void read_place(const JsonValue& place, double size, const char* where) {
    auto time = place.number_of("time");
    if (!time) time = place.number_of("cpu_time");
    if (!time || *time <= 0.0)
      return flag(place.line, fmt::format("{}: no time above zero", where));
    const JsonValue* const wrong = place.find("nwrong");
    if (wrong != nullptr && wrong->kind != JsonValue::Kind::null && wrong->as_number() != 0.0)
      return flag(place.line, fmt::format("{}: elements came out wrong", where));
    const double digit = 1e-6;  // nccl-tests writes six decimals
    const SweepLine row{size,  *time, place.number_of("alg_bw"), place.number_of("bus_bw"),
                        digit, digit};
    if (!row.algbw_gbs || !row.busbw_gbs)
      return flag(place.line, fmt::format("{}: alg_bw and bus_bw are not two numbers", where));
    if (keep(place.line, where, row, std::string_view(where) == "in_place"))
      average_.add(*row.busbw_gbs);
  }

  /// What nccl-tests writes last; without it, the file was cut and mended.
  void check_end(const JsonValue& root) {
    const JsonValue* const average = root.find("average_bus_bandwidth");
    if (average == nullptr)
      return flag(root.line,
                  "there is no average_bus_bandwidth, which closes a test: larger sizes may be "
                  "missing",
                  true);
    const auto value = average->number_of("bandwidth");
    const std::string wrong = value ? average_.contradiction(*value) : "";
    if (!wrong.empty()) flag(average->line, wrong);
  }
};

}  // namespace

ImportedLog import_nccl_tests_json(const std::string& text, const std::string& file,
                                   const ImportOptions& options, Diagnostics& diagnostics) {
  ImportedLog log;
  log.file = file;
  log.format = LogFormat::nccl_tests_json;
  log.facts.tool = "nccl-tests";
  if (const auto root = parse_json(text, file, diagnostics))
    JsonReader(log, options, diagnostics).read(*root);
  return log;
}

}  // namespace foretrain
