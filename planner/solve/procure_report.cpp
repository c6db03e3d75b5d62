// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/base/text.hpp"
#include "planner/answer/value_csv.hpp"
#include "planner/search/not_compared.hpp"
#include "planner/solve/procure.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

/// [{subject, what}]
Json not_compared_tree(const std::vector<NotCompared>& list) {
  Json tree = Json::array();
  for (const NotCompared& item : list)
    tree.push_back({{"subject", item.subject}, {"what", item.what}});
  return tree;
}

std::string days_text(const std::optional<Seconds>& run) {
  return run ? fixed_text(run->value() / 86400.0, 1) : "-";
}

std::string money_text(const std::optional<double>& price) {
  return price ? "$" + count_text(*price) : "-";
}

std::string hours_text(const std::optional<double>& hours) {
  return hours ? count_text(*hours) : "-";
}

/// The batch where it is not the asked one.
std::string plan_of(const ProcureCell& cell) {
  if (cell.batch == cell.asked_batch) return cell.plan;
  return fmt::format("{}, batch {} (asked {})", cell.plan, with_thousands(cell.batch),
                     with_thousands(cell.asked_batch));
}

AnswerTable workload_table(const Procurement& result, std::size_t workload) {
  const std::vector<std::string> names = offer_names(result);
  AnswerTable table{{words_column("cluster"), number_column("GPUs"), number_column("step s"),
                     number_column("MFU %"), number_column("days"), number_column("cost"),
                     words_column("plan")}};
  for (const std::size_t i : result.ranking) {
    const ProcureCluster& cluster = result.clusters[i];
    const ProcureCell& cell = cluster.cells[workload];
    const bool runs = cell.why.empty();
    table.add({names[i], with_thousands(cluster.gpus),
               runs ? significant_text(cell.step.value()) : "-",
               runs ? fixed_text(100.0 * cell.mfu, 1) : "-", days_text(cell.run),
               money_text(cell.price_usd), runs ? plan_of(cell) : cell.why});
  }
  return table;
}

AnswerTable totals_table(const Procurement& result) {
  AnswerTable table{{number_column("#"), words_column("cluster"), number_column("GPUs"),
                     words_column("device"), number_column("days"), number_column("GPU-hours"),
                     number_column("cost")}};
  const std::vector<std::string> names = offer_names(result);
  int place = 0;
  for (const std::size_t i : result.ranking) {
    const ProcureCluster& cluster = result.clusters[i];
    table.add({std::to_string(++place), names[i], with_thousands(cluster.gpus), cluster.device,
               days_text(cluster.run), hours_text(cluster.gpu_hours),
               money_text(cluster.price_usd)});
  }
  return table;
}

const char* measure_words(ProcureMeasure measure) {
  switch (measure) {
    case ProcureMeasure::price:
      return "cost in USD";
    case ProcureMeasure::energy:
      return "energy in kWh, cooling where a scenario states its PUE";
    case ProcureMeasure::gpu_time:
      return "GPU-hours";
    case ProcureMeasure::run_time:
      return "days";
    case ProcureMeasure::step_time:
      return "seconds of a step of each";
  }
  return "";
}

/// Every candidate with its band: offers are known unequally well.
AnswerSection bands_section(const Procurement& result, ProcureMeasure measure) {
  AnswerSection section{fmt::format("How sure: {}", measure_words(measure))};
  const bool timed = measure == ProcureMeasure::run_time || measure == ProcureMeasure::step_time;
  const bool energy = measure == ProcureMeasure::energy;
  const auto number = [timed](double value) {
    return timed ? significant_text(value) : count_text(value);
  };
  const std::vector<std::string> names = offer_names(result);
  double most = 0.0;
  for (const ProcureCluster& cluster : result.clusters)
    if (const auto band = band_of(measure, cluster)) most = std::max(most, band->high);
  if (!(most > 0.0)) return section;
  AnswerTable table{{words_column("cluster"), number_column("P10"),
                     number_column(energy ? "" : "forecast"), number_column("P90"),
                     words_column("from 0"), words_column("kernels")}};
  for (const std::size_t i : result.ranking) {
    const ProcureCluster& cluster = result.clusters[i];
    const auto band = band_of(measure, cluster);
    if (!band) continue;
    AnswerBar bar{band->low / most, band->high / most};
    // Of energy the band alone: what the forecast counts of it differs from cluster to cluster.
    bar.mark = energy ? -1.0 : band->middle / most;
    bar.columns = 18;
    table.add({names[i], number(band->low), energy ? "to" : number(band->middle),
               number(band->high), bar, std::string(name_of(cluster.evidence))});
  }
  section.blocks.emplace_back(std::move(table));
  if (const auto ties = ties_with_first(result, measure)) {
    std::string tied;
    for (const std::size_t i : *ties) tied += (tied.empty() ? "" : ", ") + names[i];
    section.blocks.emplace_back(
        AnswerLine{tied.empty() ? "The first is ahead of each other one, at least 90 % sure."
                                : fmt::format("The first and {} are a tie.", tied)});
  }
  return section;
}

std::string price_words(const ProcureCluster& cluster) {
  if (!cluster.usd_per_gpu_hour) return "-";
  return fmt::format("${:.2f}", *cluster.usd_per_gpu_hour);
}

/// Prices, and for every pair the one that would turn its order.
AnswerSection prices_section(const Procurement& result) {
  AnswerSection section{"Prices per GPU-hour, and where the order turns"};
  const std::vector<std::string> names = offer_names(result);
  AnswerTable table{{words_column("cluster"), number_column("price"), words_column("as of"),
                     number_column("break-even"), words_column("with")}};
  for (auto at = result.ranking.begin(); at != result.ranking.end(); ++at) {
    const ProcureCluster& cluster = result.clusters[*at];
    bool first = true;
    const auto add = [&](const std::string& price, const std::string& with) {
      table.add({first ? names[*at] : "", first ? price_words(cluster) : "",
                 first ? cluster.prices_as_of.value_or("not said") : "", price, with});
      first = false;
    };
    for (auto other = result.ranking.begin(); other != at; ++other)
      if (const auto price = break_even(cluster, result.clusters[*other]))
        add(fmt::format("${:.2f}", *price), names[*other]);
    if (first) add("-", "");
  }
  section.blocks.emplace_back(std::move(table));
  return section;
}

/// What a batch costs that the machine does not divide.
AnswerSection batches_section(const Procurement& result) {
  AnswerSection section{"Batches"};
  const std::vector<std::string> names = offer_names(result);
  for (const std::size_t i : result.ranking)
    for (std::size_t w = 0; w < result.workloads.size(); ++w) {
      const ProcureCell& cell = result.clusters[i].cells[w];
      if (cell.batch != cell.asked_batch)
        section.blocks.emplace_back(AnswerLine{
            fmt::format("batch {} in place of {} of {}: {} GPUs share it without a rest.",
                        with_thousands(cell.batch), with_thousands(cell.asked_batch),
                        result.workloads[w], with_thousands(result.clusters[i].gpus)),
            names[i] + ": "});
      if (cell.divided_batch)
        section.blocks.emplace_back(AnswerLine{
            fmt::format("a batch of {} would take {} less time and money per token.",
                        with_thousands(*cell.divided_batch), percent_text(1.0 - cell.divided_time)),
            names[i] + ": "});
    }
  return section;
}

Json optional_number(const std::optional<Seconds>& value) {
  return number_or_null(value ? std::optional(value->value()) : std::nullopt);
}

Json end_of(const std::optional<ProcureBand>& band, double ProcureBand::*end) {
  return number_or_null(band ? std::optional((*band).*end) : std::nullopt);
}

Json cell_tree(const std::string& workload, const ProcureCell& cell) {
  const bool runs = cell.why.empty();
  const auto known = [&](double value) { return runs ? number_or_null(value) : Json(nullptr); };
  return {{"workload", workload},
          {"feasible", runs},
          {"why", runs ? Json(nullptr) : Json(cell.why)},
          {"plan", runs ? Json(cell.plan) : Json(nullptr)},
          {"set", cell.settings},
          {"global_batch", cell.batch},
          {"asked_global_batch", cell.asked_batch},
          {"divided_global_batch", cell.divided_batch ? Json(*cell.divided_batch) : Json(nullptr)},
          {"divided_time_per_token", cell.divided_batch ? Json(cell.divided_time) : Json(nullptr)},
          {"step_s", known(cell.step.value())},
          {"step_low_s", known(cell.step_low.value())},
          {"step_high_s", known(cell.step_high.value())},
          {"mfu", known(cell.mfu)},
          {"tokens_per_s", known(cell.tokens_per_s)},
          {"run_s", optional_number(cell.run)},
          {"gpu_hours", number_or_null(cell.gpu_hours)},
          {"price_usd", number_or_null(cell.price_usd)},
          {"price_low_usd", end_of(cell.price_band, &ProcureBand::low)},
          {"price_high_usd", end_of(cell.price_band, &ProcureBand::high)},
          {"energy_low_kwh", end_of(cell.energy_kwh, &ProcureBand::low)},
          {"energy_high_kwh", end_of(cell.energy_kwh, &ProcureBand::high)}};
}

std::string lead_words(const Procurement& result, const std::vector<std::size_t>& ties) {
  const std::vector<std::string> names = offer_names(result);
  const std::string& first = names[result.ranking.front()];
  const auto others = static_cast<std::size_t>(
      std::ranges::count_if(result.clusters,
                            [](const ProcureCluster& cluster) { return cluster.runs(); }) -
      1);
  if (others == 0) return fmt::format("{} alone runs all workloads.", first);
  if (ties.size() == 1)
    return fmt::format("{} has the best forecast, and {} is a tie with it.", first,
                       names[ties.front()]);
  if (!ties.empty())
    return fmt::format("{} has the best forecast, and {} are a tie with it.", first,
                       counted(ties.size(), "other cluster"));
  return fmt::format("{} is ahead of {}.", first,
                     others == 1 ? names[result.ranking[1]] : "all others");
}

/// By what the ranking is by; the other of time and money beside it.
HeadFigure figure_of(const ProcureCluster& cluster, const std::string& name,
                     ProcureMeasure measure) {
  HeadFigure figure{name, "does not run"};
  if (!cluster.runs()) return figure;
  const auto text = [measure](double value) {
    switch (measure) {
      case ProcureMeasure::price:
        return "$" + count_text(value);
      case ProcureMeasure::energy:
        return count_text(value) + " kWh";
      case ProcureMeasure::gpu_time:
        return count_text(value) + " GPU-hours";
      case ProcureMeasure::run_time:
        return significant_text(value) + " days";
      case ProcureMeasure::step_time:
        break;
    }
    return significant_text(value) + " s";
  };
  if (const auto band = band_of(measure, cluster)) {
    figure.value = text(band->middle);
    figure.band = text(band->low) + " to " + text(band->high);
  } else {
    figure.value = "unknown";
  }
  if (measure != ProcureMeasure::price && cluster.price_usd)
    figure.difference = money_text(cluster.price_usd);
  if (measure == ProcureMeasure::price && cluster.run)
    figure.difference = days_text(cluster.run) + " days";
  return figure;
}

AnswerHead procure_head(const Procurement& result) {
  AnswerHead head;
  head.subject = "Procurement";
  head.made_by = fmt::format("{}, {}, by {}", counted(result.clusters.size(), "cluster"),
                             counted(result.workloads.size(), "workload"), name_of(result.by));
  const bool any = !result.ranking.empty() && result.clusters[result.ranking.front()].runs();
  if (!any) {
    head.verdict = Verdict::no;
    head.words = "NONE RUNS ALL";
    head.sentence = "No cluster runs all workloads.";
    return result.left_out > 0 ? interrupted_head(std::move(head), "all were forecast") : head;
  }
  const auto ties = ties_with_first(result, measure_of(result));
  const bool tie = ties && !ties->empty();
  const std::vector<std::string> names = offer_names(result);
  head.words = tie ? "TIE" : names[result.ranking.front()];
  head.sentence = lead_words(result, ties.value_or(std::vector<std::size_t>{}));
  const ProcureMeasure measure = measure_of(result);
  for (std::size_t i = 0; i < std::min<std::size_t>(4, result.ranking.size()); ++i)
    head.figures.push_back(
        figure_of(result.clusters[result.ranking[i]], names[result.ranking[i]], measure));
  return head;
}

}  // namespace

Answer procure_answer(const Procurement& result) {
  Answer answer{procure_head(result)};
  if (result.left_out > 0)
    answer.add("", AnswerLine{fmt::format(
                       "Interrupted: {} of {} clusters were not forecast and are missing below.",
                       result.left_out, result.left_out + result.clusters.size())});
  if (result.clusters.empty()) return answer;
  const ProcureMeasure measure = measure_of(result);
  answer.add(fmt::format("All workloads one after the other, by {}", name_of(result.by)),
             totals_table(result));
  answer.add(bands_section(result, measure));
  const bool priced = std::ranges::any_of(result.clusters, [](const ProcureCluster& cluster) {
    return cluster.usd_per_gpu_hour.has_value();
  });
  if (priced) answer.add(prices_section(result));
  answer.add(batches_section(result));
  if (measure != ProcureMeasure::energy) answer.add(bands_section(result, ProcureMeasure::energy));
  for (std::size_t i = 0; i < result.workloads.size(); ++i)
    answer.add(result.workloads[i], workload_table(result, i));
  answer.add("", AnswerLine{result.searched
                                ? "Each with the best plan of the default axes that leaves enough "
                                  "memory free, closed form; a batch that the GPUs do not divide "
                                  "moves by 5 % at most. Time and cost are of the same tokens."
                                : "Each with the workload's own plan, data ranks as the machine "
                                  "leaves, closed form; --search takes the best plan of each."});
  AnswerSection left{"Not compared"};
  for (const NotCompared& item : result.not_compared)
    left.blocks.emplace_back(AnswerLine{item.what + ".", item.subject + ": "});
  if (!std::ranges::all_of(result.clusters, [](const ProcureCluster& cluster) {
        return cluster.price_usd.has_value();
      }))
    left.blocks.emplace_back(
        AnswerLine{"Cost is unknown where a cluster says no operations.price, a workload says no "
                   "training.tokens or one does not run."});
  answer.add(std::move(left));
  return answer;
}

std::string procure_json(const Procurement& result) {
  Json clusters = Json::array();
  for (const ProcureCluster& cluster : result.clusters) {
    Json cells = Json::array();
    for (std::size_t i = 0; i < cluster.cells.size(); ++i)
      cells.push_back(cell_tree(result.workloads[i], cluster.cells[i]));
    clusters.push_back(
        {{"name", cluster.name},
         {"gpus", cluster.gpus},
         {"device", cluster.device},
         {"run_s", optional_number(cluster.run)},
         {"gpu_hours", number_or_null(cluster.gpu_hours)},
         {"usd_per_gpu_hour", number_or_null(cluster.usd_per_gpu_hour)},
         {"prices_as_of", cluster.prices_as_of ? Json(*cluster.prices_as_of) : Json(nullptr)},
         {"price_usd", number_or_null(cluster.price_usd)},
         {"price_low_usd", end_of(cluster.price_band, &ProcureBand::low)},
         {"price_high_usd", end_of(cluster.price_band, &ProcureBand::high)},
         {"energy_low_kwh", end_of(cluster.energy_kwh, &ProcureBand::low)},
         {"energy_high_kwh", end_of(cluster.energy_kwh, &ProcureBand::high)},
         {"low", cluster.runs() ? Json(cluster.low) : Json(nullptr)},
         {"high", cluster.runs() ? Json(cluster.high) : Json(nullptr)},
         {"evidence", name_of(cluster.evidence)},
         {"workloads", std::move(cells)}});
  }
  Json ranking = Json::array();
  for (const std::size_t i : result.ranking) ranking.push_back(result.clusters[i].name);
  const auto overlap = ties_with_first(result, measure_of(result));
  Json names = Json::array();
  for (const std::size_t i : overlap.value_or(std::vector<std::size_t>{}))
    names.push_back(result.clusters[i].name);
  return dump({{"schema", "procure/1"},
               {"foretrain_version", version},
               {"by", name_of(result.by)},
               {"searched", result.searched},
               {"left_out", result.left_out},
               {"ranking", std::move(ranking)},
               {"overlap_with_first", overlap ? std::move(names) : Json(nullptr)},
               {"not_compared", not_compared_tree(result.not_compared)},
               {"clusters", std::move(clusters)}});
}

std::string procure_csv(const Procurement& result) {
  std::string text =
      "cluster,gpus,device,workload,feasible,why,plan,set,global_batch,asked_global_batch,"
      "divided_global_batch,divided_time_per_token,step_s,step_low_s,step_high_s,mfu,tokens_"
      "per_s,run_s,gpu_hours,"
      "price_usd,price_low_usd,price_high_usd,energy_low_kwh,energy_high_kwh\r\n";
  for (const ProcureCluster& cluster : result.clusters)
    for (std::size_t i = 0; i < cluster.cells.size(); ++i) {
      text += csv_field(cluster.name) + "," + std::to_string(cluster.gpus) + "," +
              csv_field(cluster.device);
      const Json cell = cell_tree(result.workloads[i], cluster.cells[i]);
      for (const auto& [key, value] : cell.items()) {
        text += ",";
        if (value.is_array())
          text += csv_field(fmt::format("{}", fmt::join(cluster.cells[i].settings, " ")));
        else if (value.is_string())
          text += csv_field(value.get<std::string>());
        else if (!value.is_null())
          text += value.dump();
      }
      text += "\r\n";
    }
  return text;
}

}  // namespace foretrain
