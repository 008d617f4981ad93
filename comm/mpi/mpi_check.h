#ifndef TESSERA_COMM_MPI_MPI_CHECK_H_
#define TESSERA_COMM_MPI_MPI_CHECK_H_
// MPI's C interface, and its failures as Errors.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX  // not the C++ one that MPI once had
#endif
#include <mpi/mpi.h>

#include <string_view>

#include "runtime/base/check.h"

namespace tessera::internal {

inline void CheckMpi(int code, const char* call, const char* file, int line) {
  if (code == MPI_SUCCESS) [[likely]]
    return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  ThrowError(file, line, Format("{}: {}", call, std::string_view(text)));
}

}  // namespace tessera::internal

#define TESSERA_MPI_CHECK(call) ::tessera::internal::CheckMpi(call, #call, __FILE__, __LINE__)

#endif  // TESSERA_COMM_MPI_MPI_CHECK_H_
