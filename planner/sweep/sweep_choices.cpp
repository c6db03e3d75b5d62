// SPDX-License-Identifier: Apache-2.0

#include "planner/sweep/sweep_choices.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "planner/mpi/mpi_transport.h"
#include "planner/search/plan_cloud.hpp"
#include "planner/text/usage_error.hpp"
#include "planner/version.hpp"
#include "sim/flows/plug_in_file.hpp"

namespace foretrain {
namespace {

constexpr std::string_view tensor_key = "parallel.tensor";
constexpr std::string_view data_key = "parallel.data";
constexpr std::string_view hosts_key = "cluster.hosts";
constexpr std::string_view batch_key = "training.global_batch";

/// A number halved and doubled twice, as far as it stays whole.
SweepChoice around(std::string_view key, int own) {
  SweepChoice choice{std::string(key), {}, std::to_string(own)};
  for (const int divisor : {4, 2})
    if (own % divisor == 0) choice.values.push_back(std::to_string(own / divisor));
  for (const int factor : {1, 2, 4})
    if (own <= (1 << 28)) choice.values.push_back(std::to_string(own * factor));
  return choice;
}

/// Values of the keys that the split of the machine depends on.
struct Split {
  std::int64_t gpus = 0;
  std::int64_t tensor = 1;
  std::int64_t context = 1;
  std::int64_t pipeline = 1;
};

void apply(Split& split, const Job& job, const std::string& key, const std::string& text) {
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return;
  if (key == tensor_key) split.tensor = value;
  if (key == "parallel.context") split.context = value;
  if (key == "parallel.pipeline") split.pipeline = value;
  if (key == hosts_key) split.gpus = value * job.cluster.host.gpus;
}

std::string own_value(const Scenario& scenario, const std::string& key) {
  const auto found = std::ranges::find_if(
      scenario.values, [&](const ResolvedValue& value) { return value.path == key; });
  return found == scenario.values.end() ? "" : found->value;
}

/// "key=a,b,c".
std::string axis_text(const SweepChoice& choice) {
  std::string text = choice.key + "=";
  for (std::size_t i = 0; i < choice.values.size(); ++i)
    text += (i > 0 ? "," : "") + choice.values[i];
  return text;
}

std::vector<FollowingKey> following_of(const Parallel& plan) {
  return following_keys(plan.sequence, std::to_string(plan.virtual_stages),
                        std::string(name_of(plan.schedule)));
}

}  // namespace

std::vector<SweepChoice> sweep_choices(const Scenario& scenario) {
  std::vector<SweepChoice> choices;
  for (auto& [key, values] : axes_of(cloud_space(scenario))) {
    std::erase(values, "given");  // has no value to write
    if (values.size() < 2 || key == hosts_key || key == batch_key || key == "parallel.sequence")
      continue;
    choices.push_back({key, values, own_value(scenario, key)});
  }
  choices.push_back(around(batch_key, scenario.job.training.global_batch));
  choices.push_back(around(hosts_key, scenario.job.cluster.hosts));
  return choices;
}

SweepQuestion sweep_of_map(const Scenario& scenario, const MapQuestion& map) {
  FORETRAIN_REQUIRE(map.columns.key != map.rows.key);
  SweepQuestion question;
  question.base = {scenario.source.text, scenario.path, scenario.source.folder,
                   scenario.source.options};
  question.base.options.left_out = {std::string(data_key)};
  question.grid = make_grid({axis_text(map.rows), axis_text(map.columns)});
  follow_axes(question.grid, following_of(scenario.job.parallel), {});
  question.metrics = {map.metric};
  question.program = version;
  return question;
}

std::vector<std::string> map_settings(const Scenario& scenario, const MapQuestion& map,
                                      std::size_t column, std::size_t row) {
  const Job& job = scenario.job;
  const Parallel& plan = job.parallel;
  Split split{job.cluster.gpus(), plan.tensor, plan.context, plan.pipeline};
  std::vector<std::string> settings;
  const auto add = [&](const SweepChoice& axis, std::size_t step) {
    const std::string& value = axis.values[step];
    settings.push_back(axis.key + "=" + value);
    apply(split, job, axis.key, value);
    for (const FollowingKey& one : following_of(plan))
      if (one.of == axis.key && one.key != map.rows.key && one.key != map.columns.key)
        settings.push_back(one.key + "=" + (value == "1" ? one.alone : one.value));
  };
  add(map.rows, row);
  add(map.columns, column);
  const std::int64_t replica = replica_ranks(split.tensor, split.context, split.pipeline);
  if (replica > 0 && split.gpus % replica == 0)
    settings.push_back(std::string(data_key) + "=" + std::to_string(split.gpus / replica));
  return settings;
}

namespace {

/// First byte of a message.
enum class Tag : char {
  wanted = 'w',  ///< to rank 0: how many points, as text
  points = 'p',  ///< from rank 0: their numbers; none: there are no more
  rows = 'r',    ///< to rank 0: encoded rows
  left = 'l',    ///< to rank 0: this rank is done
};

std::string tagged(Tag tag, std::string_view bytes) {
  return std::string(1, static_cast<char>(tag)) + std::string(bytes);
}

std::optional<int> number(const char* text) {
  if (text == nullptr) return std::nullopt;
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

void nap() { std::this_thread::sleep_for(std::chrono::microseconds(200)); }

std::vector<std::int64_t> points_of(std::string_view bytes) {
  std::vector<std::int64_t> points(bytes.size() / sizeof(std::int64_t));
  // memcpy may not be given null pointers, not even for nothing.
  if (!points.empty())
    std::memcpy(points.data(), bytes.data(), points.size() * sizeof(std::int64_t));
  return points;
}

std::string bytes_of(const std::vector<std::int64_t>& points) {
  std::string bytes(points.size() * sizeof(std::int64_t), '\0');
  if (!points.empty()) std::memcpy(bytes.data(), points.data(), bytes.size());
  return bytes;
}

}  // namespace

std::optional<MpiPlace> rank_place(const std::function<const char*(const char*)>& variable) {
  // Open MPI, MPICH and its kin, and PMIx under Slurm.
  constexpr std::array<std::array<const char*, 2>, 3> names = {
      {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
       {"PMI_RANK", "PMI_SIZE"},
       {"PMIX_RANK", "SLURM_NTASKS"}}};
  for (const auto& [rank_name, size_name] : names) {
    const auto rank = number(variable(rank_name));
    const auto size = number(variable(size_name));
    if (rank && size && *size > 1 && *rank >= 0 && *rank < *size) return MpiPlace{*rank, *size};
  }
  return std::nullopt;
}

struct Ranks::Library {
  void* handle = nullptr;
  decltype(&foretrain_mpi_start) start = nullptr;
  decltype(&foretrain_mpi_send) send = nullptr;
  decltype(&foretrain_mpi_probe) probe = nullptr;
  decltype(&foretrain_mpi_receive) receive = nullptr;
  decltype(&foretrain_mpi_finish) finish = nullptr;

  template <class Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(::dlsym(handle, name));
    if (function == nullptr)
      throw std::runtime_error(std::string("no ") + name + " in the library");
  }

  static void check(int code, const char* what) {
    if (code != 0) throw std::runtime_error(fmt::format("MPI: {} failed with code {}", what, code));
  }
};

Ranks::Ranks(const MpiPlace& expected) : library_(std::make_unique<Library>()) {
  const std::filesystem::path path = plug_in_file("foretrain_mpi.so");
  if (path.empty())
    throw UsageError(
        "this foretrain was built without MPI, so it cannot sweep under mpirun; install Open MPI's "
        "development files and build it again, or give each process a --shard and merge");
  // Global: Open MPI's own plug-ins look for its symbols.
  library_->handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library_->handle == nullptr) {
    const char* why = ::dlerror();  // NOLINT(concurrency-mt-unsafe): one thread
    throw UsageError("cannot load the MPI part: " + std::string(why ? why : "unknown"));
  }
  library_->find(library_->start, "foretrain_mpi_start");
  library_->find(library_->send, "foretrain_mpi_send");
  library_->find(library_->probe, "foretrain_mpi_probe");
  library_->find(library_->receive, "foretrain_mpi_receive");
  library_->find(library_->finish, "foretrain_mpi_finish");
  Library::check(library_->start(&place_.rank, &place_.size), "the start");
  if (place_.rank != expected.rank || place_.size != expected.size)
    throw UsageError(fmt::format(
        "mpirun is of another MPI than this foretrain: rank {} of {} there, {} of {} here",
        expected.rank, expected.size, place_.rank, place_.size));
}

Ranks::~Ranks() {
  // After an error nobody waits for the others: mpirun ends them.
  if (library_->finish != nullptr && std::uncaught_exceptions() == 0) library_->finish();
}

void Ranks::send(int to, const std::string& message) {
  Library::check(library_->send(to, message.data(), message.size()), "sending");
}

std::optional<Ranks::Message> Ranks::poll() {
  Message message;
  long size = -1;
  Library::check(library_->probe(&message.from, &size), "looking for a message");
  if (size < 0) return std::nullopt;
  message.bytes.resize(static_cast<std::size_t>(size));
  Library::check(library_->receive(message.from, message.bytes.data(), message.bytes.size()),
                 "receiving");
  FORETRAIN_REQUIRE(!message.bytes.empty());
  return message;
}

Ranks::Message Ranks::wait() {
  while (true) {
    if (auto message = poll()) return std::move(*message);
    nap();  // MPI's own way to wait takes a whole core
  }
}

void serve_ranks(Ranks& ranks, const PoolOptions& options, const PoolTraffic& traffic) {
  for (int others = ranks.place().size - 1; others > 0;) {
    traffic.idle();
    auto message = ranks.poll();
    if (!message) {
      nap();
      continue;
    }
    std::string bytes = message->bytes.substr(1);
    switch (static_cast<Tag>(message->bytes.front())) {
      case Tag::wanted: {
        const bool stopping = options.stop != nullptr && *options.stop;
        const int wanted = number(bytes.c_str()).value_or(1);
        const auto points =
            stopping ? std::vector<std::int64_t>{} : traffic.take(static_cast<std::size_t>(wanted));
        ranks.send(message->from, tagged(Tag::points, bytes_of(points)));
        break;
      }
      case Tag::rows:
        traffic.deliver(decode_rows(bytes));
        break;
      case Tag::left:
        --others;
        break;
      case Tag::points:
        throw std::logic_error("points came to rank 0");
    }
  }
}

void run_rank(Ranks& ranks, const std::function<SweepRow(std::int64_t)>& forecast,
              std::size_t metrics, const PoolOptions& options) {
  PoolTraffic traffic;
  traffic.take = [&](std::size_t wanted) {
    ranks.send(0, tagged(Tag::wanted, std::to_string(wanted)));
    return points_of(std::string_view(ranks.wait().bytes).substr(1));
  };
  traffic.deliver = [&](const std::vector<SweepRow>& rows) {
    std::string bytes;
    for (const SweepRow& row : rows) encode_row(row, bytes);
    ranks.send(0, tagged(Tag::rows, bytes));
  };
  traffic.idle = [] {};
  run_pool(forecast, metrics, options, traffic);
  ranks.send(0, std::string(1, static_cast<char>(Tag::left)));
}

}  // namespace foretrain
