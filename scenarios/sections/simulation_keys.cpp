// SPDX-License-Identifier: Apache-2.0
#include "scenarios/sections/sections.hpp"

#include <charconv>
#include <string>
#include <utility>

namespace foretrain {
namespace {

using keys::always;
using keys::bind;
using keys::with_default;

constexpr auto lock_step = "lock-step";
constexpr auto expanded = "expanded";

void read_collectives(Simulation& simulation, const FieldValue& value) {
  simulation.expand_collectives = value.text == expanded;
}

std::string collectives_text(const Simulation& simulation) {
  return simulation.expand_collectives ? expanded : "";
}

KeyRow collectives_key() {
  return keys::computed<Simulation, read_collectives, collectives_text>(
      {.path = "simulation.collectives",
       .kind = FieldKind::choice,
       .help = "lock-step lets the slowest link of a collective pace all of it, expanded simulates "
               "every flow on its own.",
       .example = "lock-step",
       .default_text = lock_step,
       .choices = {lock_step, expanded}});
}

KeyRows engine_keys() {
  return {
      {{.path = "simulation",
        .kind = FieldKind::group,
        .help = "What only the event engine looks at (`foretrain simulate --engine event`)."}},
      with_default(
          {.path = "simulation.seed",
           .help = "Decides ECMP hashes, jitter and shuffles; equal seeds give equal results.",
           .example = "1",
           .min = 0,
           .max = 2147483647},
          &Simulation::seed),
      with_default(
          {.path = "simulation.routing",
           .help =
               "How switches choose among equal paths: by a hash of the flow, the least loaded for "
               "a flow, or packet by packet over all cables of a leaf (spray).",
           .example = "ecmp"},
          &Simulation::routing),
      with_default(
          {.path = "simulation.connections",
           .help =
               "Flows that two ranks on different hosts spread their bytes over, each with its own "
               "ECMP hash: NCCL's channels times queue pairs.",
           .example = "2",
           .min = 1,
           .max = 64},
          &Simulation::connections),
      with_default(
          {.path = "simulation.placement",
           .help =
               "Which hosts ranks get: in order, one per leaf in turn, or shuffled by the seed.",
           .example = "packed"},
          &Simulation::placement),
      collectives_key(),
      with_default({.path = "simulation.unfold",
                    .help = "Simulate every data-parallel replica, not two that stand for all.",
                    .example = "false"},
                   &Simulation::unfold),
      bind({.path = "simulation.occupied",
            .help =
                "Hosts of the fabric that other jobs hold, by number from 0; needs fabric.hosts.",
            .example = "[0, 1]",
            .min = 0,
            .max = 1000000},
           &Simulation::occupied),
      bind({.path = "simulation.rerouting",
            .help = "From the loss of a link until switches have new routes, while its traffic "
                    "waits; left out, routes change at once, which is said.",
            .example = "2 s",
            .min = 0},
           &Simulation::rerouting),
  };
}

/// "host3" and "3" are host 3, which the job keeps as "3".
std::string host_number(const std::string& text) {
  const bool named = text.starts_with("host") && text.size() > 4;
  const std::string digits = named ? text.substr(4) : text;
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size() && number >= 0;
  return whole ? std::to_string(number) : text;
}

void finish_disturbance(Disturbance& disturbance, const FieldValues& values,
                        const std::string& path) {
  if (names_hosts(disturbance.kind)) {
    disturbance.target = host_number(disturbance.target);
    disturbance.to = host_number(disturbance.to);
  }
  disturbance.line = values.where(path).line;
}

KeyRows what_keys() {
  return {
      always({.path = "simulation.disturbances[].kind",
              .help = "What happens.",
              .example = "link-down",
              .required = true},
             &Disturbance::kind),
      always(
          {.path = "simulation.disturbances[].target",
           .help = "Where: a cable (leaf5-spine7, or one direction: leaf5>spine7), a node (spine7, "
                   "nic3.2: NIC 2 of host 3), or for straggler and background a host (host3), for "
                   "background without to a cable; "
                   "for checkpoint and input the first host of the fabric that stores.",
           .example = "leaf5-spine7",
           .required = true},
          &Disturbance::target),
      bind({.path = "simulation.disturbances[].to",
            .help =
                "background: the host that receives, left out where target is a cable that another "
                "job loads; checkpoint and input: the last that "
                "stores.",
            .example = "host9"},
           &Disturbance::to),
      bind({.path = "simulation.disturbances[].factor",
            .help = "link-degraded and straggler: share of the rate that is left.",
            .example = "0.8",
            .min = 0,
            .max = 1,
            .above_min = true},
           &Disturbance::factor),
      bind({.path = "simulation.disturbances[].jitter",
            .help = "straggler: standard deviation of every task's time, as a share of it.",
            .example = "0.05",
            .min = 0,
            .max = 1},
           &Disturbance::jitter),
      bind({.path = "simulation.disturbances[].rate",
            .help = "background: what the other job sends; checkpoint: what the job writes, "
                    "input: what it reads, left out as its storage allows.",
            .example = "100 Gbit/s",
            .min = 0,
            .above_min = true},
           &Disturbance::rate),

  };
}

KeyRows when_keys() {
  return {
      bind({.path = "simulation.disturbances[].from",
            .help = "When it begins, after the step's start; left out, with the step.",
            .example = "200 ms",
            .min = 0},
           &Disturbance::from),
      bind({.path = "simulation.disturbances[].lasts",
            .help = "How long it lasts; left out, until the end of the step.",
            .example = "50 ms",
            .min = 0,
            .above_min = true},
           &Disturbance::lasts),
      bind({.path = "simulation.disturbances[].period",
            .help = "nic-flap: from one loss to the next.",
            .example = "500 ms",
            .min = 0,
            .above_min = true},
           &Disturbance::period),

  };
}

KeyRows disturbance_keys() {
  return keys::list_of<finish_disturbance>(
      "simulation.disturbances", "What is wrong in the machine during the simulated step.",
      joined_rows({what_keys(), when_keys()}), &Simulation::disturbances);
}

}  // namespace

const BoundTable<Simulation>& simulation_keys() {
  static const BoundTable<Simulation> table("simulation",
                                            joined_rows({engine_keys(), disturbance_keys()}));
  return table;
}

}  // namespace foretrain
