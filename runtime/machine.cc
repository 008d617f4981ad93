#include "runtime/machine.h"

#include <unistd.h>

#include <fstream>
#include <thread>

#include "runtime/check.h"

namespace tessera {

std::string MachineName() {
  std::ifstream info("/proc/cpuinfo");
  std::string model = "unknown CPU";
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  return Format("{}, {} cores", model, std::thread::hardware_concurrency());
}

int64_t MachineMemoryBytes() { return int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE); }

}  // namespace tessera
