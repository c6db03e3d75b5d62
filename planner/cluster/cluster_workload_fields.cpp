// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/internal/cluster_field_makers.hpp"

namespace foretrain {
namespace {

using field_makers::above_zero;
using field_makers::count_field;
using field_makers::flag_field;
using field_makers::group_field;
using field_makers::list_field;
using field_makers::number_field;
using field_makers::required;
using field_makers::text_field;
using field_makers::time_field;
using field_makers::with_default;

std::vector<Field> horizon_fields() {
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
  Field size_weight = with_default(above_zero(number_field("workload.classes[].sizes[].weight",
                                                           "How common, relative to the "
                                                           "other sizes.",
                                                           "3")),
                                   "1");
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
  };
}

std::vector<Field> trace_fields() {
  Field trace = group_field("workload.classes[].trace",
                            "A log that is replayed: CSV, of sacct, or "
                            "in Standard Workload Format.");
  trace.scalar_child = "file";
  return {
      trace,
      required(text_field(
          "workload.classes[].trace.file",
          "CSV with the columns submit_s, duration_s, hosts and maybe limit_s, wait_s, "
          "team, queue, gpus, eligible_s, job and after (the job above that it follows), "
          "or with submit_time, start_time, end_time and node_num as the traces of "
          "Helios and Acme; what sacct -X -P -o "
          "submit,eligible,start,end,nnodes,timelimit,alloctres,account prints; or a "
          ".swf file. Jobs are of the log's teams where the class names none; queues "
          "are for `cluster fit`.",
          "jobs.csv")),
      count_field("workload.classes[].trace.processors_per_host",
                  "Of a .swf file: processors that count as one host.", "8"),
  };
}

std::vector<Field> running_fields() {
  Field limit =
      group_field("workload.classes[].limit",
                  "Time limit that jobs are submitted with, at which they are killed: a "
                  "time, or a `factor` of their duration. Left out: the duration itself.");
  limit.scalar_child = "time";
  return {
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

}  // namespace

std::vector<Field> workload_fields() {
  std::vector<Field> all;
  for (auto part : {horizon_fields(), class_fields(), trace_fields(), running_fields(),
                    arrival_fields(), duration_fields()})
    for (Field& field : part) all.push_back(std::move(field));
  return all;
}

}  // namespace foretrain
