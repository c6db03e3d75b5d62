// SPDX-License-Identifier: Apache-2.0
#include "scenarios/resolve/scenario.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "models/base/require.hpp"
#include "models/collectives/library.hpp"
#include "models/rules/plan_rules.hpp"
#include "scenarios/catalog/catalog.hpp"
#include "scenarios/catalog/catalog_models.hpp"
#include "scenarios/resolve/internal/resolve_steps.hpp"
#include "scenarios/resolve/resolve.hpp"
#include "scenarios/resolve/resolve_machine.hpp"
#include "scenarios/resolve/resolve_operations.hpp"
#include "scenarios/resolve/resolve_serving.hpp"
#include "scenarios/sections/compose.hpp"
#include "scenarios/sections/scenario_fields.hpp"
#include "scenarios/yaml/confinement.hpp"
#include "scenarios/yaml/sha256.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

/// The catalog request that a text value of the scenario makes; nothing when it was refused.
std::optional<CatalogRequest> request_of(const FieldValues& values, const std::string& path) {
  if (!values.has(path)) return std::nullopt;
  return CatalogRequest{values.text(path), path, values.where(path)};
}

/// The profile of the host's device, or the one that the scenario names for it.
void load_profile(const FieldValues& values, const CatalogRequest& host_request, const Host& host,
                  Job& job, CatalogContext& context) {
  const auto own = request_of(values, "device_profile");
  const CatalogRequest request =
      own.value_or(CatalogRequest{host.device.name, host_request.path, host_request.mark});
  auto profile = load_device_profile(request, context);
  if (!profile) return;
  std::string device = profile->name;
  for (const ResolvedValue& value : context.values)
    if (value.path == "device_profile.device") device = value.value;
  if (device != host.device.name) {
    context.diagnostics.add(request.mark, request.path,
                            in_quotes(request.name) + " is a profile of " + in_quotes(device) +
                                ", but the hosts have " + in_quotes(host.device.name) +
                                "; a profile says in its key `device` what it is of");
    return;
  }
  job.device_profile = std::move(*profile);
}

/// How much of each scale-up domain the job uses; nothing where the scenario leaves it open.
void resolve_domain(const FieldValues& values, Cluster& cluster, Diagnostics& diagnostics) {
  const char* const path = "cluster.domain";
  if (!values.has(path)) return;
  const Host& host = cluster.host;
  const int gpus = values.integer(path);
  const int most = host.domain_hosts * host.gpus;
  const auto refuse = [&](std::string message) {
    diagnostics.add(values.where(path), path, std::move(message));
  };
  if (host.domain_hosts == 1 && gpus != host.gpus)
    return refuse(fmt::format("the scale-up links of {} end at the host; leave it out", host.name));
  if (gpus > most)
    return refuse(fmt::format("a scale-up domain of {} has {} GPUs; write {} or fewer", host.name,
                              most, most));
  if (gpus % host.gpus != 0)
    return refuse(fmt::format("{} GPUs are not whole hosts of {} GPUs each; write a multiple of {}",
                              gpus, host.gpus, host.gpus));
  cluster.segment = gpus / host.gpus;
}

/// The host of the catalog, or the part of it that the job uses.
void resolve_part(const FieldValues& values, Host& host, Diagnostics& diagnostics) {
  const char* const path = "cluster.gpus_per_host";
  if (!values.has(path)) return;
  const int gpus = values.integer(path);
  if (gpus > host.gpus)
    diagnostics.add(
        values.where(path), path,
        fmt::format("{} has {} GPUs; write {} or fewer", host.name, host.gpus, host.gpus));
  else if (gpus < host.gpus && host.domain_hosts > 1)
    diagnostics.add(values.where(path), path,
                    fmt::format("parts of {}, whose scale-up links join several hosts, are not "
                                "modelled; take whole hosts of {} GPUs",
                                host.name, host.gpus));
  else
    host = part_of(host, gpus);
}

void resolve_cluster(const FieldValues& values, Job& job, CatalogContext& context) {
  const auto host_request = request_of(values, "cluster.host");
  const auto preset = request_of(values, "cluster.fabric.preset");
  if (values.has("cluster.hosts")) job.cluster.hosts = values.integer("cluster.hosts");
  if (!host_request) return;
  const auto host = load_host(*host_request, context);
  if (!host) return;
  job.cluster.host = *host;
  resolve_part(values, job.cluster.host, context.diagnostics);
  resolve_domain(values, job.cluster, context.diagnostics);
  load_profile(values, *host_request, *host, job, context);
  if (!preset) return;
  NetworkRequest request{network_of(values), std::nullopt, std::max(1, job.cluster.hosts),
                         [&](std::string_view path) { return values.where(path); }};
  if (const int nics = request.described.nics_per_host; nics > 0) job.cluster.host.nics = nics;
  if (values.has("cluster.fabric.switch_radix"))
    request.switch_radix = values.integer("cluster.fabric.switch_radix");
  if (auto network = load_network(request, *preset, job.cluster.host, context))
    job.cluster.network = std::move(*network);
}

/// Whether the cluster is the one that the file describes, not one that stands in for refused keys.
bool has_cluster(const FieldValues& values, const Job& job) {
  return job.cluster.hosts > 0 && !job.cluster.network.preset.empty() &&
         values.has("cluster.fabric.kind") &&
         values.choice<FabricKind>("cluster.fabric.kind") == job.cluster.network.kind;
}

/// Folder of the file that a value was written in, which paths in it are relative to; the
/// scenario's own for flags.
fs::path folder_of(const Mark& mark, const std::string& scenario, const fs::path& folder) {
  if (!mark.file || *mark.file == "--set") return folder;
  const fs::path home = fs::path(scenario).parent_path();
  const fs::path there = fs::path(*mark.file).parent_path();
  return folder / (home.empty() ? there : there.lexically_relative(home));
}

}  // namespace

fs::path model_folder(const FieldValues& values, const std::string& name, const fs::path& folder) {
  return folder_of(values.where("model"), name, folder);
}

void resolve_own_keys(const FieldValues& values, Job& job, Diagnostics& diagnostics) {
  if (values.has("name")) job.name = values.text("name");
  if (values.has("software_year")) job.software_year = values.integer("software_year");
  job.training = training_of(values);
  job.fine_tuning = fine_tuning_of(values);
  job.parallel = parallel_of(values);
  job.memory = memory_of(values);
  job.communication = communication_of(values);
  job.operations = operations_of(values);
  job.budget = budget_of(values);
  job.measured = measured_of(values);
  job.simulation = simulation_of(values);
  check_across_keys(values, diagnostics);
  check_machine_keys(values, diagnostics);
}

/// Where a scenario names no program, it is the stack's.
void resolve_framework(const FieldValues& values, const std::vector<ResolvedValue>& known,
                       Job& job) {
  if (values.has("parallel.framework")) return;
  for (const ResolvedValue& value : known)
    if (value.path == "stack.framework")
      job.parallel.framework = *from_name<PlanFramework>(value.value);
}

namespace {

/// A checkpoint that rests packed: its shape is the model's, and how weights rest is said by the
/// scenario. Training that unpacks it as it loads is in 16 bits anyway.
void check_packed(const FieldValues& values, const PackedCheckpoint& packed,
                  Diagnostics& diagnostics) {
  const auto need = [&](const char* key, const std::string& own, std::string_view unpacked) {
    report(values, "model",
           fmt::format("rests in {} (quantization_config), and nothing says how weights rest here; "
                       "write {}: {}{}, or name the config.json of the model in 16 bits",
                       packed.words, key, own.empty() ? "" : own + ", or ", unpacked),
           diagnostics);
  };
  const auto said = [&](const char* key) { return is_said(values, key); };
  if (values.has_group("training") && !packed.unpacks && !said("fine_tuning.frozen_format"))
    need("fine_tuning.frozen_format", packed.frozen ? std::string(name_of(*packed.frozen)) : "",
         name_of(FrozenFormat::as_computed));
  if (values.has_group("serving") && !said("serving.precision.weights") &&
      !said("serving.precision.linear") && !said("serving.precision.experts"))
    need("serving.precision.weights", packed.serving, name_of(WeightFormat::bf16));
}

}  // namespace

Cluster resolve_catalogs(const FieldValues& values, Job& job, CatalogContext& context) {
  if (const auto request = request_of(values, "model")) {
    const YamlNode& node = values.at("model").node;
    if (node.is_map()) {
      if (auto model = read_inline_model(node, *request, context)) job.model = std::move(*model);
    } else if (auto entry = load_model_entry(*request, context)) {
      job.model = std::move(entry->shape);
      if (entry->packed) check_packed(values, *entry->packed, context.diagnostics);
    }
  }
  resolve_cluster(values, job, context);
  if (const auto request = request_of(values, "stack"))
    if (auto stack = load_stack(*request, context)) job.stack = std::move(*stack);
  resolve_framework(values, context.values, job);
  if (const auto request = request_of(values, "site"))
    if (auto site = load_site(*request, context)) job.site = std::move(*site);
  return split_generation(values, job.cluster, context.diagnostics);
}

namespace {

/// Another transport than the preset was measured with, where its price follows from the host; what
/// does not is a broken rule of the plan (models/rules/plan_rules.hpp).
void resolve_transport(const FieldValues& values, Job& job) {
  if (!values.has("communication.transport")) {
    job.communication.transport = job.cluster.network.transport;
  } else if (has_cluster(values, job)) {
    TransportChange change = with_transport(job.cluster, job.communication.transport);
    if (!change.refusal.empty() || job.communication.transport == job.cluster.network.transport)
      return;
    job.cluster = std::move(change.cluster);
    job.cluster.network.provenance = std::move(change.provenance);
  }
}

/// What images need of the model; how long a sequence is, plans decide.
void check_tower(const FieldValues& values, const Job& job, Diagnostics& diagnostics) {
  for (const Infeasible& reason : broken_image_rules(job))
    if (reason.rule != image_tokens_rule)
      report(values, reason.key, reason.message + "; " + reason.remedy, diagnostics);
}

}  // namespace

void resolve_together(const FieldValues& values, Job& job, Diagnostics& diagnostics) {
  // Of transformers tensor and context ranks come by accelerate.
  PlanFramework& framework = job.parallel.framework;
  if (!values.has("parallel.framework") && framework == PlanFramework::transformers &&
      (job.parallel.tensor > 1 || job.parallel.context > 1))
    framework = PlanFramework::accelerate;
  if (job.cluster.gpus() > 0 && values.has_group("training"))
    resolve_data_degree(values, job.cluster.gpus(), job.parallel, diagnostics);
  check_batch_ramp(values, job, diagnostics);
  if (job.model.layers > 0) check_tower(values, job, diagnostics);
  if (has_cluster(values, job)) {
    check_simulation(values, job, diagnostics);
    count_switches(values, job, diagnostics);
  }
  resolve_transport(values, job);
}

namespace {

/// The text of a file that the scenario names at `path`, which becomes one of its sources; nothing
/// where it names none, or after reporting.
std::optional<std::string> named_text(const FieldValues& values, const std::string& path,
                                      Scenario& scenario, Diagnostics& diagnostics) {
  if (!values.has(path)) return std::nullopt;
  const auto& [source, folder, options] = scenario.source;
  const Mark mark = values.where(path);
  const std::string& name = values.text(path);
  const fs::path target = canonical_of(folder_of(mark, scenario.path, folder) / name);
  // What the user types may name any file.
  const bool typed = mark.file && *mark.file == "--set";
  const std::string refused =
      typed ? "" : path_refusal(name, target, roots_of(folder, options), "read");
  if (!refused.empty()) {
    diagnostics.add(mark, path, refused);
    return std::nullopt;
  }
  auto text = read_text_file(target, name, YamlLimits{}.file_bytes, diagnostics, {mark, path});
  if (text) scenario.files.push_back({name, sha256_hex(*text)});
  return text;
}

/// Interruptions and requests of files.
void load_traces(const FieldValues& values, Scenario& scenario, Diagnostics& diagnostics) {
  const std::string outages = "operations.interruptions.trace_file";
  if (const auto text = named_text(values, outages, scenario, diagnostics))
    scenario.job.operations.interruptions.trace =
        read_trace(*text, values.text(outages), diagnostics);
  const std::string requests = "serving.requests.trace_file";
  if (const auto text = named_text(values, requests, scenario, diagnostics))
    if (scenario.serving)
      scenario.serving->load.trace = read_request_trace(*text, values.text(requests), diagnostics);
}

/// `serving` with the profile of its engine.
void resolve_serving(const FieldValues& values, Scenario& scenario, CatalogContext& context) {
  if (!values.has_group("serving")) return;
  scenario.serving = serving_of(values, context.diagnostics);
  if (const auto request = request_of(values, "serving.engine"))
    if (auto engine = load_engine(*request, context)) scenario.engine = std::move(*engine);
}

Scenario resolve(const FieldValues& values, ComposedDocument document, const std::string& name,
                 ScenarioSource source, Diagnostics& diagnostics) {
  Scenario scenario;
  scenario.path = name;
  scenario.source = std::move(source);
  const auto& [text, folder, options] = scenario.source;
  scenario.files = std::move(document.files);
  std::vector<ResolvedValue> catalog_values;
  CatalogContext context{options.catalogs, model_folder(values, name, folder),
                         diagnostics,      scenario.files,
                         catalog_values,   options.root};
  check_purpose(values, options.purpose, diagnostics);
  resolve_own_keys(values, scenario.job, diagnostics);
  scenario.generation = resolve_catalogs(values, scenario.job, context);
  resolve_serving(values, scenario, context);
  if (values.has_group("post_training"))
    scenario.post_training = post_training_of(values, diagnostics);
  scenario.work = work_of(values);
  resolve_together(values, scenario.job, diagnostics);
  load_traces(values, scenario, diagnostics);
  scenario.values = resolved_values(values, scenario);
  scenario.values.insert(scenario.values.end(), std::make_move_iterator(catalog_values.begin()),
                         std::make_move_iterator(catalog_values.end()));
  return scenario;
}

}  // namespace

Scenario load_scenario_text(const std::string& text, const std::string& name,
                            const fs::path& folder, const LoadOptions& options) {
  Diagnostics diagnostics;
  ComposedDocument document = compose_scenario(text, name, folder, options, diagnostics);
  if (!document.readable) diagnostics.throw_if_any();
  const FieldValues values =
      read_fields(document.root, scenario_fields(), diagnostics, document.state);
  Scenario scenario =
      resolve(values, std::move(document), name, {text, folder, options}, diagnostics);
  diagnostics.throw_if_any();
  return scenario;
}

Cluster cluster_with_hosts(const Scenario& scenario, int hosts, int gpus_per_host) {
  const ScenarioSource& source = scenario.source;
  FORETRAIN_REQUIRE(!source.text.empty() && hosts >= 1);
  LoadOptions options = source.options;
  options.overrides.push_back("cluster.hosts=" + std::to_string(hosts));
  if (gpus_per_host > 0)
    options.overrides.push_back("cluster.gpus_per_host=" + std::to_string(gpus_per_host));
  Diagnostics diagnostics;
  ComposedDocument document =
      compose_scenario(source.text, scenario.path, source.folder, options, diagnostics);
  const FieldValues values =
      read_fields(document.root, scenario_fields(), diagnostics, document.state);
  std::vector<ResolvedValue> catalog_values;
  CatalogContext context{options.catalogs, source.folder,  diagnostics,
                         document.files,   catalog_values, options.root};
  Job job;
  resolve_cluster(values, job, context);
  diagnostics.throw_if_any();
  return job.cluster;
}

Scenario load_scenario(const fs::path& file, const LoadOptions& options) {
  Diagnostics diagnostics;
  const std::string name = file.string();
  const auto text = read_text_file(file, name, YamlLimits{}.file_bytes, diagnostics);
  diagnostics.throw_if_any();
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  LoadOptions own = options;
  if (own.root.empty()) own.root = repository_of(folder);
  return load_scenario_text(*text, name, folder, own);
}

}  // namespace foretrain
