// SPDX-License-Identifier: Apache-2.0
// foretrain-ncclbench: measures NCCL and writes JSON Lines. See ../README.md.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>

#include "calibration/harness/common/id_exchange.hpp"
#include "calibration/harness/common/json_line.hpp"
#include "calibration/harness/common/ncclbench_options.hpp"
#include "calibration/harness/common/nvml.hpp"
#include "calibration/harness/common/process_place.hpp"
#include "calibration/harness/common/flag_reader.hpp"
#include "calibration/harness/gpubench/gemm.hpp"
#include "calibration/harness/ncclbench/collective_run.hpp"

namespace foretrain::harness {
namespace {

constexpr int usage_error = 2;

/// What all threads of a process share.
struct Session {
  const NcclbenchOptions& options;
  const ProcessPlace& place;
  const NcclLibrary& nccl;
  NcclId id;
  std::ostream& out;
  std::atomic<std::int64_t> wrong_elements{0};
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  [[nodiscard]] int world() const { return place.world * options.gpus; }
};

/// One rank at work on one GPU.
class Rank {
 public:
  Rank(Session& session, int local);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  void run();

 private:
  void write_device();
  void run_case(NcclOperation operation, std::int64_t bytes, bool in_place);
  [[nodiscard]] double mean_seconds(const Work& work, int repeats);
  [[nodiscard]] double mean_over_ranks(double value);
  [[nodiscard]] bool time_is_over();
  [[nodiscard]] bool writes() const { return world_rank_ == 0; }

  Session& session_;
  int device_;
  int world_rank_;
  Stream stream_;
  Stream beside_;
  DeviceBuffer number_{sizeof(float)};
  NcclLibrary::Comm world_ = nullptr;
  NcclLibrary::Comm part_ = nullptr;
  int groups_ = 1;
  bool works_ = true;
};

int set_device(const Session& session, int local) {
  const int device = session.place.world > 1 && session.options.gpus == 1
                         ? session.place.local_rank
                         : session.place.local_rank * session.options.gpus + local;
  check(cudaSetDevice(device));
  return device;
}

Rank::Rank(Session& session, int local)
    : session_{session},
      device_{set_device(session, local)},
      world_rank_{session.place.rank * session.options.gpus + local} {
  const int world = session.world();
  world_ = session.nccl.join(world, session.id, world_rank_);
  const int size = session.options.group_size;
  if (size == 0) return;
  const GroupPlace mine = group_place(world_rank_, size, session.options.group_stride);
  works_ = !session.options.one_group || mine.group == 0;
  groups_ = session.options.one_group ? 1 : world / size;
  part_ = session.nccl.split(world_, works_ ? mine.group : -1, world_rank_);
}

// As with every destructor here, what fails now was told before or shows at the next call.
Rank::~Rank() {
  try {
    if (part_ != nullptr) session_.nccl.leave(part_);
    session_.nccl.leave(world_);
  } catch (const NcclError&) {
  }
}

double Rank::mean_over_ranks(double value) {
  const auto single = static_cast<float>(value);
  check(cudaMemcpy(number_.as<void>(), &single, sizeof single, cudaMemcpyHostToDevice));
  session_.nccl.all_reduce(number_.as<void>(), number_.as<void>(), 1, world_, stream_.get());
  check(cudaStreamSynchronize(stream_.get()));
  float sum = 0.0F;
  check(cudaMemcpy(&sum, number_.as<void>(), sizeof sum, cudaMemcpyDeviceToHost));
  return static_cast<double>(sum) / session_.world();
}

/// All ranks must stop at the same case, so rank 0's clock decides for all.
bool Rank::time_is_over() {
  const std::chrono::duration<double> used = std::chrono::steady_clock::now() - session_.begin;
  const double mine = writes() && used.count() > session_.options.budget_s ? 1.0 : 0.0;
  return mean_over_ranks(mine) > 0.0;
}

double Rank::mean_seconds(const Work& work, int repeats) {
  static_cast<void>(mean_over_ranks(0.0));  // a barrier
  return works_ ? time_together(stream_.get(), work, repeats) : 0.0;
}

void Rank::write_device() {
  cudaDeviceProp gpu{};
  check(cudaGetDeviceProperties(&gpu, device_));
  std::array<char, 32> bus{};
  check(cudaDeviceGetPCIBusId(bus.data(), bus.size(), device_));
  const Nvml nvml;
  const GpuFacts facts = nvml.facts(bus.data());
  JsonLine line;
  line.text("record", "device").text("schema", "ncclbench/1").text("name", gpu.name);
  line.text("driver", facts.driver).whole("nccl", session_.nccl.version());
  line.text("launcher", session_.place.launcher).whole("ranks", session_.world());
  line.whole("gpus_per_process", session_.options.gpus);
  for (const char* variable : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_IB_HCA"})
    if (const char* value = std::getenv(variable)) line.text(variable, value);
  session_.out << line.str() << '\n' << std::flush;
}

int repeats_of(std::int64_t bytes) {
  if (bytes <= 1 << 20) return 50;
  return bytes <= 256 << 20 ? 20 : 5;
}

void Rank::run_case(NcclOperation operation, std::int64_t bytes, bool in_place) {
  const int ranks =
      session_.options.group_size == 0 ? session_.world() : session_.options.group_size;
  const int rank = session_.options.group_size == 0
                       ? world_rank_
                       : group_place(world_rank_, ranks, session_.options.group_stride).rank;
  const Member member{session_.nccl, part_ != nullptr ? part_ : world_, rank, ranks};
  const int repeats = repeats_of(bytes);
  std::optional<CollectiveRun> collective;
  if (works_) collective.emplace(member, operation, bytes, in_place);
  const Work work = [&](cudaStream_t on) { collective->start(on); };
  if (works_) collective->prepare(stream_.get());
  static_cast<void>(mean_seconds(work, 5));
  const double seconds = mean_seconds(work, repeats);
  const double active = mean_over_ranks(works_ ? 1.0 : 0.0);
  const double mean = mean_over_ranks(seconds) / active;
  const std::int64_t wrong = works_ ? collective->wrong_elements(stream_.get()) : 0;
  session_.wrong_elements += wrong;
  const double all_wrong = mean_over_ranks(static_cast<double>(wrong)) * session_.world();
  // All ask, since NCCL may open connections for it; rank 0 is in the first group and so works.
  const std::optional<double> estimate =
      works_ ? collective->estimate(stream_.get()) : std::nullopt;
  if (!writes()) return;
  const auto size =
      static_cast<double>(std::max(collective->counts().send, collective->counts().receive) * 4);
  JsonLine line;
  line.text("record", "collective").text("op", name(operation)).text("dtype", "fp32");
  line.number("bytes", size).whole("ranks", ranks).whole("groups", groups_);
  line.whole("group_stride", session_.options.group_stride).truth("in_place", in_place);
  line.whole("count", repeats).number("mean_us", mean * 1e6);
  line.number("algbw_gb_per_s", size / mean * 1e-9);
  line.number("busbw_gb_per_s", size / mean * 1e-9 * bus_factor(operation, ranks));
  if (estimate)
    line.number("nccl_estimate_us", *estimate);
  else
    line.missing("nccl_estimate_us");
  line.number("wrong_elements", all_wrong).truth("check_passed", all_wrong == 0.0);
  session_.out << line.str() << '\n' << std::flush;
}

/// A collective of 256 MiB beside a matrix product: how much each slows the other.
void write_overlap(const Session& session, double alone_gemm, double alone_collective, double gemm,
                   double collective) {
  JsonLine line;
  line.text("record", "overlap").text("op", "all_reduce").number("bytes", 268435456.0);
  line.whole("ranks", session.world());
  line.number("gemm_alone_us", alone_gemm * 1e6).number("gemm_us", gemm * 1e6);
  line.number("collective_alone_us", alone_collective * 1e6);
  line.number("collective_us", collective * 1e6);
  session.out << line.str() << '\n' << std::flush;
}

void Rank::run() {
  if (writes()) write_device();
  const NcclbenchOptions& options = session_.options;
  bool over = false;
  for (const std::int64_t bytes :
       size_ladder(options.begin_bytes, options.end_bytes, options.factor))
    for (const NcclOperation operation : options.operations)
      for (const bool in_place : {false, true}) {
        const int ranks = options.group_size == 0 ? session_.world() : options.group_size;
        if (in_place && !has_in_place(operation)) continue;
        if (nccl_counts(operation, bytes, ranks, 4).call == 0) continue;
        over = over || time_is_over();
        if (!over) run_case(operation, bytes, in_place);
      }
  if (!options.overlap || options.group_size != 0 || time_is_over()) return;
  const Member member{session_.nccl, world_, world_rank_, session_.world()};
  const CollectiveRun collective{member, NcclOperation::all_reduce, 256LL << 20U, false};
  collective.prepare(stream_.get());
  const Gemm gemm{GemmCase{{8192, 8192, 8192}, GemmPass::forward, NumberType::bf16}};
  const Work talk = [&](cudaStream_t on) { collective.start(on); };
  const Work compute = [&](cudaStream_t on) { gemm.run(on); };
  const double alone_collective = mean_seconds(talk, 20);
  const double alone_gemm = time_together(beside_.get(), compute, 20);
  // More products than the collectives last, so that these always have one beside them.
  const int products =
      static_cast<int>(std::clamp(30.0 * alone_collective / alone_gemm, 20.0, 2e3));
  for (int i = 0; i < products; ++i) compute(beside_.get());
  const double collective_beside = mean_seconds(talk, 20);
  check(cudaStreamSynchronize(beside_.get()));
  const int calls = static_cast<int>(std::clamp(30.0 * alone_gemm / alone_collective, 20.0, 2e3));
  static_cast<void>(mean_over_ranks(0.0));
  for (int i = 0; i < calls; ++i) talk(stream_.get());
  const double gemm_beside = time_together(beside_.get(), compute, 20);
  check(cudaStreamSynchronize(stream_.get()));
  const double mean_collective = mean_over_ranks(collective_beside);
  const double mean_gemm = mean_over_ranks(gemm_beside);
  if (writes()) write_overlap(session_, alone_gemm, alone_collective, mean_gemm, mean_collective);
}

/// One thread per GPU; the first error of any is told, and ends the process, since the others would
/// wait in NCCL for ever.
void run_threads(Session& session) {
  std::mutex telling;
  std::vector<std::thread> threads;
  for (int local = 0; local < session.options.gpus; ++local)
    threads.emplace_back([&session, &telling, local] {
      try {
        Rank{session, local}.run();
      } catch (const std::exception& error) {
        const std::lock_guard lock{telling};
        std::cerr << "ncclbench: " << error.what() << '\n';
        std::_Exit(EXIT_FAILURE);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

/// One sentence about options that do not go together with the machine.
std::optional<std::string> contradiction(const NcclbenchOptions& options,
                                         const ProcessPlace& place) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0)
    return "there is no NVIDIA GPU here, or its driver is not loaded";
  if (options.gpus > gpus)
    return "--gpus " + std::to_string(options.gpus) + ": there are " + std::to_string(gpus);
  const int world = place.world * options.gpus;
  if (world < 2) return "a collective needs two ranks: --gpus 2 or more, or a launcher";
  const std::int64_t block = std::int64_t{options.group_size} * options.group_stride;
  if (options.group_size > 0 && world % block != 0)
    return "groups of " + std::to_string(options.group_size) + " ranks with stride " +
           std::to_string(options.group_stride) + " do not divide " + std::to_string(world) +
           " ranks";
  return std::nullopt;
}

int measure(const NcclbenchOptions& options, const ProcessPlace& place, std::ostream& out) {
  if (!options.algorithm.empty()) setenv("NCCL_ALGO", options.algorithm.c_str(), 1);
  if (!options.protocol.empty()) setenv("NCCL_PROTO", options.protocol.c_str(), 1);
  const NcclLibrary nccl;
  NcclId id;
  if (place.rank == 0) id = nccl.make_id();
  const std::string message = exchange_id(place, std::string(id.bytes.data(), id.bytes.size()));
  std::copy(message.begin(), message.end(), id.bytes.begin());
  Session session{options, place, nccl, id, out};
  run_threads(session);
  if (session.wrong_elements == 0) return EXIT_SUCCESS;
  std::cerr << "ncclbench: " << session.wrong_elements << " elements came out wrong\n";
  return EXIT_FAILURE;
}

int refuse(const std::string& sentence) {
  std::cerr << "ncclbench: " << sentence << '\n';
  return usage_error;
}

int main_of(int argc, char** argv) {
  const auto parsed = parse_ncclbench({argv + 1, argv + argc});
  if (const auto* wrong = std::get_if<std::string>(&parsed))
    return refuse(*wrong + "; --help lists the options");
  const auto& options = std::get<NcclbenchOptions>(parsed);
  if (options.help) {
    std::cout << ncclbench_help();
    return EXIT_SUCCESS;
  }
  const auto placed = process_place(process_environment());
  if (const auto* wrong = std::get_if<std::string>(&placed)) return refuse(*wrong);
  const auto& place = std::get<ProcessPlace>(placed);
  if (const auto wrong = contradiction(options, place)) return refuse(*wrong);
  if (options.out_file.empty() || place.rank != 0) return measure(options, place, std::cout);
  std::ofstream out{options.out_file};
  if (!out) return refuse("cannot write " + options.out_file);
  return measure(options, place, out);
}

}  // namespace
}  // namespace foretrain::harness

int main(int argc, char** argv) {
  try {
    return foretrain::harness::main_of(argc, argv);
  } catch (const foretrain::harness::NcclError& error) {
    std::cerr << "ncclbench: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "ncclbench: " << error.what() << '\n';
    return 1;
  }
}
