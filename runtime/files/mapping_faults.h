#ifndef TESSERA_RUNTIME_FILES_MAPPING_FAULTS_H_
#define TESSERA_RUNTIME_FILES_MAPPING_FAULTS_H_
// Mapped files that were cut while they were in use, or whose disk fails: a read of what is gone
// ends a process by SIGBUS. While a mapping is guarded, such a read gives zeros, from there to the
// mapping's end, and is remembered; who has read asks afterwards, and throws away what it made of
// them. Any thread.
#include <cstdint>
#include <memory>
#include <string>

namespace tessera {

// Guards [begin, begin + bytes), mapped from the file `path`, until the result goes. Installs a
// handler of SIGBUS, once a process; faults elsewhere do what they did before. REQUIRES: begin is a
// page's.
std::shared_ptr<void> GuardMapping(void* begin, int64_t bytes, const std::string& path);

// Whether any guarded mapping has had a fault. Costs one load.
bool AnyMappingFaulted();

// Throws Error, naming the file, if the guarded mapping that has this address has had a fault.
void CheckMapping(const void* address);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_MAPPING_FAULTS_H_
