#include "runtime/base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "runtime/base/cgroups.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

// The cores that this process may use: fewer where taskset, or mpirun, has bound it.
int AllowedCores() {
  cpu_set_t allowed;  // of at most 1,024 cores; a machine with more says nothing
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return MachineCores();
  return std::clamp(CPU_COUNT(&allowed), 1, MachineCores());
}

std::optional<double> NumberIn(const std::string& path) {
  std::ifstream file(path);
  double number = 0;
  if (file >> number) return number;  // "max" is none
  return {};
}

// The cores whose time one cgroup may use; absent if it has no limit.
std::optional<double> QuotaIn(const std::string& folder, bool is_v2) {
  if (is_v2) {
    std::ifstream file(folder + "/cpu.max");  // "250000 100000", or "max 100000"
    double time = 0, period = 0;
    if (file >> time >> period && time > 0 && period > 0) return time / period;
    return {};
  }
  const auto time = NumberIn(folder + "/cpu.cfs_quota_us"),  // -1: no limit
      period = NumberIn(folder + "/cpu.cfs_period_us");
  if (!time || !period || *time <= 0 || *period <= 0) return {};
  return *time / *period;
}

// The cores of a list as "0-3,8"; absent where it is empty or none.
std::optional<double> CoresOfSet(const std::string& path) {
  std::ifstream file(path);
  double cores = 0;
  for (std::string run; std::getline(file, run, ',');) {
    std::istringstream text(run);
    int64_t first = 0, last = 0;
    char dash = 0;
    if (!(text >> first)) return {};
    cores += text >> dash >> last ? static_cast<double>(last - first + 1) : 1;
  }
  if (cores < 1) return {};
  return cores;
}

std::optional<int> GivenThreads() {
  const char* text = std::getenv("TESSERA_THREADS");
  if (text == nullptr) return {};
  const int threads = std::atoi(text);
  TESSERA_CHECK(threads >= 1, "TESSERA_THREADS={}: expected a number above 0", text);
  return threads;
}

}  // namespace

namespace internal {

int CoresInCgroups(int cores, const std::string& root) {
  double least = cores;
  ForEachCgroup(root, "cpu", [&](const std::string& folder, bool is_v2) {
    least = std::min(least, std::ceil(QuotaIn(folder, is_v2).value_or(least)));
  });
  ForEachCgroup(root, "cpuset", [&](const std::string& folder, bool is_v2) {
    const std::string path = folder + (is_v2 ? "/cpuset.cpus.effective" : "/cpuset.cpus");
    least = std::min(least, CoresOfSet(path).value_or(least));
  });
  return std::max(1, static_cast<int>(least));
}

}  // namespace internal

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

int MachineCores() {
  static const int cores =
      internal::CoresInCgroups(static_cast<int>(std::thread::hardware_concurrency()), "");
  return cores;
}

int DefaultThreads(int processes) {
  const int share = std::max(1, MachineCores() / std::max(1, processes));
  return GivenThreads().value_or(std::min(AllowedCores(), share));
}

int DefaultThreadsOfStarted(int processes) {
  return GivenThreads().value_or(std::max(1, AllowedCores() / std::max(1, processes)));
}

}  // namespace tessera
