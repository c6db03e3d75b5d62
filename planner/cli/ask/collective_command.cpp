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
#include "planner/text/quoting.hpp"
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
  ElementType type = ElementType::float32;
  std::string host, fabric, algorithm, protocol, ranks;
  std::optional<FabricKind> kind;
  std::optional<Transport> transport;
  std::optional<Backend> backend;
  std::optional<RoutingKind> routing;
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
  wish.kind = options.kind;
  if (options.oversubscription > 0.0) wish.oversubscription = options.oversubscription;
  wish.transport = options.transport;
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
  request.type = options.type;
  request.sizes = parse_sizes(options.sizes, options.step_factor, bytes_of(request.type));
  request.wish = wish_of(options);
  const MachineWish wish = machine_wish(options);
  request.machine = collective_machine(wish);
  if (wish.scenario) {
    request.backend = wish.scenario->job.communication.backend;
    request.simulation = wish.scenario->job.simulation;
  }
  if (options.backend) request.backend = *options.backend;
  if (options.routing) request.simulation.routing = *options.routing;
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

void add_machine_options(CommandRow& command, CollectiveOptions& options) {
  command.option("--scenario", options.scenario.file, "FILE",
                 "Take machine and library from a scenario");
  command.option("--host", options.host, "NAME",
                 "Host of the catalog; by default the one that it marks as default");
  command.option("--hosts", options.hosts, "N", "Number of hosts (default: 1)",
                 {.range = {{1, 100000}}});
  command.option("--fabric", options.fabric, "NAME",
                 "Fabric preset (default: the host's own NICs)");
  command.option("--topology", options.kind, "NAME",
                 "rail-optimized (default), rail-only, fat-tree, leaf-spine,\nsingle-switch");
  command.option("--oversubscription", options.oversubscription, "X",
                 "Oversubscription of leaf switches (default: 1)", {.range = {{1.0, 64.0}}});
  command.option("--transport", options.transport, "NAME",
                 "gpudirect-rdma, rdma (through host memory), tcp");
  command.option("--backend", options.backend, "NAME", "nccl (default), gloo or mpi");
  command.option(
      "--routing", options.routing, "NAME",
      "adaptive (default); ecmp: switches choose by hash and may collide; spray: packet by "
      "packet over all cables of a leaf");
  command.option("--seed", options.seed, "N", "Seed of the ECMP hash (default: 1)");
  command.option("--down", options.down, "NAME",
                 "What has failed, as in spine0, nic0.2, tray3; may be repeated",
                 {.repeated = true});
}

void add_group_options(CommandRow& command, CollectiveOptions& options) {
  command.option("--gpus-per-host", options.gpus_per_host, "N",
                 "Use the first N GPUs of every host");
  command.option("--groups", options.groups, "K",
                 "Groups at once on every host, its GPUs in turn (default: 1)");
  command.option("--ranks", options.ranks, "LIST",
                 "One group: 0-7,16 or 0-63:8; every group of a shape: size=8,stride=8");
  command.option("--root", options.root, "N", "Position of the root in its group");
}

}  // namespace

CommandRow collective_command() {
  const auto options = std::make_shared<CollectiveOptions>();
  CommandRow command{"collective", "Time collectives on a machine, as nccl-tests would print them"};
  command.option("--op", options->op, "NAME",
                 "all_reduce (default), all_gather, reduce_scatter, all_to_all, broadcast,\n"
                 "reduce, gather, scatter, send");
  command.option("--sizes", options->sizes, "SIZES", "FIRST:LAST or a list (default: 8B:16GiB)");
  command.option("--step-factor", options->step_factor, "X",
                 "Factor from one size to the next (default: 2)");
  command.option("--type", options->type, "NAME", "float (default), half, bf16, double, int8");
  add_machine_options(command, *options);
  add_group_options(command, *options);
  command.option("--algorithm", options->algorithm, "NAME", joined(algorithm_names()));
  command.option("--protocol", options->protocol, "NAME", "NCCL protocol: LL, LL128 or Simple");
  command.flag("--step-by-step", options->step_by_step,
               "Rings and trees chunk by chunk, to check the one flow per edge");
  add_answer_output(command, options->output, "schema collective/1", "one row per size");
  add_override_options(command, options->scenario);
  add_root_option(command, options->scenario, "--extends-root");
  command.texts = {
      .examples =
          {"foretrain collective --hosts 4 --host dgx-h100 --fabric ib-ndr",
           "foretrain collective --op all_to_all --hosts 64 --sizes 1MiB:1GiB --oversubscription 2",
           "foretrain collective --hosts 16 --groups 8 --sizes 1GiB",
           "foretrain collective --hosts 2048 --algorithm ring --sizes 1GB",
           "foretrain collective --hosts 4 --backend gloo --transport tcp --sizes 1MiB,1GiB"},
      .exits = {{exit_infeasible, "it cannot run like that"}}};
  command.run = [options] { return collective(*options); };
  return command;
}

}  // namespace foretrain
