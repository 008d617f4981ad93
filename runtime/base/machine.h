#ifndef TESSERA_RUNTIME_BASE_MACHINE_H_
#define TESSERA_RUNTIME_BASE_MACHINE_H_
// The machine that measurements were made on: what they say of it.
#include <cstdint>
#include <string>

namespace tessera {

// "AMD EPYC, 2 cores".
std::string MachineName();
// Memory of the host, in bytes.
int64_t MachineMemoryBytes();
// Number of cores, at least 1.
int MachineCores();
// Threads of a process that says nothing of them: TESSERA_THREADS, or its part of the cores where
// `processes` share them, at least 1. Throws Error for a TESSERA_THREADS that is no number above 0.
int DefaultThreads(int processes = 1);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_MACHINE_H_
