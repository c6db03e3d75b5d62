// SPDX-License-Identifier: Apache-2.0
#include "calibration/harness/ncclbench/nccl_library.hpp"

#include <dlfcn.h>

#include <cmath>
#include <cstdlib>

namespace foretrain::harness {
namespace {

using Comm = NcclLibrary::Comm;

// NCCL's C interface as its documentation gives it: results are ints, 0 is success; data type 7 is
// fp32, reduction 0 the sum. The id goes by value.
constexpr int fp32 = 7;
constexpr int sum = 0;

/// ncclSimInfo_t of NCCL 2.22: size, magic and version are how the library knows it.
struct SimulationInfo {
  std::size_t size = 0;
  unsigned magic = 0x74685283;
  unsigned version = 0;
  float estimated_time = -1.0F;  ///< microseconds; below zero: not known
};

template <typename Function>
void load(void* library, const char* name, Function*& into, bool optional = false) {
  into = reinterpret_cast<Function*>(dlsym(library, name));
  if (into == nullptr && !optional)
    throw NcclError{std::string{"the NCCL library has no "} + name + "; 2.10 or later is needed"};
}

}  // namespace

struct NcclLibrary::Calls {
  int (*get_version)(int*) = nullptr;
  int (*get_unique_id)(NcclId*) = nullptr;
  int (*comm_init_rank)(Comm*, int, NcclId, int) = nullptr;
  int (*comm_split)(Comm, int, int, Comm*, void*) = nullptr;
  int (*comm_destroy)(Comm) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*group_simulate_end)(SimulationInfo*) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Comm, cudaStream_t) = nullptr;
  int (*all_gather)(const void*, void*, std::size_t, int, Comm, cudaStream_t) = nullptr;
  int (*reduce_scatter)(const void*, void*, std::size_t, int, int, Comm, cudaStream_t) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int, int, Comm, cudaStream_t) = nullptr;
  int (*reduce)(const void*, void*, std::size_t, int, int, int, Comm, cudaStream_t) = nullptr;
  int (*send)(const void*, std::size_t, int, int, Comm, cudaStream_t) = nullptr;
  int (*receive)(void*, std::size_t, int, int, Comm, cudaStream_t) = nullptr;

  explicit Calls(void* library);
};

NcclLibrary::Calls::Calls(void* library) {
  load(library, "ncclGetVersion", get_version);
  load(library, "ncclGetUniqueId", get_unique_id);
  load(library, "ncclCommInitRank", comm_init_rank);
  load(library, "ncclCommSplit", comm_split, true);
  load(library, "ncclCommDestroy", comm_destroy);
  load(library, "ncclGetErrorString", error_string);
  load(library, "ncclGroupStart", group_start);
  load(library, "ncclGroupEnd", group_end);
  load(library, "ncclGroupSimulateEnd", group_simulate_end, true);
  load(library, "ncclAllReduce", all_reduce);
  load(library, "ncclAllGather", all_gather);
  load(library, "ncclReduceScatter", reduce_scatter);
  load(library, "ncclBroadcast", broadcast);
  load(library, "ncclReduce", reduce);
  load(library, "ncclSend", send);
  load(library, "ncclRecv", receive);
}

NcclLibrary::NcclLibrary() {
  const char* named = std::getenv("FORETRAIN_NCCL");
  const std::string file = named != nullptr ? named : "libnccl.so.2";
  library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr)
    throw NcclError{"cannot load " + file + " (FORETRAIN_NCCL may name the file)"};
  try {
    calls_ = std::make_unique<Calls>(library_);
  } catch (...) {
    dlclose(library_);
    throw;
  }
}

NcclLibrary::~NcclLibrary() { dlclose(library_); }

void NcclLibrary::check(int status, const char* what) const {
  if (status != 0) throw NcclError{std::string{what} + ": " + calls_->error_string(status)};
}

int NcclLibrary::version() const {
  int version = 0;
  check(calls_->get_version(&version), "ncclGetVersion");
  return version;
}

NcclId NcclLibrary::make_id() const {
  NcclId id;
  check(calls_->get_unique_id(&id), "ncclGetUniqueId");
  return id;
}

Comm NcclLibrary::join(int ranks, const NcclId& id, int rank) const {
  Comm comm = nullptr;
  check(calls_->comm_init_rank(&comm, ranks, id, rank), "ncclCommInitRank");
  return comm;
}

Comm NcclLibrary::split(Comm comm, int color, int key) const {
  if (calls_->comm_split == nullptr) throw NcclError{"process groups need NCCL 2.18 or later"};
  Comm part = nullptr;
  check(calls_->comm_split(comm, color, key, &part, nullptr), "ncclCommSplit");
  return part;
}

void NcclLibrary::leave(Comm comm) const { check(calls_->comm_destroy(comm), "ncclCommDestroy"); }
void NcclLibrary::begin_group() const { check(calls_->group_start(), "ncclGroupStart"); }
void NcclLibrary::end_group() const { check(calls_->group_end(), "ncclGroupEnd"); }

void NcclLibrary::all_reduce(const void* send, void* receive, std::size_t count, Comm comm,
                             cudaStream_t stream) const {
  check(calls_->all_reduce(send, receive, count, fp32, sum, comm, stream), "ncclAllReduce");
}

void NcclLibrary::all_gather(const void* send, void* receive, std::size_t count, Comm comm,
                             cudaStream_t stream) const {
  check(calls_->all_gather(send, receive, count, fp32, comm, stream), "ncclAllGather");
}

void NcclLibrary::reduce_scatter(const void* send, void* receive, std::size_t count, Comm comm,
                                 cudaStream_t stream) const {
  check(calls_->reduce_scatter(send, receive, count, fp32, sum, comm, stream), "ncclReduceScatter");
}

// NOLINTNEXTLINE(readability-function-size): NCCL's own parameters
void NcclLibrary::broadcast(const void* send, void* receive, std::size_t count, int root, Comm comm,
                            cudaStream_t stream) const {
  check(calls_->broadcast(send, receive, count, fp32, root, comm, stream), "ncclBroadcast");
}

// NOLINTNEXTLINE(readability-function-size): NCCL's own parameters
void NcclLibrary::reduce(const void* send, void* receive, std::size_t count, int root, Comm comm,
                         cudaStream_t stream) const {
  check(calls_->reduce(send, receive, count, fp32, sum, root, comm, stream), "ncclReduce");
}

void NcclLibrary::send(const void* from, std::size_t count, int peer, Comm comm,
                       cudaStream_t stream) const {
  check(calls_->send(from, count, fp32, peer, comm, stream), "ncclSend");
}

void NcclLibrary::receive(void* to, std::size_t count, int peer, Comm comm,
                          cudaStream_t stream) const {
  check(calls_->receive(to, count, fp32, peer, comm, stream), "ncclRecv");
}

bool NcclLibrary::can_estimate() const { return calls_->group_simulate_end != nullptr; }

double NcclLibrary::estimate_group() const {
  SimulationInfo info;
  info.size = sizeof info;
  info.version = static_cast<unsigned>(version());
  check(calls_->group_simulate_end(&info), "ncclGroupSimulateEnd");
  return static_cast<double>(info.estimated_time);
}

}  // namespace foretrain::harness
