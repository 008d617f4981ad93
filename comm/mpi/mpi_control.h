#ifndef TESSERA_COMM_MPI_MPI_CONTROL_H_
#define TESSERA_COMM_MPI_MPI_CONTROL_H_
// The message that ranks send each other outside of calls.
#include "comm/mpi/mpi_engine.h"

namespace tessera::internal {

struct MpiEngine::Control {
  // The reason why a rank aborts; it sends no more; it is there (one byte, no text).
  static constexpr char kAbort = 'a', kLeft = 'l', kBeat = 'b';
  char kind;
  char text[1000];
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_MPI_MPI_CONTROL_H_
