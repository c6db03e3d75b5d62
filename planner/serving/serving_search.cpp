// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "models/serving/deployment.hpp"
#include "models/serving/steady_load.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {
namespace {

constexpr int widest_tensor = 8;
constexpr int widest_experts = 64;

/// Layouts of one replica that are worth a look for the scenario's model on its hosts, smallest
/// first: powers of two of tensor ranks within a scale-up domain; of mixtures of experts also with
/// experts spread over them, and attention data parallel over up to 64 GPUs; two to eight stages of
/// whole hosts.
std::vector<ServingLayout> serving_layouts(const Scenario& scenario) {
  const LlmShape& model = scenario.job.model;
  const Host& host = scenario.job.cluster.host;
  const int domain = host.gpus * host.domain_hosts;
  std::vector<ServingLayout> layouts;
  for (int ranks = 1; ranks <= std::min(widest_tensor, domain); ranks *= 2) {
    if (model.heads % ranks != 0) break;
    layouts.push_back({.tensor = ranks});
    if (model.moe && ranks > 1) layouts.push_back({.tensor = ranks, .expert = ranks});
  }
  for (int ranks = 2; model.moe && ranks <= widest_experts; ranks *= 2)
    if (model.moe->experts % ranks == 0)
      layouts.push_back({.tensor = 1, .attention_data = ranks, .expert = ranks});
  const int across = std::min({widest_tensor, host.gpus, domain});
  for (int stages = 2; stages <= 8; stages *= 2)
    if (model.heads % across == 0) layouts.push_back({.tensor = across, .pipeline = stages});
  std::ranges::stable_sort(
      layouts, [](const ServingLayout& a, const ServingLayout& b) { return a.gpus() < b.gpus(); });
  return layouts;
}

constexpr int screened_requests = 6000;

bool is_set(const std::atomic<bool>* stop) {
  return stop != nullptr && stop->load(std::memory_order_relaxed);
}

int total_gpus(const ServingPlan& plan) {
  return plan.layout.gpus() * plan.layout.replicas + plan.prefill.gpus() * plan.prefill.replicas;
}

/// A scenario whose plans are tried, and the machines of other sizes.
class Trial {
 public:
  Trial(const Scenario& scenario, const std::atomic<bool>* stop)
      : scenario_{scenario}, stop_{stop} {}

  [[nodiscard]] const Scenario& scenario() const { return scenario_; }
  [[nodiscard]] bool stopped() const { return is_set(stop_); }

  [[nodiscard]] ReadyServing ready(const ServingPlan& plan) {
    return ready_serving(scenario_, plan, cluster(hosts_for(plan)));
  }
  [[nodiscard]] int hosts_for(const ServingPlan& plan) const {
    const int each = scenario_.job.cluster.host.gpus;
    return (total_gpus(plan) + each - 1) / each;
  }
  /// Under the first requests.
  [[nodiscard]] ServingReport with_ends(ServingPlan plan) {
    shorten(plan);
    return study_with_ends(scenario_, ready(plan), stop_);
  }
  [[nodiscard]] ServingPoint point(const ServingPlan& plan, bool whole) {
    ServingPlan tried = plan;
    if (!whole) shorten(tried);
    const ServingReport report = study_serving(scenario_, ready(tried), stop_);
    ServingPoint result;
    result.plan = plan;
    result.hosts = hosts_for(plan);
    result.gpus = total_gpus(plan);
    result.whole = whole && !report.stopped;
    result.keeps_goals = report.keeps_goals();
    result.summary = report.summary;
    result.goals = report.goals;
    result.cost = report.cost;
    return result;
  }

 private:
  /// The first requests alone; of a closed load as many per client as it takes to settle.
  static void shorten(ServingPlan& plan) {
    const int clients = 3 * plan.load.concurrency;
    const int most =
        std::max(screened_requests, plan.load.arrivals == ArrivalKind::closed ? clients : 0);
    if (plan.load.requests == 0 || plan.load.requests > most) plan.load.requests = most;
    if (plan.load.arrivals == ArrivalKind::poisson || plan.load.arrivals == ArrivalKind::constant)
      plan.warm_up = min(plan.warm_up, Seconds{0.1 * plan.load.requests / plan.load.rate});
  }
  const Cluster& cluster(int hosts) {
    const auto found = clusters_.find(hosts);
    if (found != clusters_.end()) return found->second;
    return clusters_.emplace(hosts, cluster_with_hosts(scenario_, hosts)).first->second;
  }

  const Scenario& scenario_;
  const std::atomic<bool>* stop_;
  std::map<int, Cluster> clusters_;
};

/// Requests per second of a load; zero where it follows from the answers.
double requests_per_s(const ServingPlan& plan) {
  const RequestLoad& load = plan.load;
  if (load.arrivals == ArrivalKind::closed) return 0.0;
  if (load.arrivals != ArrivalKind::trace) return load.rate;
  const double lasts = load.trace.empty() ? 0.0 : load.trace.back().at.value();
  return lasts > 0.0 ? static_cast<double>(load.trace.size()) / lasts : 0.0;
}

/// Replicas that surely are too few: half of what an endless batch would take.
int fewest_replicas_by_work(const ReadyServing& ready) {
  const double rate = requests_per_s(ready.plan);
  if (rate <= 0.0) return 1;
  const RequestLoad& load = ready.plan.load;
  if (load.arrivals == ArrivalKind::trace) return 1;
  Deployment alone = ready.serve.deployment;
  alone.layout.replicas = 1;
  const double cached = load.shared_prefix + load.prefix_reuse * load.prompt.mean;
  const SteadyLoad most =
      offline(alone, {load.shared_prefix + load.prompt.mean, load.output.mean, cached});
  if (most.output_tokens_per_s <= 0.0) return 1;
  return std::max(1, static_cast<int>(0.5 * rate * load.output.mean / most.output_tokens_per_s));
}

/// Why no number of replicas keeps the goals: one request alone takes longer.
std::string too_slow_alone(const ReadyServing& ready) {
  ServingPlan plan = ready.plan;
  plan.load = closed_load(plan.load, 1, 20);
  ReadyServing alone = ready;
  alone.plan = plan;
  const ServingSummary seen = summary_of(simulate_serving(serving_model(alone)), {});
  const ServingGoals& goals = plan.goals;
  if (goals.tpot && seen.tpot.p50 > goals.tpot->value())
    return "one request alone takes longer per token than the goal";
  if (goals.ttft && seen.ttft.p50 > goals.ttft->value())
    return "the first token of one request alone takes longer than the goal";
  return {};
}

/// The fewest replicas of a layout under a part of the load, by doubling and halving.
std::optional<ServingPoint> fewest_of(Trial& trial, ServingPlan plan, int least) {
  const int each = plan.layout.gpus();
  const auto with = [&](int replicas) {
    plan.layout.replicas = replicas;
    return trial.point(plan, false);
  };
  int too_few = least - 1;
  int enough = least;
  std::optional<ServingPoint> best;
  while (enough * each <= most_serving_gpus && !trial.stopped()) {
    ServingPoint point = with(enough);
    if (point.keeps_goals) {
      best = std::move(point);
      break;
    }
    too_few = enough;
    enough *= 2;
  }
  while (best && enough - too_few > 1 && !trial.stopped()) {
    const int middle = (too_few + enough) / 2;
    ServingPoint point = with(middle);
    if (point.keeps_goals) {
      enough = middle;
      best = std::move(point);
    } else {
      too_few = middle;
    }
  }
  return best;
}

/// The same under the whole load; more replicas until they keep the goals there.
ServingPoint confirmed(Trial& trial, ServingPoint point) {
  ServingPlan plan = point.plan;
  point = trial.point(plan, true);
  while (!point.keeps_goals && !trial.stopped() && point.gpus < most_serving_gpus) {
    ++plan.layout.replicas;
    point = trial.point(plan, true);
  }
  return point;
}

bool better(const ServingPoint& a, const ServingPoint& b) {
  if (a.keeps_goals != b.keeps_goals) return a.keeps_goals;
  if (a.gpus != b.gpus) return a.gpus < b.gpus;
  return a.summary.tpot.p90 < b.summary.tpot.p90;
}

/// The best few under the whole load, until none that is left can be better.
void confirm_best(Trial& trial, std::vector<ServingPoint>& points) {
  std::ranges::sort(points, better);
  int fewest = most_serving_gpus + 1;
  for (ServingPoint& point : points) {
    if (point.gpus > fewest || trial.stopped()) break;
    point = confirmed(trial, std::move(point));
    if (point.keeps_goals) fewest = std::min(fewest, point.gpus);
  }
  std::ranges::sort(points, better);
}

/// The fewest replicas from `least` on that are good, when more are no worse: by doubling and
/// halving. Nothing beyond the largest deployment.
template <class Good>
std::optional<int> fewest_good(int least, int most, const Good& good) {
  int too_few = least - 1;
  int enough = least;
  while (!good(enough)) {
    too_few = enough;
    if (enough >= most) return std::nullopt;
    enough = std::min(2 * enough, most);
  }
  while (enough - too_few > 1) {
    const int middle = (too_few + enough) / 2;
    (good(middle) ? enough : too_few) = middle;
  }
  return enough;
}

/// How many GPUs the best layout takes at the ends of its band.
void set_range(Trial& trial, ServingSearch& search) {
  if (search.points.empty() || !search.points.front().keeps_goals) return;
  const ServingPoint& best = search.points.front();
  const int each = best.plan.layout.gpus();
  const int beside = best.gpus - each * best.plan.layout.replicas;
  const int most = std::max(1, (most_serving_gpus - beside) / each);
  const auto with = [&](int replicas) {
    ServingPlan plan = best.plan;
    plan.layout.replicas = replicas;
    return trial.with_ends(plan);
  };
  const int least = std::max(1, best.plan.autoscaling.least);
  const auto gpus = [&](const std::optional<int>& replicas) {
    return replicas ? std::optional(*replicas * each + beside) : std::nullopt;
  };
  const int found = best.plan.layout.replicas;
  search.fewest_fast = gpus(fewest_good(least, std::max(least, found), [&](int replicas) {
    return replicas >= found || trial.stopped() || with(replicas).may_keep_goals();
  }));
  const auto slow = fewest_good(std::max(least, found), most, [&](int replicas) {
    return trial.stopped() || with(replicas).verdict() == ServingVerdict::ok;
  });
  if (!trial.stopped()) search.fewest_slow = gpus(slow);
}

void search_layouts(Trial& trial, ServingSearch& search) {
  bool fits = false;
  for (const ServingLayout& layout : serving_layouts(trial.scenario())) {
    if (trial.stopped()) return;
    if (fits && layout.pipeline > 1) continue;
    ServingPlan plan = *trial.scenario().serving;
    plan.layout = layout;
    plan.layout.replicas = std::max(1, plan.autoscaling.least);
    const ReadyServing ready = trial.ready(plan);
    fits = fits || ready.reasons.empty();
    std::string reason =
        ready.reasons.empty() ? too_slow_alone(ready) : ready.reasons.front().message;
    if (reason.empty()) {
      auto point =
          fewest_of(trial, plan, std::max(plan.layout.replicas, fewest_replicas_by_work(ready)));
      if (point) search.points.push_back(std::move(*point));
      if (!point && !trial.stopped())
        reason = "the goals are missed with " + std::to_string(most_serving_gpus) + " GPUs";
    }
    if (!reason.empty()) search.refused.push_back({layout, reason});
  }
}

/// Disaggregated: one replica more wherever the goal that it decides is missed.
void search_split(Trial& trial, ServingSearch& search) {
  ServingPlan plan = *trial.scenario().serving;
  plan.layout.replicas = 1;
  plan.prefill.replicas = 1;
  const ReadyServing ready = trial.ready(plan);
  std::string reason =
      ready.reasons.empty() ? too_slow_alone(ready) : ready.reasons.front().message;
  while (reason.empty() && total_gpus(plan) <= most_serving_gpus && !trial.stopped()) {
    ServingPoint point = trial.point(plan, false);
    if (point.keeps_goals) {
      search.points.push_back(confirmed(trial, std::move(point)));
      return;
    }
    const bool late = std::ranges::any_of(
        point.goals, [](const auto& goal) { return goal.name == "ttft" && !goal.kept(); });
    const bool slow = std::ranges::any_of(
        point.goals, [](const auto& goal) { return goal.name == "tpot" && !goal.kept(); });
    if (late) plan.prefill.replicas += std::max(1, plan.prefill.replicas / 4);
    if (slow || !late) plan.layout.replicas += std::max(1, plan.layout.replicas / 4);
  }
  if (reason.empty())
    reason = "the goals are missed with " + std::to_string(most_serving_gpus) + " GPUs";
  search.refused.push_back({plan.layout, reason});
}

/// Marks the points that no other beats in both speed for a user and tokens per GPU.
void mark_front(std::vector<ServingPoint>& points) {
  for (ServingPoint& point : points)
    point.on_front = std::ranges::none_of(points, [&](const ServingPoint& other) {
      const bool as_good = other.user_tokens_per_s() >= point.user_tokens_per_s() &&
                           other.gpu_tokens_per_s() >= point.gpu_tokens_per_s();
      return as_good && (other.user_tokens_per_s() > point.user_tokens_per_s() ||
                         other.gpu_tokens_per_s() > point.gpu_tokens_per_s());
    });
}

/// Served without end: neither the first requests, which come at once, nor the last ones, beside
/// which clients fall silent, are counted. Two mean times of a request warm up, six are counted.
void set_steady(Trial& trial, ServingPlan& plan) {
  plan.warm_up = plan.duration = Seconds{};
  plan.load.requests = std::max(8, 2 * plan.load.concurrency);
  const double each = trial.point(plan, true).summary.whole.mean;
  plan.load.requests = 20'000'000;  // the time ends it
  // In digits that a command line repeats.
  const Seconds round{std::strtod(fmt::format("{:.3g}", each).c_str(), nullptr)};
  plan.warm_up = 2.0 * round;
  plan.duration = 8.0 * round;
}

/// One replica with more and more clients, until more bring nothing.
void add_clients(Trial& trial, ServingPlan plan, std::vector<ServingPoint>& points) {
  constexpr int most_clients = 8192;
  double last = 0.0;
  for (int clients = 1; clients <= most_clients && !trial.stopped(); clients *= 2) {
    plan.load.concurrency = clients;
    set_steady(trial, plan);
    if (plan.duration <= Seconds{}) return;  // none was served
    ServingPoint point = trial.point(plan, true);
    const double rate = point.summary.output_tokens_per_s;
    if (point.summary.requests == 0) return;
    points.push_back(std::move(point));
    if (rate < 1.02 * last) return;
    last = rate;
  }
}

}  // namespace

ServingSearch fewest_gpus(const Scenario& scenario, const std::atomic<bool>* stop) {
  FORETRAIN_REQUIRE(scenario.serving && scenario.serving->goals.any());
  Trial trial(scenario, stop);
  ServingSearch search;
  search.name = scenario.job.name;
  if (scenario.serving->prefill.replicas > 0) {
    search_split(trial, search);
  } else {
    search_layouts(trial, search);
    confirm_best(trial, search.points);
  }
  set_range(trial, search);
  search.stopped = trial.stopped();
  return search;
}

ServingSearch serving_pareto(const Scenario& scenario, const std::atomic<bool>* stop) {
  Trial trial(scenario, stop);
  ServingSearch search;
  search.name = scenario.job.name;
  bool fits = false;
  for (const ServingLayout& layout : serving_layouts(scenario)) {
    if (trial.stopped()) break;
    if (fits && layout.pipeline > 1) continue;
    ServingPlan plan = *scenario.serving;
    plan.layout = layout;
    plan.layout.replicas = 1;
    plan.prefill = {.replicas = 0};
    plan.autoscaling = {};
    plan.load = closed_load(plan.load, 1, 1);
    plan.warm_up = Seconds{};
    plan.duration = Seconds{};
    const ReadyServing ready = trial.ready(plan);
    if (!ready.reasons.empty()) {
      search.refused.push_back({layout, ready.reasons.front().message});
      continue;
    }
    fits = true;
    add_clients(trial, plan, search.points);
  }
  mark_front(search.points);
  search.stopped = trial.stopped();
  return search;
}

}  // namespace foretrain
