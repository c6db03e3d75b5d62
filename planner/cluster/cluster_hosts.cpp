// SPDX-License-Identifier: Apache-2.0
#include "planner/cluster/cluster_hosts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "planner/answer/value_json.hpp"
#include "planner/cluster/cluster_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

constexpr int most_growth = 64;

std::string trimmed_words(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

const ClassSummary& judged(const QueueGoal& goal, const HostsRow& row) {
  if (goal.job_class.empty()) return row.summary.all;
  const auto& classes = row.file.queue.classes;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i].name == goal.job_class) return row.summary.classes[i];
  FORETRAIN_REQUIRE(false);
  return row.summary.all;
}

/// What the goal is about, in seconds or as a share.
QueueEstimate estimate_of(const QueueGoal& goal, const HostsRow& row) {
  const ClassSummary& jobs = judged(goal, row);
  if (goal.is_deadlines()) return jobs.in_time.value_or(QueueEstimate{1.0});
  const QueueTimes& wait = jobs.wait;
  for (const auto& [name, member] : queue_statistics)
    if (goal.statistic == name) return wait.*member;
  return wait.mean;
}

bool holds(const QueueGoal& goal, double value) {
  return goal.is_deadlines() ? value >= goal.least : value <= goal.most.value();
}

/// A queue without steady state keeps nothing, whatever its horizon shows.
bool keeps(const QueueGoal& goal, const HostsRow& row) {
  if (!has_steady_state(row.file.queue)) return false;
  return holds(goal, estimate_of(goal, row).value);
}

bool is_sure(const QueueGoal& goal, const HostsRow& row) {
  const QueueEstimate estimate = estimate_of(goal, row);
  return !estimate.low || holds(goal, *estimate.low) == holds(goal, *estimate.high);
}

/// Rows that were simulated, each once.
class HostsTried {
 public:
  HostsTried(const FileWithHosts& file_with, const QueueStudyOptions& options)
      : file_with_{file_with}, options_{options} {}

  /// Null after a signal.
  const HostsRow* at(int hosts) {
    if (const auto found = rows_.find(hosts); found != rows_.end()) return &found->second;
    ClusterFile file = file_with_(hosts);
    QueueStudyOptions wanted = options_;
    if (wanted.replications == 0) wanted.replications = file.replications;
    auto summary = study_queue(file.queue, wanted);
    if (!summary || summary->stopped) {
      stopped_ = true;
      return nullptr;
    }
    return &rows_.emplace(hosts, HostsRow{std::move(file), std::move(*summary)}).first->second;
  }
  [[nodiscard]] bool stopped() const { return stopped_; }
  std::vector<HostsRow> take() {
    std::vector<HostsRow> rows;
    for (auto& [hosts, row] : rows_) rows.push_back(std::move(row));
    return rows;
  }

 private:
  const FileWithHosts& file_with_;
  const QueueStudyOptions& options_;
  std::map<int, HostsRow> rows_;
  bool stopped_ = false;
};

/// Largest job, and the hosts that the jobs fill on average.
int least_hosts(const QueueModel& queue) {
  int least = std::max(1, static_cast<int>(std::floor(offered_load(queue) * queue.hosts)));
  for (const QueueClass& jobs : queue.classes) least = std::max(least, jobs.most_hosts());
  for (const QueueBlock& block : queue.blocks)
    if (block.team) least = std::max(least, block.hosts);
  return least;
}

struct HostsClassShown {
  const QueueClass& jobs;
  const ClassSummary& summary;
};

const ValueTable<HostsClassShown> hosts_class_values = [] {
  ValueTable<HostsClassShown> rows;
  rows.add("name", [](const HostsClassShown& shown) { return shown.jobs.name; });
  for (const auto& [name, member] : queue_statistics)
    rows.add(std::string("wait_s.") + name, [member = member](const HostsClassShown& shown) {
      return (shown.summary.wait.*member).value;
    });
  return rows
      .add("deadlines_met",
           [](const HostsClassShown& shown) {
             const auto& met = shown.summary.in_time;
             return met ? std::optional(met->value) : std::nullopt;
           })
      .as(Measure::share);
}();

std::vector<HostsClassShown> hosts_classes_of(const HostsRow& row) {
  std::vector<HostsClassShown> classes;
  for (std::size_t i = 0; i < row.file.queue.classes.size(); ++i)
    classes.push_back({row.file.queue.classes[i], row.summary.classes[i]});
  return classes;
}

const ValueTable<HostsRow> hosts_row_values = [] {
  ValueTable<HostsRow> rows;
  rows.add("hosts", [](const HostsRow& row) { return row.file.queue.hosts; })
      .add("gpus", [](const HostsRow& row) { return row.file.gpus(); })
      .add("offered_load", [](const HostsRow& row) { return offered_load(row.file.queue); })
      .add("utilisation.allocated", [](const HostsRow& row) { return row.summary.allocated.value; })
      .add("utilisation.productive",
           [](const HostsRow& row) { return row.summary.productive.value; });
  for (const auto& [name, member] : queue_statistics)
    rows.add(std::string("wait_s.") + name, [member = member](const HostsRow& row) {
      return (row.summary.all.wait.*member).value;
    });
  for (const auto& [name, member] : queue_statistics)
    rows.add(std::string("wait_confidence_s.") + name, [member = member](const HostsRow& row) {
      return confidence_of(row.summary.all.wait.*member);
    });
  return rows.add("classes", hosts_classes_of, hosts_class_values)
      .add("cost_usd",
           [](const HostsRow& row) { return cluster_cost(row.file, row.summary).together; })
      .add("rented_gpu_hours",
           [](const HostsRow& row) { return cluster_cost(row.file, row.summary).rented_gpu_hours; })
      .add("replications", [](const HostsRow& row) { return row.summary.replications; });
}();

const ValueTable<QueueGoal> goal_values =
    ValueTable<QueueGoal>{}
        .add(
            "class", [](const QueueGoal& goal) { return if_any(goal.job_class); },
            "Class that the goal is about; null: all jobs.")
        .add("statistic", &QueueGoal::statistic)
        .add("most_s",
             [](const QueueGoal& goal) {
               return goal.is_deadlines() ? std::nullopt : std::optional(goal.most);
             })
        .add("least_share", [](const QueueGoal& goal) {
          return goal.is_deadlines() ? std::optional(goal.least) : std::nullopt;
        });

const ValueTable<HostsStudy> hosts_study_table =
    ValueTable<HostsStudy>{"cluster-hosts/1",
                           "foretrain cluster --hosts, --wait or --deadlines, --json: schema "
                           "cluster-hosts/1; null is unknown"}
        .add("name", &HostsStudy::name)
        .add("goal", &HostsStudy::goal, goal_values)
        .add("fewest_hosts", &HostsStudy::fewest,
             "Fewest hosts that keep the goal; null: none do, or there is no goal.")
        .add("stopped", &HostsStudy::stopped)
        .add("rows", &HostsStudy::rows, hosts_row_values,
             "One row per number of hosts, ascending.");

/// What own and rented hosts cost together; empty where rows do not say it.
AnswerSection costs_section(const HostsStudy& study) {
  AnswerTable table{{number_column("hosts"), number_column("own"),
                     number_column("rented GPU-hours"), number_column("rented"),
                     number_column("together")}};
  const HostsRow* cheapest = nullptr;
  std::optional<Dollars> least;
  for (const HostsRow& row : study.rows) {
    const ClusterCost cost = cluster_cost(row.file, row.summary);
    if (!cost.together) return {};
    table.add({with_thousands(row.file.queue.hosts), dollars_text(*cost.own),
               count_text(cost.rented_gpu_hours), dollars_text(*cost.rented),
               dollars_text(*cost.together)});
    if (least && *least <= *cost.together) continue;
    least = cost.together;
    cheapest = &row;
  }
  if (cheapest == nullptr) return {};
  return {
      "Own and rented hosts",
      {std::move(table),
       AnswerLine{fmt::format("Of these, {} own hosts are the cheapest: {} between warm-up and "
                              "horizon.",
                              with_thousands(cheapest->file.queue.hosts), dollars_text(*least))}}};
}

AnswerHead hosts_head(const HostsStudy& study) {
  AnswerHead head;
  head.subject = study.name;
  head.words = "waits by number of hosts";
  head.made_by = "simulated";
  if (!study.goal) return head;
  const std::string wanted = study.goal->text();
  if (study.fewest) {
    head.verdict = Verdict::safe;
    head.words = fmt::format("{} HOSTS", with_thousands(*study.fewest));
  } else if (!study.stopped) {
    head.verdict = Verdict::no;
    head.words = "NO ANSWER";
    head.sentence = fmt::format("No number of hosts that was tried keeps {}.", wanted);
  } else {
    head.sentence = "Interrupted: the search has no answer.";
  }
  for (const HostsRow& row : study.rows) {
    if (row.file.queue.hosts != study.fewest) continue;
    const bool sure = is_sure(*study.goal, row);
    if (!sure) head.verdict = Verdict::at_risk;
    head.sentence =
        fmt::format("{} hosts ({} GPUs) are the fewest that keep {}{}.",
                    with_thousands(*study.fewest), with_thousands(row.file.gpus()), wanted,
                    sure ? "" : "; the confidence interval of the estimate reaches beyond that");
  }
  return head;
}

}  // namespace

std::string QueueGoal::text() const {
  if (is_deadlines())
    return fmt::format("{}{:.4g} % of deadlines", job_class.empty() ? "" : job_class + " ",
                       100.0 * least);
  const std::string name = statistic == "mean" ? statistic : "P" + statistic.substr(1);
  return (job_class.empty() ? "" : job_class + " ") + name +
         " wait <= " + format_quantity(most.value(), Dimension::time);
}

QueueGoal wait_goal(const std::string& where, const std::string& text) {
  const std::string form =
      where + " " + in_quotes(text) +
      " is not of the form \"P90 <= 4 h\" or \"CLASS mean <= 30 min\" (mean, P50, P90 or P99)";
  const std::size_t sign = text.find("<=");
  if (sign == std::string::npos) throw UsageError(form);
  const std::string left = trimmed_words(text.substr(0, sign));
  const std::size_t blank = left.find_last_of(' ');
  QueueGoal goal;
  goal.statistic = lower_case(blank == std::string::npos ? left : left.substr(blank + 1));
  if (blank != std::string::npos) goal.job_class = trimmed_words(left.substr(0, blank));
  if (std::ranges::none_of(queue_statistics,
                           [&](const auto& known) { return goal.statistic == known.first; }))
    throw UsageError(form);
  const auto most = parse_quantity(trimmed_words(text.substr(sign + 2)), Dimension::time);
  if (!most.value || *most.value < 0.0)
    throw UsageError(most.value ? form : where + ": " + most.error);
  goal.most = Seconds{*most.value};
  return goal;
}

QueueGoal deadlines_goal(const std::string& where, const std::string& text) {
  const std::string form =
      where + " " + in_quotes(text) + " is not of the form \"95 %\" or \"CLASS 95 %\"";
  const std::string whole = trimmed_words(text);
  if (whole.empty() || whole.back() != '%') throw UsageError(form);
  const std::string left = trimmed_words(whole.substr(0, whole.size() - 1));
  const std::size_t blank = left.find_last_of(' ');
  QueueGoal goal;
  goal.statistic = "deadlines";
  if (blank != std::string::npos) goal.job_class = trimmed_words(left.substr(0, blank));
  const std::string number = blank == std::string::npos ? left : left.substr(blank + 1);
  goal.least = share_value(where, number + " %");
  if (!(goal.least > 0.0 && goal.least <= 1.0)) throw UsageError(form);
  return goal;
}

void check_goal(const std::string& where, const QueueGoal& goal, const ClusterFile& file) {
  std::vector<std::string> names;
  bool any_deadline = false;
  for (const QueueClass& jobs : file.queue.classes) {
    names.push_back(jobs.name);
    if (goal.job_class.empty() || goal.job_class == jobs.name)
      any_deadline = any_deadline || jobs.deadline.has_value();
  }
  if (!goal.job_class.empty() && !contains(names, goal.job_class))
    throw UsageError(where + ": " + in_quotes(goal.job_class) + " is not one of the classes: " +
                     joined(names) + nearest_hint(goal.job_class, names));
  if (goal.is_deadlines() && !any_deadline)
    throw UsageError(where + ": no deadline is given for " +
                     (goal.job_class.empty() ? "any class" : "class " + in_quotes(goal.job_class)) +
                     " (workload.classes[].deadline)");
}

HostsStudy study_hosts(const std::vector<int>& hosts, const FileWithHosts& file_with,
                       const QueueStudyOptions& options) {
  HostsTried tried(file_with, options);
  for (const int count : hosts)
    if (tried.at(count) == nullptr) break;
  HostsStudy study;
  study.stopped = tried.stopped();
  study.rows = tried.take();
  if (!study.rows.empty()) study.name = study.rows.front().file.name;
  return study;
}

HostsStudy fewest_hosts(const ClusterFile& file, const QueueGoal& goal,
                        const FileWithHosts& file_with, const QueueStudyOptions& options) {
  HostsTried tried(file_with, options);
  const auto good = [&](int hosts) {
    const HostsRow* row = tried.at(hosts);
    return row != nullptr && keeps(goal, *row);
  };
  const int least = least_hosts(file.queue);
  const int most = most_growth * std::max(least, file.queue.hosts);
  int bad = least - 1;
  int fine = least;
  for (int step = std::max(1, least / 8); !good(fine) && !tried.stopped() && fine < most;
       step *= 2) {
    bad = fine;
    fine = std::min(most, fine + step);
  }
  const bool any = good(fine);
  while (any && fine - bad > 1 && !tried.stopped()) {
    const int middle = bad + (fine - bad) / 2;
    (good(middle) ? fine : bad) = middle;
  }
  HostsStudy study;
  study.name = file.name;
  study.goal = goal;
  if (any && !tried.stopped()) study.fewest = fine;
  study.stopped = tried.stopped();
  study.rows = tried.take();
  return study;
}

Answer hosts_answer(const HostsStudy& study) {
  Answer answer{hosts_head(study)};
  const bool deadlines = study.goal && study.goal->is_deadlines();
  AnswerTable table{{number_column("hosts"), number_column("GPUs"), number_column("used"),
                     number_column("mean wait"), number_column(deadlines ? "deadlines" : "P50"),
                     number_column("P90"), number_column("P99")}};
  for (const HostsRow& row : study.rows) {
    const ClassSummary& jobs = study.goal ? judged(*study.goal, row) : row.summary.all;
    const auto time = [](const QueueEstimate& value) {
      return duration_text(Seconds{value.value});
    };
    table.add({with_thousands(row.file.queue.hosts), with_thousands(row.file.gpus()),
               percent_text(row.summary.allocated.value), time(jobs.wait.mean),
               deadlines ? percent_text(estimate_of(*study.goal, row).value) : time(jobs.wait.p50),
               time(jobs.wait.p90), time(jobs.wait.p99)});
  }
  answer.add("", std::move(table));
  answer.add(costs_section(study));
  if (std::ranges::any_of(study.rows,
                          [](const HostsRow& row) { return !has_steady_state(row.file.queue); }))
    answer.add("",
               AnswerLine{"Where the jobs want more hosts than there are, the queue grows with the "
                          "horizon: such waits have no steady state."});
  return answer;
}

std::string hosts_study_json(const HostsStudy& study) {
  return json_text(hosts_study_table, study);
}

const ValueRows& hosts_study_document() { return hosts_study_table.rows(); }

}  // namespace foretrain
