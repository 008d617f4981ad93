#ifndef TESSERA_BENCH_FACTS_PERF_SYSTEM_H_
#define TESSERA_BENCH_FACTS_PERF_SYSTEM_H_
// System calls and files that hardware counters need, behind an interface: tests put a kernel of
// their own in its place.
#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

class PerfSystem {
 public:
  virtual ~PerfSystem() = default;
  // perf_event_open(2): a file descriptor, or −errno.
  virtual int Open(const perf_event_attr& attr, int thread, int cpu, int group) = 0;
  // read(2): bytes, or −errno.
  virtual int64_t Read(int file, void* to, size_t bytes) = 0;
  virtual void Close(int file) = 0;
  // Ids of this process's threads.
  virtual std::vector<int> Threads() = 0;
  // kernel.perf_event_paranoid; "unknown" where there is none.
  virtual std::string Paranoid() = 0;
};

// That of the kernel which this process runs on.
PerfSystem& KernelPerfSystem();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_FACTS_PERF_SYSTEM_H_
