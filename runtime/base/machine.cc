#include "runtime/base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "runtime/base/check.h"

namespace tessera {
namespace {

// The cores that this process may use: fewer where taskset, or mpirun, has bound it.
int AllowedCores() {
  cpu_set_t allowed;  // of at most 1,024 cores; a machine with more says nothing
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return MachineCores();
  return std::clamp(CPU_COUNT(&allowed), 1, MachineCores());
}

}  // namespace

std::string MachineName() {
  std::ifstream info("/proc/cpuinfo");
  std::string model = "unknown CPU";
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  return Format("{}, {} cores", model, MachineCores());
}

int64_t MachineMemoryBytes() { return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

int MachineCores() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

int DefaultThreads(int processes) {
  const char* text = std::getenv("TESSERA_THREADS");
  if (text == nullptr)
    return std::min(AllowedCores(), std::max(1, MachineCores() / std::max(1, processes)));
  const int threads = std::atoi(text);
  TESSERA_CHECK(threads >= 1, "TESSERA_THREADS={}: expected a number above 0", text);
  return threads;
}

}  // namespace tessera
