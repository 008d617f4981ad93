#ifndef TESSERA_RUNTIME_MACHINE_H_
#define TESSERA_RUNTIME_MACHINE_H_
// What measurements say of the machine they were made on.
#include <cstdint>
#include <string>

namespace tessera {

// "AMD EPYC, 2 cores".
std::string MachineName();
// Of the host.
int64_t MachineMemoryBytes();

}  // namespace tessera
#endif  // TESSERA_RUNTIME_MACHINE_H_
