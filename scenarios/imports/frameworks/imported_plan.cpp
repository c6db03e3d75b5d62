// SPDX-License-Identifier: Apache-2.0
#include "scenarios/imports/frameworks/imported_plan.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/catalog/machine_names.hpp"
#include "scenarios/sections/scenario_text.hpp"

namespace foretrain {
namespace {

constexpr std::size_t line_width = 96;

/// `text` in lines of at most `line_width`, those after the first indented.
void add_wrapped(std::vector<std::string>& lines, const std::string& text) {
  std::string line;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > line_width) {
      lines.push_back(line);
      line = "  " + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
}

/// Comments are one line each, whatever the source held.
std::string printable(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    result += code >= 0x20 && code != 0x7F && code < 0x80 ? c : '?';
  }
  return result;
}

void add_list(std::vector<std::string>& lines, const std::string& title,
              const std::vector<std::string>& words) {
  if (!words.empty()) add_wrapped(lines, printable(title + ": " + joined(words)));
}

std::vector<std::string> comments_of(const ImportSource& source, const PlanNotes& notes) {
  std::vector<std::string> lines;
  add_wrapped(lines, printable(fmt::format("Imported by foretrain from {} ({}).", source.name,
                                           source.framework)));
  add_wrapped(lines, printable("Stack: " + notes.stack));
  add_list(lines, "Read", notes.read);
  add_list(lines, "Ignored, changes neither memory nor time", notes.ignored);
  add_list(lines, "Not modelled, changes memory or time a little", notes.approximated);
  add_list(lines, "Not modelled, pauses training for evaluation", notes.evaluation);
  add_list(lines, "Left out, not known here, may change memory or time", notes.unknown);
  for (const std::string& sentence : notes.assumed)
    add_wrapped(lines, printable("Assumed: " + sentence));
  return lines;
}

/// A name that file names and reports can carry.
std::string plain_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
    name += plain ? c : (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : '-';
  }
  name.resize(std::min<std::size_t>(name.size(), 80));
  return name.empty() || name.front() == '.' || name.front() == '-' ? "run" + name : name;
}

/// Whether a catalog's model says whatever number the source says.
bool says_as_much(const ModelNumbers& known, const ModelNumbers& asked) {
  return (asked.rope_theta == 0.0 || known.rope_theta != 0.0) &&
         (asked.norm_epsilon == 0.0 || known.norm_epsilon != 0.0);
}

/// The first model of the catalog that a question says yes to.
std::string catalog_model(const PlanImportOptions& options,
                          const std::function<bool(const LlmShape&)>& wanted) {
  LoadOptions load;
  load.catalogs = options.catalogs;
  for (const CatalogEntry& entry : catalog_entries("models", load)) {
    Diagnostics ignored;
    std::vector<SourceFile> files;
    std::vector<ResolvedValue> values;
    CatalogContext context{options.catalogs, {}, ignored, files, values};
    const auto known = load_model({entry.name, "model", {}}, context);
    if (known && wanted(*known)) return entry.name;
  }
  return {};
}

/// The catalog's name of a shape, where it has it.
std::string catalog_name(const LlmShape& shape, const PlanImportOptions& options) {
  return catalog_model(options, [&](const LlmShape& known) {
    return may_be_one_model(known, shape) && says_as_much(known.numbers, shape.numbers);
  });
}

/// The preset of the host's own NICs; the catalogs call most of them the same.
std::string own_fabric(const Host& host, const PlanImportOptions& options,
                       Diagnostics& diagnostics) {
  const auto roots = catalog_roots(options.catalogs, diagnostics);
  if (is_entry_name(host.nic.name) && find_catalog_file(CatalogKind::fabrics, host.nic.name, roots))
    return host.nic.name;
  std::vector<std::string> names;
  for (const CatalogFile& file : list_catalog_files(CatalogKind::fabrics, roots))
    names.push_back(file.name);
  diagnostics.add(Mark{std::make_shared<const std::string>("--fabric"), 0, 0}, "fabric",
                  fmt::format("is needed for {}, whose NICs ({}) have no fabric preset. Known: {}",
                              host.name, host.nic.name, joined(names)));
  return {};
}

/// What decides how long a run takes and is in no step of it.
void tell_run(ImportedPlan& plan) {
  PlanNotes& notes = plan.notes;
  if (!notes.evaluation.empty())
    notes.assumed.push_back(
        fmt::format("no evaluation: {} are in neither the time of the run nor its memory; write "
                    "operations.evaluation: {{every_steps: N, pause: TIME}}",
                    joined(notes.evaluation)));
  if (notes.lengths.empty()) return;
  if (plan.job.training.tokens)
    notes.ignored.insert(notes.ignored.end(), notes.lengths.begin(), notes.lengths.end());
  else
    notes.assumed.push_back(
        fmt::format("the length of the run is not known: {} count examples, whose number or size "
                    "the source does not say; write training.tokens",
                    joined(notes.lengths)));
}

void place(ImportedPlan& plan, const PlanImportOptions& options, Diagnostics& diagnostics) {
  const auto host = import_host(options, diagnostics);
  if (!host) return;
  Cluster& cluster = plan.job.cluster;
  const int apart = plan.post_training ? plan.post_training->generation_gpus : 0;
  const int gpus = plan.job.parallel.gpus() + apart;
  const auto share = share_of(gpus, host->gpus);
  if (!share) {
    diagnostics.add(
        Mark{std::make_shared<const std::string>("--host"), 0, 0}, "host",
        share_refusal(gpus, host->name, host->gpus) + " with --gpus, or another --host");
    return;
  }
  cluster.host.name = host->name;
  cluster.hosts = share->hosts;
  if (share->gpus_per_host < host->gpus) {
    cluster.host.gpus = share->gpus_per_host;
    cluster.host.whole_gpus = host->gpus;
  }
  cluster.network.kind =
      cluster.hosts == 1 ? FabricKind::single_switch : FabricKind::rail_optimized;
  cluster.network.preset =
      options.fabric.empty() ? own_fabric(*host, options, diagnostics) : options.fabric;
  plan.notes.assumed.push_back(fmt::format(
      "{} host{} {} ({} GPUs each) on a {} fabric {} (--host, --fabric)", cluster.hosts,
      cluster.hosts == 1 ? "" : "s", host->name,
      share->gpus_per_host < host->gpus ? fmt::format("{} of {}", share->gpus_per_host, host->gpus)
                                        : std::to_string(host->gpus),
      name_of(cluster.network.kind), cluster.network.preset));
}

}  // namespace

std::optional<CatalogVocabulary> catalog_vocabulary(const LlmShape& shape,
                                                    const PlanImportOptions& options) {
  CatalogVocabulary found;
  found.model = catalog_model(options, [&](const LlmShape& known) {
    LlmShape same = shape;
    same.vocabulary = found.vocabulary = known.vocabulary;
    return may_be_one_model(known, same);
  });
  return found.model.empty() ? std::nullopt : std::optional(found);
}

std::optional<LlmShape> known_shape(const std::string& model, const PlanImportOptions& options) {
  if (options.shape) return options.shape;
  Diagnostics ignored;
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{options.catalogs, ".", ignored, files, values};
  return load_model({model, "model", {}}, context);
}

std::optional<Host> import_host(const PlanImportOptions& options, Diagnostics& diagnostics) {
  std::vector<SourceFile> files;
  std::vector<ResolvedValue> values;
  CatalogContext context{options.catalogs, {}, diagnostics, files, values};
  const auto at = [](const char* option) {
    return Mark{std::make_shared<const std::string>(option), 0, 0};
  };
  std::optional<std::string> name = options.host;
  if (!options.device.empty())
    name = host_with_device({options.device, "device", at("--device")}, context);
  else if (options.host.empty())
    name = default_machine().host;
  return name ? load_host({*name, "host", at("--host")}, context) : std::nullopt;
}

void choose_stack(ImportedPlan& plan, const std::string& name, const std::string& why) {
  plan.job.stack.name = name;
  plan.notes.stack = name + ", " + why;
}

std::optional<int> host_gpus(const PlanImportOptions& options, Diagnostics& diagnostics) {
  const auto host = import_host(options, diagnostics);
  return host ? std::optional(host->gpus) : std::nullopt;
}

int gpus_for(const LaunchSize& size, int replica, int host_gpus, const PlanImportOptions& options,
             PlanNotes& notes) {
  if (options.gpus) return *options.gpus;
  if (size.gpus) return *size.gpus;
  const int per_node = size.gpus_per_node.value_or(host_gpus);
  if (size.nodes) {
    if (!size.gpus_per_node)
      notes.assumed.push_back(fmt::format("{} GPUs per node, as the host has", host_gpus));
    const long long gpus = static_cast<long long>(*size.nodes) * per_node;
    return static_cast<int>(std::min(gpus, 1'000'000LL));
  }
  const long long fewest =
      std::lcm(static_cast<long long>(std::max(replica, 1)), static_cast<long long>(host_gpus));
  const int gpus = static_cast<int>(std::min(fewest, 1'000'000LL));
  notes.assumed.push_back(
      fmt::format("{} GPUs, the fewest that hold whole replicas of {} and whole hosts (--gpus)",
                  gpus, replica));
  return gpus;
}

ImportedScenario finish_import(ImportedPlan plan, const ImportSource& source,
                               const PlanImportOptions& options, Diagnostics& diagnostics) {
  diagnostics.throw_if_any();
  Job& job = plan.job;
  if (!options.name.empty()) job.name = options.name;
  job.name = plain_name(job.name);
  job.parallel.framework = source.runs;
  const bool splits = job.parallel.tensor > 1 || job.parallel.context > 1;
  if (source.runs == PlanFramework::transformers && splits)
    job.parallel.framework = PlanFramework::accelerate;
  if (options.shape && plan.model == options.shape->name) {
    job.model = *options.shape;
    plan.model.clear();
  }
  if (plan.model.empty() && options.find_model) plan.model = catalog_name(job.model, options);
  place(plan, options, diagnostics);
  for (const std::string& part : what_scenarios_cannot_say(job))
    diagnostics.add(Mark{std::make_shared<const std::string>(source.name), 0, 0}, "",
                    "asks for " + part + ", which a scenario cannot represent");
  diagnostics.throw_if_any();
  tell_run(plan);
  WrittenScenario draft{job, plan.model, comments_of(source, plan.notes), plan.serving,
                        plan.post_training};
  LoadOptions load;
  load.catalogs = options.catalogs;
  if (plan.post_training) load.purpose = Purpose::steps;
  ImportedScenario result{scenario_text(draft), {}, std::move(plan.notes)};
  result.scenario = load_scenario_text(result.text, source.name + " (imported)", ".", load);
  return result;
}

}  // namespace foretrain
