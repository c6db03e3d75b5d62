// SPDX-License-Identifier: Apache-2.0
#include "planner/exchange/exports.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "models/base/require.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "scenarios/catalog/model_names.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

/// A comment stays one line, whatever a name holds.
std::string comment(const std::string& text) { return "# " + escaped(text) + "\n"; }

}  // namespace

void ExportBook::check() const {
  if (refused_.empty()) return;
  std::string text;
  for (const std::string& part : refused_) text += (text.empty() ? "" : "; ") + part;
  throw UsageError(format_ + " cannot represent: " + text);
}

void ExportBook::say(const Dialect& dialect, const Job& job, const SaidKeys& said,
                     DialectWords& words) {
  DialectText text = write_dialect(dialect, job, said);
  words.insert(words.end(), text.words.begin(), text.words.end());
  for (std::string& what : text.refused) refuse(std::move(what));
  for (std::string& sentence : text.left_out) leave_out(std::move(sentence));
}

std::string export_comments(const Scenario& scenario, const ExportBook& book) {
  std::string text =
      comment(fmt::format("Exported by foretrain {} from {}.", version,
                          scenario.path.empty() ? scenario.job.name : scenario.path));
  for (const std::string& sentence : book.left_out())
    text += comment("Not in this file: " + sentence);
  return text;
}

void leave_out_machine(const Job& job, ExportBook& book) {
  const Cluster& cluster = job.cluster;
  book.leave_out(fmt::format("the machine, {} x {} on a {} fabric {}, communication.transport: {}",
                             cluster.hosts, cluster.host.name, name_of(cluster.network.kind),
                             cluster.network.preset, name_of(job.communication.transport)));
  if (job.site.name != "default") book.leave_out("the site, " + job.site.name);
}

std::string released_model(const Job& job, ExportBook& book) {
  const std::string id = hub_id(job.model.name, {});
  if (!id.empty())
    book.leave_out(fmt::format(
        "which checkpoint: {} has this shape; write the place of yours where it is another", id));
  else
    book.leave_out("the place of the weights; the model is named as in the catalog");
  return id.empty() ? job.model.name : id;
}

void refuse_backend(const Job& job, ExportBook& book) {
  const Backend backend = job.communication.backend;
  if (backend != Backend::nccl)
    book.refuse(fmt::format("communication.backend: {}", name_of(backend)));
}

void refuse_fine_tuning(const Job& job, ExportBook& book) {
  book.refuse_if(!(job.fine_tuning == FineTuning{}), "fine_tuning");
  book.refuse_if(!(job.training.samples == Samples{}), "training.samples");
  book.refuse_if(job.training.images.any(), "training.images");
}

std::optional<long long> training_steps(const Training& training) {
  if (!training.tokens) return std::nullopt;
  const double per_step = 1.0 * training.global_batch * training.sequence;
  return std::llround(std::ceil(*training.tokens / per_step));
}

Exported export_scenario(ExportKind kind, const Scenario& scenario, const Prediction* prediction) {
  ExportBook book(std::string(name_of(kind)));
  book.refuse_if(scenario.job.parallel.processes == ProcessKind::per_host,
                 "parallel.processes: per-host, one process for all GPUs (torch.nn.DataParallel); "
                 "write per-gpu for a process per GPU");
  book.check();
  switch (kind) {
    case ExportKind::megatron:
      return export_megatron(scenario);
    case ExportKind::megatron_bridge:
      return export_bridge(scenario);
    case ExportKind::deepspeed:
      return export_deepspeed(scenario);
    case ExportKind::torchtitan:
      return export_torchtitan(scenario);
    case ExportKind::nanotron:
      return export_nanotron(scenario);
    case ExportKind::transformers:
    case ExportKind::axolotl:
    case ExportKind::llamafactory:
    case ExportKind::swift:
    case ExportKind::unsloth:
      return export_tuning(kind, scenario);
    case ExportKind::vllm:
    case ExportKind::sglang:
      return export_serving(kind, scenario);
    case ExportKind::accelerate:
      return export_accelerate(scenario);
    case ExportKind::sbatch:
      FORETRAIN_REQUIRE(prediction != nullptr);
      return export_sbatch(scenario, *prediction);
  }
  throw std::logic_error("no such export");
}

}  // namespace foretrain
