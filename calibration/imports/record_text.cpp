// SPDX-License-Identifier: Apache-2.0
#include "calibration/imports/record_text.hpp"

#include <fmt/format.h>

#include "calibration/imports/log_text.hpp"
#include "calibration/imports/sweep_row.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

std::string cell(const std::string& text) {
  std::string plain = plain_text(text, 400);
  if (plain.find_first_of(",\"") == std::string::npos) return plain;
  std::string quoted = "\"";
  for (const char c : plain) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string cell(const std::optional<double>& value) {
  return value ? format_number(*value) : "null";
}

std::string yaml_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : plain_text(text, 400)) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string or_null(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "null";
}

}  // namespace

std::string kernel_table_text(const std::vector<ImportedLog>& logs) {
  std::string text = "id,source,op,gpu,dtype,m,n,k_or_shape,tflops,gbs,time_us,note\n";
  int id = 0;
  for (const ImportedLog& log : logs) {
    for (const KernelRecord& one : log.kernels)
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", ++id, cell(one.source),
                          cell(one.op), cell(one.gpu), cell(one.dtype), cell(one.m), cell(one.n),
                          cell(one.shape), cell(one.tflops), cell(one.gbs), cell(one.time_us),
                          cell(std::string(trimmed(one.note))));
    const std::string gpu = log.facts.device.empty() ? log.facts.gpu : log.facts.device;
    for (const LinkRate& link : log.links)
      text += fmt::format("{},{},link_{},{},-,null,null,{},null,{},{},bytes={:.0f}\n", ++id,
                          cell(source_of(log)), cell(link.kind), cell(gpu.empty() ? "-" : gpu),
                          cell(link.link), cell(link.gbs), cell(link.time_us), link.bytes);
  }
  return text;
}

std::string sweep_table_text(const std::vector<ImportedLog>& logs) {
  std::string text =
      "id,source,collective,gpu,nodes,gpus_per_node,network,size_bytes,time_us,algbw_gbs,busbw_gbs,"
      "inplace,host,fabric,note\n";
  for (const ImportedLog& log : logs)
    for (const SweepRecord& one : log.sweeps) {
      const double ranks = static_cast<double>(one.nodes) * one.gpus_per_node;
      const auto factor = nccl_bus_factor(one.collective, ranks);
      const std::optional<double> algbw = one.busbw_gbs && factor && *factor > 0.0
                                              ? std::optional(*one.busbw_gbs / *factor)
                                              : std::nullopt;
      text += fmt::format("{},{},{},{},{},{},{},{:.0f},{},{},{},{},{},{},{}\n", cell(one.sweep),
                          cell(one.source), cell(one.collective), cell(one.gpu), one.nodes,
                          one.gpus_per_node, cell(one.network), one.size_bytes, cell(one.time_us),
                          cell(algbw), cell(one.busbw_gbs), one.in_place ? 1 : 0, cell(one.host),
                          cell(one.fabric), cell(one.note));
    }
  return text;
}

std::string run_records_text(const std::vector<ImportedLog>& logs) {
  std::string text =
      "# Step times as their logs give them. What a log does not state (model, plan, machine) is "
      "null:\n"
      "# fill it in, and `foretrain calibrate check` compares forecasts with these runs.\n"
      "schema: 1\nruns:\n";
  for (const ImportedLog& log : logs)
    for (const LoggedRun& run : log.runs) {
      const std::string gpu = log.facts.device.empty() ? log.facts.gpu : log.facts.device;
      text += fmt::format(
          "- id: {}\n  source: {}\n  confidence: \"A\"\n  task: \"pretrain\"\n"
          "  model: {{name: {}, layers: null, hidden: null, heads: null, kv_heads: null, "
          "ffn_hidden: "
          "null, vocab: null, seq: {}}}\n"
          "  gpu: {}\n  gpus: null\n  gpus_per_node: null\n  network: null\n"
          "  parallel: {{tp: null, pp: null, dp: null}}\n  micro_batch: null\n  global_batch: {}\n"
          "  precision: null\n"
          "  measured: {{iteration_s: {}, iteration_s_p5: {}, iteration_s_p95: {}, run_minutes: "
          "{}}}\n"
          "  flops_convention: \"none_tokens_only\"\n  notes: {}\n",
          yaml_text(run.id), yaml_text(source_of(log)), yaml_text(run.benchmark),
          or_null(run.sequence), gpu.empty() ? "null" : yaml_text(gpu), or_null(run.global_batch),
          format_number(run.step_s), format_number(run.low_s), format_number(run.high_s),
          run.run_minutes ? format_number(*run.run_minutes) : "null",
          yaml_text(fmt::format("{}; median of {} ({})", run.platform, run.samples, run.how)));
    }
  return text;
}

}  // namespace foretrain
