// SPDX-License-Identifier: Apache-2.0

#include <utility>

#include "scenarios/sections/sections.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

using keys::bind;
using keys::group;
using keys::with_default;

bool has_own_transport(const Job& job) {
  return job.communication.transport != job.cluster.network.transport;
}

KeyRow transport_key() {
  KeyRow key = keys::only_where<Job, has_own_transport>(
      bind({.path = "communication.transport",
            .help = "How data leaves a host: straight from GPU memory, through host memory "
                    "by RDMA, or by TCP. Left out: what the fabric preset was measured "
                    "with.",
            .example = "gpudirect-rdma"},
           &Job::communication, &Communication::transport));
  key.written = WhenWritten::always;
  return key;
}

KeyRows overlap_keys() {
  const auto flag = [](const char* path, const char* help, const char* example,
                       bool Overlap::*member) {
    return with_default({.path = path, .help = help, .example = example}, &Job::communication,
                        &Communication::overlap, member);
  };
  return {
      group("communication.overlap", "Which traffic runs beside compute instead of after it."),
      flag("communication.overlap.gradients", "Gradient reduction runs beside the backward pass.",
           "true", &Overlap::gradients),
      flag("communication.overlap.parameters",
           "Gathering of sharded parameters runs beside the forward pass.", "true",
           &Overlap::parameters),
      flag("communication.overlap.tensor",
           "Tensor-parallel exchanges run beside the matrix multiplications they belong to.",
           "false", &Overlap::tensor),
      flag("communication.overlap.pipeline", "Activations travel between stages beside compute.",
           "true", &Overlap::pipeline),
      flag("communication.overlap.experts",
           "All-to-alls of experts run beside the kernels of another micro-batch.", "true",
           &Overlap::experts),
  };
}

KeyRows payload_keys() {
  return {
      with_default({.path = "communication.bucket",
                    .help = "Gradients that are collected before one reduction starts.",
                    .example = "25 MiB",
                    .min = 0,
                    .max = 1e13,
                    .above_min = true},
                   &Job::communication, &Communication::bucket),
      with_default(
          {.path = "communication.expert_dispatch",
           .help = "What of a token crosses to another host: one copy, or one per expert there; "
                   "fused: one copy per host and per rank, sorted as it is sent (HybridEP); "
                   "all-gather: every token goes to every rank.",
           .example = "every-copy"},
          &Job::communication, &Communication::expert_dispatch),
      bind({.path = "communication.expert_multiprocessors",
            .help = "Multiprocessors that the dispatcher's kernels take from those beside "
                    "them, with communication.overlap.experts; left out, 20, and 16 of fused.",
            .example = "32",
            .min = 1,
            .max = 1000},
           &Job::communication, &Communication::expert_multiprocessors),
      with_default({.path = "communication.context_exchange",
                    .help = "Context ranks send keys and values round a ring beside attention, "
                            "gather all of them before it, or exchange heads for the sequence "
                            "before and after it (all-to-all, Ulysses).",
                    .example = "all-to-all"},
                   &Job::communication, &Communication::context_exchange),
      bind({.path = "communication.scatter_gather",
            .help = "The GPUs of a tensor group send an activation to the next stage in parts "
                    "and gather it there; left out, as the stack does. With sequence "
                    "parallelism it is in parts anyway.",
            .example = "false"},
           &Job::communication, &Communication::scatter_gather),
      with_default({.path = "communication.gradient_dtype",
                    .kind = FieldKind::choice,
                    .help = "Number format in which gradients are reduced.",
                    .example = "fp32",
                    .choices = {"fp32", "fp16", "bf16"}},
                   &Job::communication, &Communication::gradient_dtype),
  };
}

}  // namespace

const BoundTable<Job>& communication_keys() {
  static const BoundTable<Job> table(
      "communication",
      joined_rows(
          {{group("communication", "How GPUs exchange data."),
            with_default(
                {.path = "communication.backend", .help = "Collective library.", .example = "nccl"},
                &Job::communication, &Communication::backend),
            transport_key()},
           overlap_keys(),
           payload_keys()}));
  return table;
}

namespace {

// A number, or text with a unit, which is read when the metric is known.
template <auto number, auto text>
void read_limit(BudgetLine& line, const FieldValue& value) {
  line.*number = parse_number(value.text).value;
  if (!(line.*number)) line.*text = value.text;
}

template <auto number, auto text>
std::string limit_text(const BudgetLine& line) {
  return line.*number ? format_number(*(line.*number)) : line.*text;
}

template <auto number, auto text>
KeyRow limit_key(const char* path, const char* help, const char* example) {
  return keys::computed<BudgetLine, read_limit<number, text>, limit_text<number, text>>(
      {.path = path, .help = help, .example = example, .or_number = true});
}

KeyRows line_keys() {
  return {keys::always({.path = "budget[].metric",
                        .help = "A number of the forecast's JSON, by its dotted path.",
                        .example = "step.time_s",
                        .required = true},
                       &BudgetLine::metric),
          limit_key<&BudgetLine::max, &BudgetLine::max_text>(
              "budget[].max",
              "The largest value that passes, in the metric's unit or with another.", "45 days"),
          limit_key<&BudgetLine::min, &BudgetLine::min_text>(
              "budget[].min",
              "The smallest value that passes, in the metric's unit or with another.", "0.4")};
}

void finish_line(BudgetLine& line, const FieldValues& values, const std::string& path) {
  line.line = values.where(path).line;
}

}  // namespace

const BoundTable<Job>& budget_keys() {
  static const BoundTable<Job> table(
      "budget", keys::list_of<finish_line>(
                    "budget", "Limits that `foretrain check` compares the forecast with.",
                    line_keys(), &Job::budget));
  return table;
}

}  // namespace foretrain
