// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/cluster_fields.hpp"

#include "sim/queue/queue_policy.hpp"

namespace foretrain {
namespace {

Field time_field(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::quantity,
          .help = std::move(help),
          .example = std::move(example),
          .dimension = Dimension::time,
          .min = 0};
}

Field required(Field field) {
  field.required = true;
  return field;
}

Field above_zero(Field field) {
  field.min = 0;
  field.above_min = true;
  return field;
}

Field count_field(std::string path, std::string help, std::string example, double least = 1) {
  return {.path = std::move(path),
          .kind = FieldKind::integer,
          .help = std::move(help),
          .example = std::move(example),
          .min = least,
          .max = 1e6};
}

Field number_field(std::string path, std::string help, std::string example) {
  return {.path = std::move(path),
          .kind = FieldKind::number,
          .help = std::move(help),
          .example = std::move(example)};
}

Field text_field(std::string path, std::string help, std::string example) {
  return {.path = std::move(path), .help = std::move(help), .example = std::move(example)};
}

Field group_field(std::string path, std::string help) {
  return {.path = std::move(path), .kind = FieldKind::group, .help = std::move(help)};
}

Field list_field(std::string path, std::string help) {
  return {.path = std::move(path), .kind = FieldKind::list, .help = std::move(help)};
}

Field flag_field(std::string path, std::string help) {
  return {.path = std::move(path),
          .kind = FieldKind::boolean,
          .help = std::move(help),
          .example = "true",
          .default_text = "false"};
}

Field with_default(Field field, std::string text) {
  field.default_text = std::move(text);
  return field;
}

std::vector<Field> machine_fields() {
  Field cluster = group_field("cluster", "The machine that all jobs share.");
  Field host = required(text_field("cluster.host", "Host of the catalog.", "my-host"));
  Field price = {.path = "cluster.price",
                 .kind = FieldKind::quantity,
                 .help = "Price of a GPU-hour.",
                 .example = "2.5 USD/GPU-hour",
                 .dimension = Dimension::price,
                 .min = 0};
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

std::vector<Field> workload_fields() {
  Field replications = count_field(
      "workload.replications",
      "Independent simulations of the horizon; left out: as many as it takes until the mean wait "
      "is known to 2 %, within a limit of work.",
      "50");
  replications.max = 100000;
  Field seed = {.path = "workload.seed",
                .kind = FieldKind::integer,
                .help = "Of the random numbers.",
                .example = "1",
                .default_text = "1",
                .min = 0,
                .max = 2147483647};
  Field start = {.path = "workload.start",
                 .kind = FieldKind::choice,
                 .help =
                     "Whether the cluster is in use at time 0, as after a long time of the same "
                     "arrivals, or empty. Lists and traces begin where they say.",
                 .example = "empty",
                 .default_text = "loaded",
                 .choices = {"loaded", "empty"}};
  return {
      required(group_field("workload", "The jobs.")),
      required(above_zero(time_field("workload.horizon",
                                     "Jobs submitted before are counted, and followed to their "
                                     "end; time 0 is a Monday, 0:00.",
                                     "2 years"))),
      with_default(
          time_field("workload.warm_up", "Jobs submitted before are not counted.", "30 days"),
          "0 s"),
      start,
      seed,
      replications,
      list_field("workload.teams", "Who submits; left out: the teams that classes name."),
      required(text_field("workload.teams[].name", "Name.", "vision")),
      with_default(above_zero(number_field("workload.teams[].share",
                                           "Share of the cluster under fair-share, relative to "
                                           "those of the others.",
                                           "2")),
                   "1"),
      count_field("workload.teams[].quota", "Most hosts at a time.", "16"),
  };
}

std::vector<Field> arrival_fields() {
  Field rate = {.path = "workload.classes[].arrivals.poisson",
                .kind = FieldKind::quantity,
                .help = "Mean rate of arrivals that do not depend on each other.",
                .example = "6 per day",
                .dimension = Dimension::frequency,
                .min = 0,
                .above_min = true};
  const auto shape = [](const char* path, const char* help, const char* example) {
    return Field{
        .path = path, .kind = FieldKind::integer_list, .help = help, .example = example, .min = 0};
  };
  Field at = {.path = "workload.classes[].arrivals.at",
              .kind = FieldKind::text_list,
              .help = "Times of submission, one by one.",
              .example = "[0 h, 3 h, 3 h]"};
  return {
      group_field("workload.classes[].arrivals",
                  "When jobs are submitted: one of `poisson`, "
                  "`every` and `at`."),
      rate,
      shape("workload.classes[].arrivals.day",
            "24 relative rates of the hours of a day; the mean stays that of `poisson`.",
            "[1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 6, 8, 8, 8, 8, 6, 4, 2, 2, 1, 1, 1]"),
      shape("workload.classes[].arrivals.week", "7 relative rates of the days, Monday first.",
            "[5, 5, 5, 5, 4, 1, 1]"),
      list_field("workload.classes[].arrivals.peaks",
                 "More or fewer arrivals for a while, such as before a conference's deadline."),
      required(time_field("workload.classes[].arrivals.peaks[].from", "Start.", "90 days")),
      required(above_zero(
          time_field("workload.classes[].arrivals.peaks[].lasts", "Length.", "4 weeks"))),
      above_zero(time_field("workload.classes[].arrivals.peaks[].every",
                            "Repeated after that time.", "1 year")),
      required(Field{.path = "workload.classes[].arrivals.peaks[].factor",
                     .kind = FieldKind::number,
                     .help = "Times the rate.",
                     .example = "3",
                     .min = 0,
                     .max = 1000}),
      above_zero(time_field("workload.classes[].arrivals.every",
                            "One job at time 0 and after each such time.", "4 h")),
      at,
  };
}

std::vector<Field> duration_fields() {
  Field duration = group_field("workload.classes[].duration",
                               "Time on hosts, as one of these distributions; a time alone is "
                               "`fixed`.");
  duration.scalar_child = "fixed";
  const auto mean_of = [](const char* path) {
    return required(above_zero(time_field(path, "Mean.", "96 h")));
  };
  const auto variation = [](const char* path) {
    Field field = above_zero(
        number_field(path, "Coefficient of variation: standard deviation over mean.", "2"));
    field.max = 1000;
    return field;
  };
  Field values = {.path = "workload.classes[].duration.empirical",
                  .kind = FieldKind::text_list,
                  .help = "Durations that are all as likely, such as measured ones.",
                  .example = "[20 min, 3 h, 40 h]"};
  return {
      duration,
      above_zero(time_field("workload.classes[].duration.fixed", "Always that.", "96 h")),
      above_zero(time_field("workload.classes[].duration.exponential", "Mean.", "96 h")),
      group_field("workload.classes[].duration.uniform", "Evenly between two times."),
      required(time_field("workload.classes[].duration.uniform.from", "Shortest.", "1 h")),
      required(
          above_zero(time_field("workload.classes[].duration.uniform.to", "Longest.", "24 h"))),
      group_field("workload.classes[].duration.lognormal",
                  "Log-normal: `mean` with `cv` or `median`."),
      mean_of("workload.classes[].duration.lognormal.mean"),
      variation("workload.classes[].duration.lognormal.cv"),
      above_zero(time_field("workload.classes[].duration.lognormal.median",
                            "Median, below the mean.", "20 h")),
      group_field("workload.classes[].duration.gamma", "Gamma: `mean` and `cv`."),
      mean_of("workload.classes[].duration.gamma.mean"),
      required(variation("workload.classes[].duration.gamma.cv")),
      values,
  };
}

std::vector<Field> class_fields() {
  Field limit =
      group_field("workload.classes[].limit",
                  "Time limit that jobs are submitted with, at which they are killed: a "
                  "time, or a `factor` of their duration. Left out: the duration itself.");
  limit.scalar_child = "time";
  Field size_weight = with_default(above_zero(number_field("workload.classes[].sizes[].weight",
                                                           "How common, relative to the "
                                                           "other sizes.",
                                                           "3")),
                                   "1");
  Field trace = group_field("workload.classes[].trace",
                            "A log that is replayed: CSV, of sacct, or "
                            "in Standard Workload Format.");
  trace.scalar_child = "file";
  return {
      required(list_field("workload.classes", "Jobs that are alike.")),
      required(text_field("workload.classes[].name", "Name.", "single")),
      text_field("workload.classes[].team", "Who submits them.", "vision"),
      count_field("workload.classes[].hosts", "Hosts of each job.", "4"),
      list_field("workload.classes[].sizes", "Several numbers of hosts instead."),
      required(count_field("workload.classes[].sizes[].hosts", "Hosts.", "8")),
      size_weight,
      list_field("workload.classes[].moldable",
                 "Numbers of hosts among which a job's is chosen when it starts "
                 "(`policy.molding`), upwards."),
      required(count_field("workload.classes[].moldable[].hosts", "Hosts.", "8")),
      above_zero(number_field("workload.classes[].moldable[].speed",
                              "`duration` over the time on these hosts; beside a scenario left "
                              "out: forecasts say it.",
                              "1.9")),
      text_field("workload.classes[].scenario",
                 "Scenario whose forecast is the duration, with its goodput; beside `hosts` on so "
                 "many.",
                 "llama.yaml"),
      trace,
      required(
          text_field("workload.classes[].trace.file",
                     "CSV with the columns submit_s, duration_s, hosts and maybe limit_s; what "
                     "sacct -X -P -o submit,start,end,nnodes,timelimit prints; or a .swf file.",
                     "jobs.csv")),
      count_field("workload.classes[].trace.processors_per_host",
                  "Of a .swf file: processors that count as one host.", "8"),
      limit,
      above_zero(time_field("workload.classes[].limit.time", "The same for all.", "7 days")),
      above_zero(number_field("workload.classes[].limit.factor", "Times the duration.", "2")),
      with_default(number_field("workload.classes[].priority", "Higher starts first.", "10"), "0"),
      flag_field("workload.classes[].preemptible", "Jobs of higher priority may stop these."),
      above_zero(time_field("workload.classes[].checkpoint_every",
                            "Time between checkpoints; left out: interrupted jobs begin anew.",
                            "30 min")),
      with_default(time_field("workload.classes[].restart",
                              "From a start after an interruption to productive time.", "10 min"),
                   "0 s"),
      flag_field("workload.classes[].within_leaf", "All hosts of a job on one leaf."),
      {.path = "workload.classes[].scattered_slowdown",
       .kind = FieldKind::number,
       .help = "Duration on more leaves than a job needs over that on as few as possible: what "
               "neighbours on shared uplinks cost; limits by factor have room for it.",
       .example = "1.08",
       .default_text = "1",
       .min = 1,
       .max = 1000},
      above_zero(time_field("workload.classes[].deadline",
                            "A job should end this long after its submission.", "7 days")),
      {.path = "workload.classes[].bursts",
       .kind = FieldKind::boolean,
       .help = "Whether its jobs leave for rented hosts after `cluster.burst.after`.",
       .example = "false",
       .default_text = "true"},
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
    for (auto part : {machine_fields(), workload_fields(), class_fields(), arrival_fields(),
                      duration_fields(), policy_fields()})
      for (Field& field : part) all.push_back(std::move(field));
    return all;
  }());
  return table;
}

}  // namespace foretrain
