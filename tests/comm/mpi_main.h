#ifndef TESSERA_TESTS_COMM_MPI_MAIN_H_
#define TESSERA_TESTS_COMM_MPI_MAIN_H_
// The main of googletest programs whose every rank runs the same tests under mpirun. Arguments:
// --comm-thread=off, --chunk-bytes=N, --timeout=SECONDS.
#include "comm/communicator.h"

namespace tessera::testing {

// All ranks.
Communicator& MpiWorld();

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_COMM_MPI_MAIN_H_
