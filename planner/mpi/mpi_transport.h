// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>

/// What the part that is linked with MPI gives to the program, which is not: a shared object,
/// loaded when a sweep runs under mpirun. Functions return 0, or an MPI error code. All messages
/// are bytes.
#ifdef __cplusplus
extern "C" {
#endif

int foretrain_mpi_start(int* rank, int* size);
int foretrain_mpi_send(int to, const void* data, size_t size);
/// *size is -1 when no message waits.
int foretrain_mpi_probe(int* from, long* size);
int foretrain_mpi_receive(int from, void* data, size_t size);
int foretrain_mpi_finish(void);

#ifdef __cplusplus
}
#endif
