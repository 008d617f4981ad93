#include "bench/facts/perf_events.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

namespace fs = std::filesystem;

PerfEvent Hardware(const char* name, uint64_t config) { return {name, PERF_TYPE_HARDWARE, config}; }
PerfEvent Raw(const char* name, uint64_t config) { return {name, PERF_TYPE_RAW, config}; }
PerfEvent DtlbMisses() {
  return {"dtlb_misses", PERF_TYPE_HW_CACHE,
          PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_OP_READ << 8 |
              PERF_COUNT_HW_CACHE_RESULT_MISS << 16};
}

PerfEvent StalledCycles(CpuVendor vendor) {
  // CYCLE_ACTIVITY.STALLS_TOTAL: the kernel knows no stalls of Intel's cores since 2015.
  if (vendor == CpuVendor::kIntel) return Raw("stalled_cycles", 0x04'00'04'a3);
  return Hardware("stalled_cycles", PERF_COUNT_HW_STALLED_CYCLES_BACKEND);
}

PerfGroup CacheMisses(CpuVendor vendor) {
  switch (vendor) {
    case CpuVendor::kIntel:  // L2_RQSTS.MISS, LONGEST_LAT_CACHE.MISS
      return {Raw("l2_misses", 0x3f24), Hardware("l3_misses", PERF_COUNT_HW_CACHE_MISSES)};
    case CpuVendor::kAmd:  // l2_cache_req_stat.ic_dc_miss_in_l2; the L3 is no core's
      return {Raw("l2_misses", 0x0964)};
    case CpuVendor::kArm:  // L2D_CACHE_REFILL, L3D_CACHE_REFILL
      return {Raw("l2_misses", 0x17), Raw("l3_misses", 0x2a)};
    default:
      return {};
  }
}

std::string WordOf(const fs::path& file) {
  std::string word;
  std::ifstream(file) >> word;
  return word;
}

// The first bit of a field, of "config:8-15".
int FirstBit(const fs::path& device, const std::string& field) {
  const std::string format = WordOf(device / "format" / field);
  return format.starts_with("config:") ? std::stoi(format.substr(7)) : -1;
}

// The config of "event=0x04,umask=0x03"; 0 for text in another form.
uint64_t ConfigOf(const fs::path& device, const std::string& text) {
  uint64_t config = 0;
  std::istringstream terms(text);
  for (std::string term; std::getline(terms, term, ',');) {
    const size_t equal = term.find('=');
    const int bit = equal == std::string::npos ? -1 : FirstBit(device, term.substr(0, equal));
    if (bit < 0) return 0;
    config |= std::stoull(term.substr(equal + 1), nullptr, 0) << bit;
  }
  return config;
}

// The cpus of "0,28" or "0-1,28".
std::vector<int> CpusOf(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t dash = part.find('-');
    const int first = std::stoi(part);
    const int last = dash == std::string::npos ? first : std::stoi(part.substr(dash + 1));
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

// One direction of a controller, on each socket.
void AddController(const fs::path& device, const std::string& event, const char* name,
                   PerfGroup& events) {
  const std::string text = WordOf(device / "events" / event);
  const std::string scale = WordOf(device / "events" / (event + ".scale"));
  const uint64_t config = ConfigOf(device, text);
  if (config == 0 || scale.empty() || WordOf(device / "events" / (event + ".unit")) != "MiB")
    return;
  for (const int cpu : CpusOf(WordOf(device / "cpumask")))
    events.push_back({name, static_cast<uint32_t>(std::stoul(WordOf(device / "type"))), config,
                      std::stod(scale) * 0x1p20, cpu});
}

}  // namespace

CpuVendor ThisCpuVendor() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  __get_cpuid(0, &a, &b, &c, &d);
  if (b == signature_INTEL_ebx) return CpuVendor::kIntel;
  return b == signature_AMD_ebx ? CpuVendor::kAmd : CpuVendor::kOther;
#elif defined(__aarch64__)
  return CpuVendor::kArm;
#else
  return CpuVendor::kOther;
#endif
}

std::vector<PerfGroup> CoreGroups(CpuVendor vendor) {
  PerfGroup misses = CacheMisses(vendor);
  misses.push_back(DtlbMisses());
  return {{Hardware("cycles", PERF_COUNT_HW_CPU_CYCLES),
           Hardware("instructions", PERF_COUNT_HW_INSTRUCTIONS), StalledCycles(vendor)},
          std::move(misses)};
}

PerfGroup DramEvents(const fs::path& devices) {
  PerfGroup events;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(devices, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("uncore_imc_") || name.starts_with("uncore_imc_free")) continue;
    AddController(entry.path(), "cas_count_read", "dram_read_bytes", events);
    AddController(entry.path(), "cas_count_write", "dram_write_bytes", events);
  }
  return events;
}

}  // namespace tessera::bench
