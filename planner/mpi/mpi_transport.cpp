// SPDX-License-Identifier: Apache-2.0
#include <climits>

// The C++ bindings of MPI 2 are gone from the standard, and full of old casts.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "planner/mpi/mpi_transport.h"

// MPI's own macros are C.
#pragma GCC diagnostic ignored "-Wold-style-cast"

namespace {

constexpr int tag = 1;

}  // namespace

int foretrain_mpi_start(int* rank, int* size) {
  int code = MPI_Init(nullptr, nullptr);
  if (code == MPI_SUCCESS) code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  if (code == MPI_SUCCESS) code = MPI_Comm_size(MPI_COMM_WORLD, size);
  return code;
}

int foretrain_mpi_send(int to, const void* data, size_t size) {
  if (size > INT_MAX) return MPI_ERR_COUNT;
  return MPI_Send(data, static_cast<int>(size), MPI_BYTE, to, tag, MPI_COMM_WORLD);
}

int foretrain_mpi_probe(int* from, long* size) {
  int waits = 0;
  MPI_Status status;
  int code = MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &waits, &status);
  *size = -1;
  if (code != MPI_SUCCESS || waits == 0) return code;
  int count = 0;
  code = MPI_Get_count(&status, MPI_BYTE, &count);
  *from = status.MPI_SOURCE;
  *size = count;
  return code;
}

int foretrain_mpi_receive(int from, void* data, size_t size) {
  if (size > INT_MAX) return MPI_ERR_COUNT;
  return MPI_Recv(data, static_cast<int>(size), MPI_BYTE, from, tag, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE);
}

int foretrain_mpi_finish(void) { return MPI_Finalize(); }
