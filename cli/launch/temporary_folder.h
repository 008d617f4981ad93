#ifndef TESSERA_CLI_LAUNCH_TEMPORARY_FOLDER_H_
#define TESSERA_CLI_LAUNCH_TEMPORARY_FOLDER_H_
// The folder in which Open MPI keeps a job's sockets and shared memory, on this host.

namespace tessera::cli {

// Throws Error, naming the variable that chose it (OMPI_MCA_orte_tmpdir_base, TMPDIR, …), unless
// files can be made in it. It is made where it is missing, as mpirun does.
void CheckTemporaryFolder();

}  // namespace tessera::cli
#endif  // TESSERA_CLI_LAUNCH_TEMPORARY_FOLDER_H_
