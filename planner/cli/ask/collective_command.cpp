// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>

#include "models/collectives/registry.hpp"
#include "planner/cli/answer_output.hpp"
#include "planner/cli/commands.hpp"
#include "planner/cli/source_options.hpp"
#include "planner/cli/terminal.hpp"
#include "planner/network/collective_table.hpp"
#include "planner/text/shell_word.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

struct CollectiveOptions {
  ScenarioOptions scenario;
  std::string op = "all_reduce";
  std::string sizes = "8B:16GiB";
  double step_factor = 2.0;
  std::string type = "float";
  std::string host, fabric, kind, transport, backend, algorithm, protocol, routing, ranks;
  int hosts = 0;
  double oversubscription = 0.0;
  int gpus_per_host = 0;
  int groups = 1;
  int root = 0;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> down;
  bool step_by_step = false;
  AnswerOutput output;
};

std::vector<std::string> algorithm_names() {
  std::vector<std::string> names;
  for (const CollectiveScheme& scheme : collective_schemes()) names.emplace_back(scheme.name);
  return names;
}

CollectiveWish wish_of(const CollectiveOptions& options) {
  CollectiveWish wish;
  if (!options.algorithm.empty()) {
    wish.scheme = find_scheme(options.algorithm);
    if (wish.scheme == nullptr) refuse_value("--algorithm", options.algorithm, algorithm_names());
  }
  if (!options.protocol.empty()) {
    std::string lower = options.protocol;
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    wish.protocol = option_value<Protocol>("--protocol", lower);
  }
  return wish;
}

MachineWish machine_wish(const CollectiveOptions& options) {
  MachineWish wish;
  if (!options.scenario.file.empty()) wish.scenario = read_scenario(options.scenario);
  wish.load = load_options(options.scenario);
  wish.host = options.host;
  wish.fabric = options.fabric;
  if (options.hosts > 0) wish.hosts = options.hosts;
  if (!options.kind.empty()) wish.kind = option_value<FabricKind>("--topology", options.kind);
  if (options.oversubscription > 0.0) wish.oversubscription = options.oversubscription;
  if (!options.transport.empty())
    wish.transport = option_value<Transport>("--transport", options.transport);
  return wish;
}

std::vector<std::vector<int>> groups_of(const CollectiveOptions& options,
                                        const CollectiveRequest& request) {
  const Cluster& cluster = request.machine.cluster;
  GroupWish wish;
  wish.hosts = cluster.hosts;
  wish.gpus_per_host = cluster.host.gpus;
  wish.used_per_host = options.gpus_per_host > 0 ? options.gpus_per_host : cluster.host.gpus;
  wish.per_host = options.groups;
  wish.ranks = options.ranks;
  if (!options.ranks.empty() && (options.groups > 1 || options.gpus_per_host > 0))
    throw UsageError(
        "--ranks already says which GPUs take part; leave out --groups and "
        "--gpus-per-host");
  if (request.op == CollectiveOp::send && options.ranks.empty() && options.groups == 1)
    wish.ranks = cluster.hosts > 1 ? "0," + std::to_string(cluster.host.gpus) : "0,1";
  return parse_groups(wish);
}

CollectiveRequest request_of(const CollectiveOptions& options) {
  CollectiveRequest request;
  request.op = parse_collective_op(options.op);
  request.type = option_value<ElementType>("--type", options.type);
  request.sizes = parse_sizes(options.sizes, options.step_factor, bytes_of(request.type));
  request.wish = wish_of(options);
  const MachineWish wish = machine_wish(options);
  request.machine = collective_machine(wish);
  if (wish.scenario) {
    request.backend = wish.scenario->job.communication.backend;
    request.simulation = wish.scenario->job.simulation;
  }
  if (!options.backend.empty())
    request.backend = option_value<Backend>("--backend", options.backend);
  if (!options.routing.empty())
    request.simulation.routing = option_value<RoutingKind>("--routing", options.routing);
  request.groups = groups_of(options, request);
  request.root = options.root;
  if (options.seed) request.simulation.seed = *options.seed;
  request.down = options.down;
  request.step_by_step = options.step_by_step;
  return request;
}

int collective(const CollectiveOptions& options) {
  const auto result = collective_table(request_of(options));
  if (const auto* refused = std::get_if<Infeasible>(&result)) {
    write_diagnostic("infeasible: " + refused->message +
                     (refused->remedy.empty() ? "" : "; " + refused->remedy));
    return exit_infeasible;
  }
  const auto& table = std::get<CollectiveTable>(result);
  const AnswerForms forms{"collective", [&] { return collective_json(table); },
                          [&] { return collective_csv(table); }};
  return deliver_answer(options.output, forms, [&] {
    Answer answer = collective_answer(table);
    answer.head.next =
        options.scenario.file.empty() || options.scenario.file == "-"
            ? shell_words({"foretrain", "show", "hosts", table.request.machine.cluster.host.name})
            : "foretrain simulate " + source_words(options.scenario);
    return answer;
  });
}

void add_machine_options(CLI::App& app, CollectiveOptions& options) {
  app.add_option("--scenario", options.scenario.file, "Take machine and library from a scenario")
      ->type_name("FILE");
  app.add_option("--host", options.host,
                 "Host of the catalog; by default the one that it marks as default")
      ->type_name("NAME");
  app.add_option("--hosts", options.hosts, "Number of hosts (default: 1)")
      ->type_name("N")
      ->check(CLI::Range(1, 100000));
  app.add_option("--fabric", options.fabric, "Fabric preset (default: the host's own NICs)")
      ->type_name("NAME");
  app.add_option("--topology", options.kind,
                 "rail-optimized (default), rail-only, fat-tree, leaf-spine,\nsingle-switch")
      ->type_name("NAME");
  app.add_option("--oversubscription", options.oversubscription,
                 "Oversubscription of leaf switches (default: 1)")
      ->type_name("X")
      ->check(CLI::Range(1.0, 64.0));
  app.add_option("--transport", options.transport,
                 "gpudirect-rdma, rdma (through host memory), tcp")
      ->type_name("NAME");
  app.add_option("--backend", options.backend, "nccl (default), gloo or mpi")->type_name("NAME");
  app.add_option(
         "--routing", options.routing,
         "adaptive (default); ecmp: switches choose by hash and may collide; spray: packet by "
         "packet over all cables of a leaf")
      ->type_name("NAME");
  app.add_option("--seed", options.seed, "Seed of the ECMP hash (default: 1)")->type_name("N");
  app.add_option("--down", options.down,
                 "What has failed, as in spine0, nic0.2, tray3; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false);
}

void add_group_options(CLI::App& app, CollectiveOptions& options) {
  app.add_option("--gpus-per-host", options.gpus_per_host, "Use the first N GPUs of every host")
      ->type_name("N");
  app.add_option("--groups", options.groups,
                 "Groups at once on every host, its GPUs in turn (default: 1)")
      ->type_name("K");
  app.add_option("--ranks", options.ranks,
                 "One group: 0-7,16 or 0-63:8; every group of a shape: size=8,stride=8")
      ->type_name("LIST");
  app.add_option("--root", options.root, "Position of the root in its group")->type_name("N");
}

}  // namespace

Command add_collective_command(CLI::App& program) {
  const auto options = std::make_shared<CollectiveOptions>();
  CLI::App* app = program.add_subcommand(
      "collective", "Time collectives on a machine, as nccl-tests would print them");
  app->add_option("--op", options->op,
                  "all_reduce (default), all_gather, reduce_scatter, all_to_all, broadcast,\n"
                  "reduce, gather, scatter, send")
      ->type_name("NAME");
  app->add_option("--sizes", options->sizes, "FIRST:LAST or a list (default: 8B:16GiB)")
      ->type_name("SIZES");
  app->add_option("--step-factor", options->step_factor,
                  "Factor from one size to the next (default: 2)")
      ->type_name("X");
  app->add_option("--type", options->type, "float (default), half, bf16, double, int8")
      ->type_name("NAME");
  add_machine_options(*app, *options);
  add_group_options(*app, *options);
  app->add_option("--algorithm", options->algorithm, joined(algorithm_names()))->type_name("NAME");
  app->add_option("--protocol", options->protocol, "NCCL protocol: LL, LL128 or Simple")
      ->type_name("NAME");
  app->add_flag("--step-by-step", options->step_by_step,
                "Rings and trees chunk by chunk, to check the one flow per edge");
  add_answer_output(*app, options->output, "schema collective/1", {}, "one row per size");
  add_override_options(*app, options->scenario);
  add_root_option(*app, options->scenario, "--extends-root");
  app->footer(
      "Examples:\n"
      "  foretrain collective --hosts 4 --host dgx-h100 --fabric ib-ndr\n"
      "  foretrain collective --op all_to_all --hosts 64 --sizes 1MiB:1GiB --oversubscription 2\n"
      "  foretrain collective --hosts 16 --groups 8 --sizes 1GiB\n"
      "  foretrain collective --hosts 2048 --algorithm ring --sizes 1GB\n"
      "  foretrain collective --hosts 4 --backend gloo --transport tcp --sizes 1MiB,1GiB\n"
      "Exit codes: 0 ok, 2 bad usage or input, 3 it cannot run like that.");
  return {app, [options] { return collective(*options); }};
}

}  // namespace foretrain
