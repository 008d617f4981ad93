#include "bench/facts/perf_system.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace tessera::bench {
namespace {

class Kernel : public PerfSystem {
 public:
  int Open(const perf_event_attr& attr, int thread, int cpu, int group) override {
    const int64_t file =
        syscall(SYS_perf_event_open, &attr, thread, cpu, group, PERF_FLAG_FD_CLOEXEC);
    return file < 0 ? -errno : static_cast<int>(file);
  }
  int64_t Read(int file, void* to, size_t bytes) override {
    const int64_t got = read(file, to, bytes);
    return got < 0 ? -errno : got;
  }
  void Close(int file) override { close(file); }
  std::vector<int> Threads() override {
    std::vector<int> threads;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error))
      threads.push_back(std::stoi(entry.path().filename()));
    return threads;
  }
  std::string Paranoid() override {
    std::string level = "unknown";
    std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
    return level;
  }
};

}  // namespace

PerfSystem& KernelPerfSystem() {
  static Kernel kernel;
  return kernel;
}

}  // namespace tessera::bench
