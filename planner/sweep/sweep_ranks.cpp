// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_ranks.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "models/base/require.hpp"
#include "planner/mpi/mpi_transport.h"
#include "planner/text/usage_error.hpp"
#include "sim/flows/plug_in_file.hpp"

namespace foretrain {
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
