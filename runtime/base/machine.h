#ifndef TESSERA_RUNTIME_BASE_MACHINE_H_
#define TESSERA_RUNTIME_BASE_MACHINE_H_
// The machine that measurements are made on, and how much of it this process may use.
#include <cstdint>
#include <string>

namespace tessera {

// "AMD EPYC, 2 cores".
std::string MachineName();
// Memory of the host, in bytes.
int64_t MachineMemoryBytes();
// Number of cores that processes on this machine share, at least 1: no more than the CPU limit or
// the CPU set of this process's cgroup, v1 or v2, such as a container has. A limit of 2.5 is 3.
int MachineCores();
// Threads of a process that says nothing of them: TESSERA_THREADS, or its part of the cores where
// one launcher has started `processes` of them, and no more than it is bound to (taskset, mpirun);
// at least 1. Throws Error for a TESSERA_THREADS that is no number above 0.
int DefaultThreads(int processes = 1);
// Returns TESSERA_THREADS, or as many for each of `processes` that this one starts as its own cores
// give all of them; at least 1. Throws Error as DefaultThreads.
int DefaultThreadsOfStarted(int processes);

namespace internal {
// Returns as many of `cores` as the cgroups of this process leave it. `root`: where /proc and /sys
// are looked for.
int CoresInCgroups(int cores, const std::string& root);
}  // namespace internal

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_MACHINE_H_
