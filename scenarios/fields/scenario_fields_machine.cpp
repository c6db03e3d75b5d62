// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/scenario_fields_machine.hpp"

#include <iterator>

#include "models/inputs/cluster.hpp"
#include "models/inputs/simulation.hpp"

namespace foretrain {
namespace {

std::vector<Field> machine_fields() {
  return {
      {.path = "cluster", .kind = FieldKind::group, .help = "The machine.", .required = true},
      {.path = "cluster.host",
       .help = "Server type from the host catalog: decides the GPU, GPUs per host, NVLink or PCIe "
               "between them, and NICs.",
       .example = "dgx-h100",
       .required = true},
      {.path = "cluster.hosts",
       .kind = FieldKind::integer,
       .help = "How many of these servers the job uses.",
       .example = "128",
       .required = true,
       .min = 1,
       .max = 1000000},
      {.path = "cluster.domain",
       .kind = FieldKind::integer,
       .help = "GPUs of each scale-up domain (rack) that the job uses, where one joins several "
               "hosts; left out, the largest part, more than half, that the hosts divide into.",
       .example = "64",
       .min = 1,
       .max = 65536},
      {.path = "cluster.fabric",
       .kind = FieldKind::group,
       .help = "The network between the hosts.",
       .required = true},
      {.path = "cluster.fabric.kind",
       .kind = FieldKind::choice,
       .help = "How the switches are wired; rail-optimized gives the same-numbered GPUs of all "
               "hosts a switch of their own, rail-only keeps them on separate networks.",
       .example = "rail-optimized",
       .required = true,
       .choices = choices_of<FabricKind>()},
      {.path = "cluster.fabric.preset",
       .help = "Link technology from the fabric catalog: rate of one NIC, switch latency, cost of "
               "a collective step.",
       .example = "ib-ndr",
       .required = true},
      {.path = "cluster.fabric.oversubscription",
       .kind = FieldKind::number,
       .help = "Host bandwidth into a leaf switch divided by the bandwidth of its uplinks; 1 never "
               "blocks.",
       .example = "1.0",
       .default_text = "1",
       .min = 1,
       .max = 1000},
  };
}

std::vector<Field> fabric_fields() {
  return {
      {.path = "cluster.fabric.spine_oversubscription",
       .kind = FieldKind::number,
       .help = "The same ratio of a spine switch below the cores of a third tier.",
       .example = "1.0",
       .default_text = "1",
       .min = 1,
       .max = 1000},
      {.path = "cluster.fabric.switch_radix",
       .kind = FieldKind::integer,
       .help = "Ports of one switch at the NIC's rate; left out, those of the preset's switches.",
       .example = "64",
       .min = 2,
       .max = 1024},
      {.path = "cluster.fabric.hosts",
       .kind = FieldKind::integer,
       .help = "Hosts that the network connects, those of other jobs included; left out, those of "
               "this job.",
       .example = "256",
       .min = 1,
       .max = 1000000},
  };
}

std::vector<Field> dragonfly_fields() {
  return {
      {.path = "cluster.fabric.dragonfly",
       .kind = FieldKind::group,
       .help = "Sizes of kind: dragonfly. Every cable runs at the NIC's rate."},
      {.path = "cluster.fabric.dragonfly.groups",
       .kind = FieldKind::integer,
       .help = "Groups, every two of them joined by global cables.",
       .example = "9",
       .required = true,
       .min = 1,
       .max = 100000},
      {.path = "cluster.fabric.dragonfly.routers",
       .kind = FieldKind::integer,
       .help = "Routers of a group, every two of them joined; with plus, its leaves, and as many "
               "spines.",
       .example = "8",
       .required = true,
       .min = 1,
       .max = 1024},
      {.path = "cluster.fabric.dragonfly.nics_per_router",
       .kind = FieldKind::integer,
       .help = "NICs plugged into a router.",
       .example = "8",
       .required = true,
       .min = 1,
       .max = 1024},
      {.path = "cluster.fabric.dragonfly.global_ports",
       .kind = FieldKind::integer,
       .help = "Ports of a router (with plus, of a spine) for cables to other groups.",
       .example = "4",
       .required = true,
       .min = 0,
       .max = 1024},
      {.path = "cluster.fabric.dragonfly.plus",
       .kind = FieldKind::boolean,
       .help = "Dragonfly+: a group is leaves and spines, and global cables leave the spines.",
       .example = "true"},
  };
}

std::vector<Field> wired_fields() {
  return {
      {.path = "cluster.fabric.torus",
       .kind = FieldKind::group,
       .help = "Sizes of kind: torus. One router per host; all NICs of a host join it."},
      {.path = "cluster.fabric.torus.size",
       .kind = FieldKind::integer_list,
       .help = "Hosts along each dimension; two or three dimensions.",
       .example = "[8, 8, 4]",
       .required = true,
       .min = 2,
       .max = 1000000},
      {.path = "cluster.fabric.torus.channel",
       .kind = FieldKind::quantity,
       .help = "Rate of one cable between neighbours, per direction.",
       .example = "400 Gbit/s",
       .required = true,
       .dimension = Dimension::bandwidth,
       .min = 0,
       .above_min = true},
      {.path = "cluster.fabric.irregular",
       .kind = FieldKind::group,
       .help =
           "Switches of kind: irregular, as `foretrain import ibnetdiscover` writes them. Every "
           "cable runs at the NIC's rate; routes are shortest paths, not a subnet manager's "
           "tables."},
      {.path = "cluster.fabric.irregular.nics",
       .kind = FieldKind::integer_list,
       .help = "The switch that each NIC is plugged into, host by host; switches are numbered "
               "from 0.",
       .example = "[0, 0, 1, 1]",
       .required = true,
       .min = 0,
       .max = 4095},
      {.path = "cluster.fabric.irregular.cables",
       .kind = FieldKind::text_list,
       .help = "Which switches are joined, and by how many cables.",
       .example = "[0-2x4, 1-2x4]",
       .required = true},
  };
}

std::vector<Field> engine_fields() {
  return {
      {.path = "simulation",
       .kind = FieldKind::group,
       .help = "What only the event engine looks at (`foretrain simulate --engine event`)."},
      {.path = "simulation.seed",
       .kind = FieldKind::integer,
       .help = "Decides ECMP hashes, jitter and shuffles; equal seeds give equal results.",
       .example = "1",
       .default_text = "1",
       .min = 0,
       .max = 2147483647},
      {.path = "simulation.routing",
       .kind = FieldKind::choice,
       .help = "How switches choose among equal paths: by a hash of the flow, or the least loaded.",
       .example = "ecmp",
       .default_text = "adaptive",
       .choices = choices_of<RoutingKind>()},
      {.path = "simulation.connections",
       .kind = FieldKind::integer,
       .help = "Flows that two ranks on different hosts spread their bytes over, each with its own "
               "ECMP hash: NCCL's channels times queue pairs.",
       .example = "2",
       .default_text = "2",
       .min = 1,
       .max = 64},
      {.path = "simulation.placement",
       .kind = FieldKind::choice,
       .help = "Which hosts ranks get: in order, one per leaf in turn, or shuffled by the seed.",
       .example = "packed",
       .default_text = "packed",
       .choices = choices_of<PlacementKind>()},
      {.path = "simulation.collectives",
       .kind = FieldKind::choice,
       .help = "lock-step lets the slowest link of a collective pace all of it, expanded simulates "
               "every flow on its own.",
       .example = "lock-step",
       .default_text = "lock-step",
       .choices = {"lock-step", "expanded"}},
      {.path = "simulation.unfold",
       .kind = FieldKind::boolean,
       .help = "Simulate every data-parallel replica, not two that stand for all.",
       .example = "false",
       .default_text = "false"},
      {.path = "simulation.occupied",
       .kind = FieldKind::integer_list,
       .help = "Hosts of the fabric that other jobs hold, by number from 0; needs fabric.hosts.",
       .example = "[0, 1]",
       .min = 0,
       .max = 1000000},
      {.path = "simulation.disturbances",
       .kind = FieldKind::list,
       .help = "What is wrong in the machine during the simulated step."},
  };
}

std::vector<Field> disturbance_fields() {
  const std::string at = "simulation.disturbances[].";
  return {
      {.path = at + "kind",
       .kind = FieldKind::choice,
       .help = "What happens.",
       .example = "link-down",
       .required = true,
       .choices = choices_of<DisturbanceKind>()},
      {.path = at + "target",
       .help = "Where: a cable (leaf5-spine7, or one direction: leaf5>spine7), a node (spine7, "
               "nic3.2: NIC 2 of host 3), or for straggler and background a host (host3).",
       .example = "leaf5-spine7",
       .required = true},
      {.path = at + "to", .help = "background: the host that receives.", .example = "host9"},
      {.path = at + "factor",
       .kind = FieldKind::number,
       .help = "link-degraded and straggler: share of the rate that is left.",
       .example = "0.8",
       .min = 0,
       .max = 1,
       .above_min = true},
      {.path = at + "jitter",
       .kind = FieldKind::number,
       .help = "straggler: standard deviation of every task's time, as a share of it.",
       .example = "0.05",
       .min = 0,
       .max = 1},
      {.path = at + "rate",
       .kind = FieldKind::quantity,
       .help = "background: what the other job sends.",
       .example = "100 Gbit/s",
       .dimension = Dimension::bandwidth,
       .min = 0,
       .above_min = true},
      {.path = at + "from",
       .kind = FieldKind::quantity,
       .help = "When it begins, after the step's start; left out, with the step.",
       .example = "200 ms",
       .dimension = Dimension::time,
       .min = 0},
      {.path = at + "lasts",
       .kind = FieldKind::quantity,
       .help = "How long it lasts; left out, until the end of the step.",
       .example = "50 ms",
       .dimension = Dimension::time,
       .min = 0,
       .above_min = true},
      {.path = at + "period",
       .kind = FieldKind::quantity,
       .help = "nic-flap: from one loss to the next.",
       .example = "500 ms",
       .dimension = Dimension::time,
       .min = 0,
       .above_min = true},
  };
}

std::vector<Field> joined_fields(std::vector<Field> first, std::vector<Field> second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()),
               std::make_move_iterator(second.end()));
  return first;
}

}  // namespace

std::vector<Field> cluster_fields() {
  return joined_fields(joined_fields(machine_fields(), fabric_fields()),
                       joined_fields(dragonfly_fields(), wired_fields()));
}

std::vector<Field> simulation_fields() {
  return joined_fields(engine_fields(), disturbance_fields());
}

}  // namespace foretrain
