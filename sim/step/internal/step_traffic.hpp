// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/inputs/job.hpp"
#include "models/step/task_graph.hpp"
#include "sim/flows/flow_network.hpp"
#include "sim/flows/link_load.hpp"
#include "sim/flows/shared_links.hpp"
#include "sim/step/internal/step_channels.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// A job on a fabric.
struct PlacedJob {
  const Job& job;  ///< as the graph was priced: without oversubscription
  const Fabric& fabric;
  const RankMap& ranks;
};

struct StepTrafficOptions {
  /// Data replicas to play: all of them, or two that stand for all.
  bool fold = false;
  /// Every flow of an exchange on its own, instead of one activity in lock step.
  bool expand = false;
  /// Routes will change during the run: links keep their ids of the fabric.
  bool changing = false;
  /// Keep a record of when exchanges ran, for link_use().
  bool record = false;
  /// Asked while routes are laid out, which takes minutes for a million GPUs; false: StepStopped.
  std::function<bool()> go_on{};
};

/// Thrown where StepTrafficOptions::go_on said so.
struct StepStopped {};

/// Links that the exchanges of all played replicas may cross, each counted for itself: some 60
/// bytes each. A dense plan has about 120 per GPU. Folded with ways by hash, there is no such
/// limit: what replicas that are not played put on links is added up and forgotten.
inline constexpr std::int64_t most_crossings = 60'000'000;

/// The exchanges of a step as flows on a fabric, priced so that each takes alone what the cost
/// model says as long as none of its own flows meet beyond the hosts. How: sim/README.md, "Steps on
/// fabrics".
class StepTraffic final : public TrafficSource {
 public:
  /// @pre the graph was priced for placed.job
  /// @throws StepStopped; TooLarge where all exchanges together cross most_crossings links
  StepTraffic(const PlacedJob& placed, const TaskGraph& graph, StepChannels channels,
              StepTrafficOptions options);

  [[nodiscard]] TaskTraffic of(std::uint32_t task) const override;
  [[nodiscard]] const std::vector<Flow>& flows(std::uint32_t channel, int group) override;
  void started(std::uint32_t channel, int group, Seconds now) override;
  void moved(std::uint32_t channel, int group, double amount, Seconds now) override;

  /// Folded: whether exchanges meet those of all replicas that are not played, which is so from the
  /// beginning, or of none. What has moved counts anew.
  void meet_others(bool meet);

  /// From now on flows go round these links; null: none. @pre options.changing
  void set_down(const LinkSet* down);

  [[nodiscard]] const FlowNetwork& network() const { return shared_.network; }
  /// Replicas to play, and the data replica that each of them is.
  [[nodiscard]] const std::vector<int>& replicas() const { return replicas_; }
  /// What has crossed every link of the fabric, folded replicas included.
  [[nodiscard]] std::vector<double> link_bytes() const;
  /// Share of its datasheet rate that a link moves, from each point on. Over one exchange it is its
  /// mean. @pre options.record; routes have not changed
  [[nodiscard]] LinkUseSeries link_use(LinkId link) const;

  /// The use of all links in the middle of each of `frames` equal stretches, one after another. An
  /// exchange has its mean rate from its beginning to its end. @pre as of link_use()
  void play_back(Seconds length, int frames,
                 const std::function<void(const std::vector<double>& use)>& on_frame) const;

  /// What crossed a link, by kind of exchange. @pre as of link_use()
  [[nodiscard]] std::vector<LinkExchange> crossing(LinkId link) const;

 private:
  /// One exchange of a channel on its way.
  struct Way {
    LinkLoads loads;          ///< of itself; folded: with those of the replicas that it stands for
    std::vector<double> own;  ///< folded: bytes of itself on the links of `loads`
    std::vector<RoutedFlow> flows;  ///< only when expanded
    double moved = 0.0;
    Seconds since;  ///< start of the exchange under way
  };
  struct Priced {
    double occupied = 1.0;  ///< bytes of a link's capacity that a byte of payload takes
    double base = 0.0;      ///< rate of an exchange alone; the unit of its shares
  };

  [[nodiscard]] static double bytes_on(const LinkLoads& loads, LinkId link);
  /// Bytes of a channel's exchanges over a link, folded replicas included.
  [[nodiscard]] double crossed_by(std::uint32_t channel, LinkId link) const;
  [[nodiscard]] int groups_of(const Channel& channel) const;
  [[nodiscard]] Way route(std::uint32_t channel, int group) const;
  [[nodiscard]] Way& way(std::uint32_t channel, int group);
  [[nodiscard]] bool keeps_all_ways() const;
  void ask_to_go_on() const;
  void refuse_too_many_routes() const;
  void price_channels();
  [[nodiscard]] LinkLoads lay_out(std::uint32_t channel);
  void add_crowding(std::uint32_t channel, const LinkLoads& total);
  void choose_replicas();
  static void add_others(const LinkLoads& total, Way& way);
  void keep_chosen();
  [[nodiscard]] LinkLoads asked(const Way& way) const;
  void build_shared();
  /// Bytes per second for every byte of an exchange's loads.
  [[nodiscard]] double pace(std::uint32_t channel) const {
    return priced_[channel].occupied / channels_.channels[channel].wire.value();
  }
  void make_flows(std::uint32_t channel, const Way& way);
  [[nodiscard]] double most_bytes_within_hosts(const LinkLoads& loads) const;
  [[nodiscard]] double most_within_hosts(const LinkLoads& loads) const;

  PlacedJob placed_;
  const TaskGraph& graph_;
  StepChannels channels_;
  StepTrafficOptions options_;
  std::vector<double> capacity_;  ///< by link: what large messages reach
  mutable LoadBuilder load_;
  std::vector<Priced> priced_;  ///< by channel
  bool meets_others_ = true;
  std::vector<LinkLoads> totals_;  ///< by channel: of all its exchanges together; only folded
  std::vector<double>
      crowded_;                ///< by data replica: how much its exchanges are in each other's way
  std::vector<double> needs_;  ///< by link, seconds: while ways are laid out
  std::vector<int> replicas_;
  std::vector<std::vector<Way>> ways_;  ///< by channel and group
  std::vector<Flow> flows_;             ///< of the last call of flows()
  SharedLinks shared_;
  std::unique_ptr<LoadBuilder> detours_;
  struct Ran {
    std::uint32_t channel;
    int group;
    double amount;
    Seconds begin;
    Seconds end;
  };
  std::vector<Ran> ran_;         ///< only recorded
  std::vector<double> crossed_;  ///< links, before the last set_down()
};

/// What large messages reach of every link: datasheet rate times the measured share.
[[nodiscard]] std::vector<double> achievable_rates(const Job& job, const Fabric& fabric);

}  // namespace foretrain
