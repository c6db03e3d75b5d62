// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/cluster_file.hpp"

#include "planner/cluster/internal/cluster_field_makers.hpp"
#include "sim/queue/queue_model.hpp"

namespace foretrain {
namespace {

using field_makers::above_zero;
using field_makers::count_field;
using field_makers::flag_field;
using field_makers::group_field;
using field_makers::list_field;
using field_makers::required;
using field_makers::text_field;
using field_makers::time_field;
using field_makers::with_default;

std::vector<Field> machine_fields() {
  Field cluster = group_field("cluster", "The machine that all jobs share.");
  Field host = required(text_field("cluster.host", "Host of the catalog.", "my-host"));
  return {
      required(cluster),
      host,
      required(count_field("cluster.hosts", "Hosts that jobs can get.", "32")),
      count_field("cluster.hosts_per_leaf",
                  "Hosts below one leaf switch, in one rack or NVLink domain; left out: all.",
                  "16"),
      with_default(
          count_field("cluster.spares",
                      "Hosts beside `hosts` that stand in for failed ones at once.", "2", 0),
          "0"),
      group_field("cluster.failures", "Failures of hosts, simulated one by one."),
      required(above_zero(time_field("cluster.failures.every",
                                     "Mean time between failures of one host.", "3 years"))),
      required(
          above_zero(time_field("cluster.failures.repair", "Mean time until it is back.", "24 h"))),
  };
}

/// When hosts are not everyone's.
std::vector<Field> calendar_fields() {
  return {
      list_field("cluster.maintenance",
                 "Times when hosts are out of service; jobs whose time "
                 "limit reaches into one wait until it is over."),
      required(time_field("cluster.maintenance[].from", "Start after time 0.", "30 days")),
      required(above_zero(time_field("cluster.maintenance[].lasts", "Length.", "12 h"))),
      above_zero(
          time_field("cluster.maintenance[].every", "Repeated after that time.", "13 weeks")),
      count_field("cluster.maintenance[].hosts", "How many; left out: all.", "8"),
      list_field("cluster.reservations", "Times when hosts are set aside for one team."),
      required(text_field("cluster.reservations[].team", "Whose jobs may use them.", "vision")),
      required(time_field("cluster.reservations[].from", "Start after time 0.", "100 days")),
      required(above_zero(time_field("cluster.reservations[].lasts", "Length.", "2 weeks"))),
      above_zero(time_field("cluster.reservations[].every", "Repeated after that time.", "1 year")),
      required(count_field("cluster.reservations[].hosts", "How many.", "8")),
  };
}

std::vector<Field> cost_fields() {
  Field price = {.path = "cluster.price",
                 .kind = FieldKind::quantity,
                 .help = "Price of a GPU-hour.",
                 .example = "2.5 USD/GPU-hour",
                 .dimension = Dimension::price,
                 .min = 0};
  return {
      price,
      group_field("cluster.power", "What a host draws, at the meter; left out: energy is unknown."),
      required(Field{.path = "cluster.power.busy",
                     .kind = FieldKind::quantity,
                     .help = "With a job on it.",
                     .example = "8.5 kW",
                     .dimension = Dimension::power,
                     .min = 0}),
      required(Field{.path = "cluster.power.idle",
                     .kind = FieldKind::quantity,
                     .help = "Without one, or under repair.",
                     .example = "2.2 kW",
                     .dimension = Dimension::power,
                     .min = 0}),
      group_field("cluster.burst",
                  "Jobs that have waited long enough run on rented hosts, of which there are "
                  "enough; left out: all wait."),
      required(time_field("cluster.burst.after",
                          "Wait after which a job leaves the queue, moldable ones for their fewest "
                          "hosts.",
                          "6 h")),
      required(Field{.path = "cluster.burst.price",
                     .kind = FieldKind::quantity,
                     .help = "Price of a rented GPU-hour.",
                     .example = "4 USD/GPU-hour",
                     .dimension = Dimension::price,
                     .min = 0}),
  };
}

std::vector<Field> policy_fields() {
  std::vector<std::string> orders;
  std::vector<std::string> kinds;
  std::vector<std::string> moldings;
  std::string molding_meanings;
  std::string meanings;
  std::string kind_meanings;
  for (const QueueOrder& order : queue_orders()) {
    orders.emplace_back(order.name);
    meanings += " `" + std::string(order.name) + "`: " + std::string(order.meaning);
  }
  for (const Backfill& backfill : backfills()) {
    kinds.emplace_back(backfill.name);
    kind_meanings += " `" + std::string(backfill.name) + "`: " + std::string(backfill.meaning);
  }
  for (const MoldingRule& rule : molding_rules()) {
    moldings.emplace_back(rule.name);
    molding_meanings += " `" + std::string(rule.name) + "`: " + std::string(rule.meaning);
  }
  const auto choice = [](const char* path, std::string help, std::vector<std::string> choices) {
    Field field{.path = path,
                .kind = FieldKind::choice,
                .help = std::move(help),
                .example = choices.front(),
                .default_text = choices.front()};
    field.choices = std::move(choices);
    return field;
  };
  return {
      group_field("policy", "Who starts next, and where."),
      choice("policy.order", "Order of waiting jobs." + meanings, orders),
      choice("policy.backfill", "What starts ahead of the order." + kind_meanings, kinds),
      choice("policy.molding",
             "Up to how many hosts a moldable job starts with; fewer where they are not free, at "
             "least its fewest." +
                 molding_meanings,
             moldings),
      with_default(count_field("policy.depth",
                               "Waiting jobs that one look at the queue considers "
                               "once one of them cannot start (Slurm: "
                               "bf_max_job_test).",
                               "500"),
                   "500"),
      above_zero(time_field("policy.aging",
                            "Waiting that adds one point of priority; left out: "
                            "priorities never change.",
                            "24 h")),
      with_default(above_zero(time_field("policy.half_life",
                                         "In which usage counts half as much under fair-share "
                                         "(Slurm: PriorityDecayHalfLife).",
                                         "7 days")),
                   "7 d"),
      flag_field("policy.preempt", "Whether preemptible jobs make room for higher priorities."),
      choice("policy.placement",
             "Which hosts a job gets: `any` in the order of their numbers; "
             "`pack` on the fullest leaf that holds it, else on few leaves.",
             {"any", "pack"}),
  };
}

}  // namespace

const FieldTable& cluster_fields() {
  static const FieldTable table("Clusters and their jobs", [] {
    std::vector<Field> all{schema_field(), text_field("name",
                                                      "Name in reports; left out: that of "
                                                      "the file.",
                                                      "lab")};
    for (auto part :
         {machine_fields(), calendar_fields(), cost_fields(), workload_fields(), policy_fields()})
      for (Field& field : part) all.push_back(std::move(field));
    return all;
  }());
  return table;
}

}  // namespace foretrain
