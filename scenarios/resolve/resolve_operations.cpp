// SPDX-License-Identifier: Apache-2.0
#include "scenarios/resolve/resolve_operations.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "models/run/run_model.hpp"
#include "scenarios/resolve/internal/resolve_steps.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// Reads the keys of one group.
class OperationKeys {
 public:
  OperationKeys(const FieldValues& values, std::string path) : values_{values}, path_{std::move(path)} {}

  template <class Q>
  void set(std::optional<Q>& target, const char* key) const {
    target = values_.optional_quantity<Q>(path_ + key);
  }
  void set(std::optional<double>& target, const char* key) const {
    target = values_.optional_number(path_ + key);
  }
  void set(std::optional<int>& target, const char* key) const {
    if (values_.has(path_ + key)) target = values_.integer(path_ + key);
  }
  void set(double& target, const char* key) const {
    if (values_.has(path_ + key)) target = values_.number(path_ + key);
  }
  void set(bool& target, const char* key) const {
    if (values_.has(path_ + key)) target = values_.boolean(path_ + key);
  }

 private:
  const FieldValues& values_;
  std::string path_;
};

/// Calls `read` with the path of every element of a list, "list[0]." and so on.
template <class Read>
void for_each(const FieldValues& values, const std::string& list, Read read) {
  for (int i = 0; i < values.list_size(list); ++i) read(fmt::format("{}[{}].", list, i));
}

InterruptionFacts interruptions_of(const FieldValues& values) {
  const std::string base = "operations.interruptions.";
  InterruptionFacts facts;
  const OperationKeys group{values, base};
  group.set(facts.per_gpu_hour, "per_gpu_hour");
  group.set(facts.per_1000_node_days, "per_1000_node_days");
  group.set(facts.planned_every, "planned_every");
  group.set(facts.planned_pause, "planned_pause");
  for_each(values, base + "components", [&](const std::string& path) {
    if (values.has(path + "name") && values.has(path + "per") && values.has(path + "every"))
      facts.components.push_back({values.text(path + "name"),
                                  values.choice<ComponentKind>(path + "per"),
                                  values.quantity<Seconds>(path + "every")});
  });
  for_each(values, base + "curve", [&](const std::string& path) {
    if (values.has(path + "gpus") && values.has(path + "every"))
      facts.curve.push_back(
          {values.number(path + "gpus"), values.quantity<Seconds>(path + "every")});
  });
  for_each(values, base + "trace", [&](const std::string& path) {
    if (values.has(path + "at"))
      facts.trace.push_back({values.quantity<Seconds>(path + "at"),
                             values.optional_quantity<Seconds>(path + "down")});
  });
  return facts;
}

void read_recovery(const FieldValues& values, Operations& operations) {
  const OperationKeys recovery{values, "operations.recovery."};
  recovery.set(operations.recovery.detection, "detection");
  recovery.set(operations.recovery.reschedule, "reschedule");
  recovery.set(operations.recovery.reload, "reload");
  const OperationKeys spares{values, "operations.spares."};
  spares.set(operations.spares.hosts, "hosts");
  spares.set(operations.spares.repair, "repair");
  spares.set(operations.spares.share, "share");
  const OperationKeys slow{values, "operations.fail_slow."};
  slow.set(operations.fail_slow.every, "every");
  slow.set(operations.fail_slow.per_1000_node_days, "per_1000_node_days");
  slow.set(operations.fail_slow.pace, "pace");
  slow.set(operations.fail_slow.lasts, "lasts");
  slow.set(operations.fail_slow.restart, "restart");
  const OperationKeys preemption{values, "operations.preemption."};
  preemption.set(operations.preemption.every, "every");
  preemption.set(operations.preemption.notice, "notice");
  preemption.set(operations.preemption.wait, "wait");
}

void read_checkpoint(const FieldValues& values, Operations& operations) {
  const OperationKeys checkpoint{values, "operations.checkpoint."};
  checkpoint.set(operations.checkpoint_every, "every");
  checkpoint.set(operations.checkpoint_write_bandwidth, "write_bandwidth");
  checkpoint.set(operations.checkpoint.every_steps, "every_steps");
  checkpoint.set(operations.checkpoint.optimal, "optimal");
  checkpoint.set(operations.checkpoint.size, "size");
  checkpoint.set(operations.checkpoint.read_bandwidth, "read_bandwidth");
  checkpoint.set(operations.checkpoint.stall, "stall");
  if (values.has("operations.checkpoint.mode"))
    operations.checkpoint_mode = values.choice<CheckpointMode>("operations.checkpoint.mode");
  const OperationKeys storage{values, "operations.storage."};
  storage.set(operations.storage.read, "read");
  storage.set(operations.storage.write, "write");
  storage.set(operations.storage.host_link, "host_link");
}

void read_flow(const FieldValues& values, Operations& operations) {
  const OperationKeys evaluation{values, "operations.evaluation."};
  evaluation.set(operations.evaluation.every_steps, "every_steps");
  evaluation.set(operations.evaluation.pause, "pause");
  const OperationKeys loading{values, "operations.data_loading."};
  loading.set(operations.loading.workers, "workers");
  loading.set(operations.loading.tokens_per_worker, "tokens_per_worker");
  loading.set(operations.loading.bytes_per_token, "bytes_per_token");
  for_each(values, "operations.batch_ramp", [&](const std::string& path) {
    if (values.has(path + "global_batch") && values.has(path + "tokens"))
      operations.batch_ramp.push_back(
          {values.integer(path + "global_batch"), values.number(path + "tokens")});
  });
}

void read_money(const FieldValues& values, Operations& operations) {
  const OperationKeys owned{values, "operations.owned."};
  owned.set(operations.owned.gpu, "gpu");
  owned.set(operations.owned.network, "network");
  owned.set(operations.owned.storage, "storage");
  owned.set(operations.owned.lifetime, "lifetime");
  owned.set(operations.owned.utilisation, "utilisation");
  owned.set(operations.owned.staff, "staff");
  owned.set(operations.owned.upkeep, "upkeep");
  const OperationKeys power{values, "operations.power."};
  power.set(operations.power.electricity, "electricity");
  power.set(operations.power.pue, "pue");
  power.set(operations.power.host, "host");
  power.set(operations.power.network, "network");
  power.set(operations.power.gpu_busy, "gpu_busy");
  power.set(operations.power.gpu_waiting, "gpu_waiting");
  power.set(operations.power.gpu_idle, "gpu_idle");
  power.set(operations.power.carbon_kg_per_joule, "carbon");
  if (values.has("operations.prices_as_of"))
    operations.prices_as_of = values.text("operations.prices_as_of");
}

bool is_given(const FieldValues& values, const std::string& path) {
  const FieldValue* value = values.find(path);
  return (value && !value->is_default) || values.list_size(path) > 0;
}

/// Reports every given path but the first: they answer the same question.
template <std::size_t N>
void at_most_one(const FieldValues& values, const std::array<const char*, N>& paths,
                 Diagnostics& diagnostics) {
  const char* first = nullptr;
  for (const char* path : paths) {
    if (!is_given(values, path)) continue;
    if (first)
      report(values, path, fmt::format("{} says the same; leave one of them out", first),
             diagnostics);
    else
      first = path;
  }
}

/// Reports elements of a list whose `key` is not above the one before.
void check_order(const FieldValues& values, const std::string& list, const std::string& key,
                 Diagnostics& diagnostics) {
  double last = 0.0;
  for_each(values, list, [&](const std::string& path) {
    if (!values.has(path + key)) return;
    const double value = values.number(path + key);
    if (value <= last)
      report(values, path + key, "must be larger than in the element before", diagnostics);
    last = value;
  });
}

bool is_digits(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_date(const std::string& text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const std::string year = text.substr(0, 4);
  const std::string month = text.substr(5, 2);
  const std::string day = text.substr(8, 2);
  if (!is_digits(year) || !is_digits(month) || !is_digits(day)) return false;
  const int y = std::stoi(year);
  const int m = std::stoi(month);
  const bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
  constexpr std::array<int, 12> month_days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (m < 1 || m > 12) return false;
  const int last = m == 2 && leap ? 29 : month_days[static_cast<std::size_t>(m - 1)];
  return std::stoi(day) >= 1 && std::stoi(day) <= last;
}

}  // namespace

Operations operations_of(const FieldValues& values) {
  Operations operations;
  const OperationKeys group{values, "operations."};
  group.set(operations.mean_time_between_interruptions, "mean_time_between_interruptions");
  group.set(operations.restart, "restart");
  group.set(operations.warm_up, "warm_up");
  group.set(operations.queue, "queue");
  group.set(operations.deadline, "deadline");
  group.set(operations.price_per_gpu, "price");
  operations.interruptions = interruptions_of(values);
  read_recovery(values, operations);
  read_checkpoint(values, operations);
  read_flow(values, operations);
  read_money(values, operations);
  return operations;
}

void check_operations(const FieldValues& values, Diagnostics& diagnostics) {
  at_most_one<7>(
      values,
      {"operations.mean_time_between_interruptions", "operations.interruptions.per_gpu_hour",
       "operations.interruptions.per_1000_node_days", "operations.interruptions.components",
       "operations.interruptions.curve", "operations.interruptions.trace",
       "operations.interruptions.trace_file"},
      diagnostics);
  at_most_one<3>(values,
                 {"operations.checkpoint.every", "operations.checkpoint.every_steps",
                  "operations.checkpoint.optimal"},
                 diagnostics);
  at_most_one<2>(values, {"operations.fail_slow.every", "operations.fail_slow.per_1000_node_days"},
                 diagnostics);
  for (const char* part : {"detection", "reschedule", "reload"})
    at_most_one<2>(values,
                   {"operations.restart", ("operations.recovery." + std::string(part)).c_str()},
                   diagnostics);
  at_most_one<2>(values, {"operations.price", "operations.owned.gpu"}, diagnostics);
  check_order(values, "operations.interruptions.curve", "gpus", diagnostics);
  check_order(values, "operations.interruptions.trace", "at", diagnostics);
  if (values.has("operations.prices_as_of") && !is_date(values.text("operations.prices_as_of")))
    report(
        values, "operations.prices_as_of",
        in_quotes(values.text("operations.prices_as_of")) + " is not a day; write it as YYYY-MM-DD",
        diagnostics);
}

void check_batch_ramp(const FieldValues& values, const Job& job, Diagnostics& diagnostics) {
  if (job.operations.batch_ramp.empty() || job.training.micro_batch < 1 || job.parallel.data < 1)
    return;
  for (const std::string& problem : broken_ramp(job))
    report(values, "operations.batch_ramp", problem, diagnostics);
}

std::vector<Outage> read_trace(const std::string& text, const std::string& name,
                               Diagnostics& diagnostics) {
  std::vector<Outage> trace;
  const auto file = std::make_shared<const std::string>(name);
  const auto complain = [&](int line, std::string message) {
    diagnostics.add(Mark{file, line, 1}, "", std::move(message));
  };
  int number = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (number == 1) {
      if (line != "at,down") complain(1, "the first line must be at,down");
      continue;
    }
    if (line.empty()) continue;
    const std::size_t comma = line.find(',');
    const Parsed<double> at = parse_quantity(line.substr(0, comma), Dimension::time);
    if (!at.value || *at.value <= (trace.empty() ? 0.0 : trace.back().at.value())) {
      complain(number, at.value ? "times must increase" : at.error);
      continue;
    }
    Outage outage{Seconds{*at.value}, std::nullopt};
    const std::string_view tail =
        comma == std::string_view::npos ? std::string_view{} : line.substr(comma + 1);
    if (!tail.empty()) {
      const Parsed<double> down = parse_quantity(tail, Dimension::time);
      if (!down.value || *down.value < 0.0) {
        complain(number, down.value ? "a time must not be negative" : down.error);
        continue;
      }
      outage.down = Seconds{*down.value};
    }
    trace.push_back(outage);
  }
  if (trace.empty()) complain(number, "has no interruptions");
  return trace;
}

}  // namespace foretrain
