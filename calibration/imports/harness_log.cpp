// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/imported_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "calibration/imports/json_document.hpp"
#include "calibration/imports/record_text.hpp"
#include "calibration/imports/sweep_row.hpp"

namespace foretrain {
namespace {

/// The state that gpubench writes with every record, as note words.
std::string state_note(const JsonValue& line) {
  std::string note;
  for (const auto& [member, word] : {std::pair{"sm_clock_mhz", "clock"},
                                     {"power_w", "power"},
                                     {"temperature_c", "temperature"},
                                     {"throttle_reasons", "throttle"},
                                     {"spread", "spread"},
                                     {"count", "count"}})
    if (const auto value = line.number_of(member)) note += fmt::format(" {}={:g}", word, *value);
  return note;
}

std::string sweep_name_of(const std::string& op) {
  if (op == "all_to_all") return "alltoall";
  if (op == "send_receive") return "sendrecv";
  return op;
}

class HarnessReader {
 public:
  HarnessReader(ImportedLog& log, const ImportOptions& options, Diagnostics& diagnostics)
      : log_{log}, options_{options}, diagnostics_{diagnostics} {}

  void read(const std::string& text) {
    const std::size_t before = diagnostics_.count();
    for (const LogLine& line : log_lines(text)) {
      if (trimmed(line.text).empty()) continue;
      Diagnostics own;
      const auto value = parse_json(line.text, log_.file, own, line.number);
      if (value && value->is_object())
        take(*value);
      else
        flag(line.number, value ? "the line is not a JSON object" : own.items().front().message);
      if (diagnostics_.count() != before) return;
    }
    finish();
  }

 private:
  void take(const JsonValue& line) {
    const std::string record = line.text_of("record");
    if (record == "device") return take_device(line);
    if (record == "coverage") return take_coverage(line);
    if (record == "skipped") {
      ++skipped_;
      return;
    }
    if (record == "run" || record == "overlap") return;
    const JsonValue* const passed = line.find("check_passed");
    if (passed != nullptr && !passed->truth)
      return flag(line.line, record + ": the result came out wrong");
    if (record == "gemm") return take_product(line);
    if (record == "memory_kernel") return take_stream(line);
    if (record == "copy") return take_copy(line);
    if (record == "launch") return take_launch(line);
    if (record == "attention") return take_attention(line);
    if (record == "collective") return take_collective(line);
    if (record == "interference" || record == "optimizer") return take_other(line, record);
    flag(line.line, "there is no record " + in_quotes(record) + " in these files");
  }

  void take_device(const JsonValue& line) {
    LogFacts& facts = log_.facts;
    const std::string schema = line.text_of("schema");
    const std::string product = plain_text(line.text_of("name"), 80);
    if (!facts.gpu.empty() && facts.gpu != product)
      return report(log_.file, line.line,
                    "the file holds measurements of " + in_quotes(facts.gpu) + " and of " +
                        in_quotes(product),
                    diagnostics_);
    if (schema != "gpubench/1" && schema != "ncclbench/1" && schema != "torch_step/1")
      return report(log_.file, line.line,
                    "the schema " + in_quotes(schema) +
                        " is not one that this version reads: gpubench/1, ncclbench/1",
                    diagnostics_);
    facts.tool = schema.substr(0, schema.find('/'));
    facts.gpu = product;
    facts.device = device_of_product(product);
    facts.driver = plain_text(line.text_of("driver"), 40);
    if (facts.date.empty()) facts.date = date_in(line.text_of("date"));
    if (const auto cuda = line.number_of("cuda_runtime"); cuda && *cuda > 0.0 && *cuda < 1e6)
      facts.library = fmt::format("CUDA {}.{}", static_cast<int>(*cuda) / 1000,
                                  static_cast<int>(*cuda) % 1000 / 10);
    if (const auto nccl = line.number_of("nccl"); nccl && *nccl > 0.0 && *nccl < 1e6)
      facts.library = "NCCL " + nccl_version_text(static_cast<int>(*nccl));
    facts.power_limit_w = line.number_of("power_limit_w");
    facts.highest_clock_mhz = line.number_of("highest_sm_clock_mhz");
    if (const auto ranks = line.number_of("ranks"); ranks && *ranks >= 1.0 && *ranks <= 1e6) {
      facts.gpus = static_cast<int>(*ranks);
      // Processes of one GPU each may be on any host; the options say on how many.
      const bool one_process = line.number_of("gpus_per_process") == *ranks;
      facts.nodes = one_process ? 1 : 0;
    }
    ++devices_;
  }

  void take_coverage(const JsonValue& line) {
    const auto measured = line.number_of("measured");
    const auto cases = line.number_of("cases");
    if (!measured || !cases || *measured >= *cases) return;
    log_.remarks.push_back(fmt::format("{:.0f} of {:.0f} cases of {} fitted into the budget",
                                       *measured, *cases, plain_text(line.text_of("group"), 40)));
  }

  /// A number above zero under that name; flags the line where there is none.
  std::optional<double> positive(const JsonValue& line, const char* name) {
    const auto value = line.number_of(name);
    if (value && *value > 0.0) return value;
    flag(line.line, fmt::format("{}: {} is not a number above zero", line.text_of("record"), name));
    return std::nullopt;
  }

  /// A record with what all of them share.
  KernelRecord record_of(const JsonValue& line, std::string op, std::string note) {
    KernelRecord record;
    record.op = std::move(op);
    record.dtype = plain_text(line.text_of("dtype"), 16);
    if (record.dtype.empty()) record.dtype = "-";
    record.note = std::move(note) + state_note(line);
    lines_.push_back(line.line);
    return record;
  }

  void take_product(const JsonValue& line) {
    const auto time = positive(line, "median_us");
    const auto tokens = positive(line, "tokens");
    const auto out = positive(line, "out");
    const auto in = positive(line, "in");
    if (!time || !tokens || !out || !in) return;
    const double batch = line.number_of("batch").value_or(1.0);
    const std::string pass = line.text_of("pass");
    const std::string mode = line.text_of("mode");
    struct Shape {
      double m, n, k;
    };
    Shape shape{*tokens, *out, *in};
    if (pass == "input-gradient") shape = {*tokens, *in, *out};
    if (pass == "weight-gradient") shape = {*out, *in, *tokens};
    const double flop = 2.0 * batch * shape.m * shape.n * shape.k;
    const auto rate = line.number_of("tflops");
    const double own = flop / *time * 1e-6;
    if (rate && std::abs(*rate - own) > 0.02 * own)
      return flag(line.line, fmt::format("gemm: {:g} FLOP in {:g} us are {:.4g} TFLOP/s, but the "
                                         "record says {:g}: units are mixed or it is damaged",
                                         flop, *time, own, *rate));
    KernelRecord record =
        record_of(line, "gemm_cublaslt",
                  fmt::format("mode={} pass={}", plain_text(mode, 16), plain_text(pass, 16)));
    record.m = shape.m;
    record.n = shape.n;
    record.shape = batch > 1.0 ? fmt::format("{:.0f};batch={:.0f}", shape.k, batch)
                               : fmt::format("{:.0f}", shape.k);
    record.time_us = *time;
    record.tflops = own;
    log_.kernels.push_back(std::move(record));
  }

  void take_stream(const JsonValue& line) {
    const auto time = positive(line, "median_us");
    const auto bytes = positive(line, "bytes");
    if (!time || !bytes) return;
    KernelRecord record =
        record_of(line, "hbm_" + plain_text(line.text_of("kernel"), 20), "mode=cold");
    record.time_us = *time;
    record.gbs = *bytes / *time * 1e-3;
    record.shape = fmt::format("rows={:.0f} columns={:.0f}", line.number_of("rows").value_or(0.0),
                               line.number_of("columns").value_or(0.0));
    log_.kernels.push_back(std::move(record));
  }

  void take_copy(const JsonValue& line) {
    const auto time = positive(line, "median_us");
    const auto bytes = positive(line, "bytes");
    if (!time || !bytes) return;
    const auto from = line.number_of("from").value_or(-1.0);
    const auto to = line.number_of("to").value_or(-1.0);
    LinkRate link;
    link.kind = plain_text(line.text_of("way"), 40);
    link.link = from >= 0.0 && to >= 0.0 ? fmt::format("GPU {:.0f} - GPU {:.0f}", from, to)
                                         : fmt::format("GPU {:.0f}", std::max({from, to, 0.0}));
    link.bytes = *bytes;
    link.gbs = *bytes / *time * 1e-3;
    link.line = line.line;
    log_.links.push_back(std::move(link));
  }

  void take_launch(const JsonValue& line) {
    const auto time = positive(line, "median_us");
    if (!time) return;
    KernelRecord record = record_of(line, "launch_" + plain_text(line.text_of("way"), 20), "");
    record.time_us = *time;
    log_.kernels.push_back(std::move(record));
  }

  void take_attention(const JsonValue& line) {
    if (log_.facts.gpu.empty()) log_.facts.gpu = plain_text(line.text_of("gpu"), 80);
    log_.facts.device = device_of_product(log_.facts.gpu);
    if (log_.facts.tool.empty()) log_.facts.tool = "torch_step";
    const auto batch = positive(line, "batch");
    const auto heads = positive(line, "heads");
    const auto length = positive(line, "length");
    const auto head = positive(line, "head_dim");
    const auto forward = positive(line, "forward_us");
    const auto backward = positive(line, "backward_us");
    if (!batch || !heads || !length || !head || !forward || !backward) return;
    const JsonValue* const causal = line.find("causal");
    const std::string mask = causal != nullptr && causal->truth ? "_causal" : "";
    for (const auto& [op, time] : {std::pair{"sdp_fwd", *forward}, {"sdp_bwd", *backward}}) {
      KernelRecord record = record_of(line, op + mask + ":torch_flash2", "mode=warm");
      record.shape =
          fmt::format("b{:.0f} h{:.0f} s{:.0f} hd{:.0f}", *batch, *heads, *length, *head);
      record.time_us = time;
      log_.kernels.push_back(std::move(record));
    }
  }

  void take_other(const JsonValue& line, const std::string& record_name) {
    const char* const name = record_name == "optimizer" ? "time_us" : "median_us";
    const auto time = positive(line, name);
    if (!time) return;
    std::string note;
    for (const char* const member : {"processors", "alone_us", "slowdown", "parameters"})
      if (const auto value = line.number_of(member))
        note += fmt::format("{}={:g} ", member, *value);
    KernelRecord record = record_of(line, record_name, note);
    record.time_us = *time;
    log_.kernels.push_back(std::move(record));
  }

  void take_collective(const JsonValue& line) {
    const auto bytes = positive(line, "bytes");
    const auto time = positive(line, "mean_us");
    const auto ranks = positive(line, "ranks");
    if (!bytes || !time || !ranks) return;
    if (line.number_of("groups").value_or(1.0) > 1.0) {
      ++grouped_;
      return;
    }
    if (line.number_of("wrong_elements").value_or(0.0) > 0.0)
      return flag(line.line, "collective: elements came out wrong");
    const std::string collective = sweep_name_of(line.text_of("op"));
    SweepLine row{*bytes, *time, line.number_of("algbw_gb_per_s"), line.number_of("busbw_gb_per_s"),
                  1e-6,   1e-6};
    const std::string wrong = row_contradiction(row, collective, *ranks);
    if (!wrong.empty()) return flag(line.line, "collective: " + wrong);
    if (*ranks != static_cast<double>(log_.facts.gpus))
      return flag(line.line, "collective: a part of the ranks at work has no place in a sweep");
    SweepRecord base;
    base.collective = collective;
    if (!complete_base(options_, log_, line.line, base, diagnostics_)) return;
    base.sweep = fmt::format("{}-{}x{}-{}", base.collective, base.nodes, base.gpus_per_node,
                             stem_of(log_.file));
    const JsonValue* const place = line.find("in_place");
    log_.sweeps.push_back(sweep_record(base, row, place != nullptr && place->truth));
  }

  void finish() {
    LogFacts& facts = log_.facts;
    if (facts.gpu.empty()) {
      facts.gpu = options_.gpu;
      facts.device = device_of_product(options_.gpu);
    }
    if (facts.gpu.empty())
      return report(log_.file, 1,
                    "there is no device record: the file does not say which GPU it is of",
                    diagnostics_);
    if (facts.tool == "gpubench" && devices_ < 2)
      log_.flagged.push_back(
          {last_line(), true, "the closing device record is missing: the run was cut short"});
    if (skipped_ > 0)
      log_.remarks.push_back(
          fmt::format("{} cases were skipped by the benchmark itself", skipped_));
    if (grouped_ > 0)
      log_.remarks.push_back(
          fmt::format("{} collectives of several groups at once are left out", grouped_));
    const std::string source = source_of(log_);
    for (KernelRecord& record : log_.kernels) {
      record.source = source;
      record.gpu = facts.device.empty() ? facts.gpu : facts.device;
    }
    for (SweepRecord& record : log_.sweeps) record.source = source;
  }

  [[nodiscard]] int last_line() const { return lines_.empty() ? 1 : lines_.back(); }
  void flag(int line, const std::string& what) {
    log_.flagged.push_back({line, false, plain_text(what, 300)});
  }

  ImportedLog& log_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  std::vector<int> lines_;
  int devices_ = 0;
  int skipped_ = 0;
  int grouped_ = 0;
};

}  // namespace

ImportedLog import_harness(const std::string& text, const std::string& file,
                           const ImportOptions& options, Diagnostics& diagnostics) {
  ImportedLog log;
  log.file = file;
  log.format = LogFormat::harness;
  HarnessReader(log, options, diagnostics).read(text);
  return log;
}

}  // namespace foretrain
