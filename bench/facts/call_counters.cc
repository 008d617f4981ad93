#include "bench/facts/call_counters.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "runtime/base/check.h"
#include "runtime/base/joined.h"

namespace tessera::bench {
namespace {

constexpr uint64_t kFormat =
    PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

perf_event_attr AttrOf(const PerfEvent& event) {
  perf_event_attr attr = {};
  attr.size = sizeof(attr);
  attr.type = event.type;
  attr.config = event.config;
  attr.read_format = kFormat;
  attr.exclude_kernel = attr.exclude_hv = event.cpu < 0;  // a memory controller cannot tell
  return attr;
}

std::string WhyRefused(int error, const std::string& paranoid) {
  switch (error) {
    case EACCES:
    case EPERM:
      return Format(
          "kernel.perf_event_paranoid is {}. sysctl kernel.perf_event_paranoid=2 lets a process "
          "count its own threads, 0 memory controllers, too; a container's seccomp profile must "
          "allow perf_event_open",
          paranoid);
    case ENOSYS:
      return "the kernel has no perf_event_open, or a container hides it";
    case EMFILE:
      return "each event of a thread takes a file. ulimit -n allows more";
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
    case EINVAL:
      return "this machine has no counter for them; a virtual machine has what its host shows it";
    case EBUSY:
      return "something else has the counters all the time, such as a profiler, or the kernel's "
             "NMI watchdog (kernel.nmi_watchdog=0)";
    default:
      return "see perf_event_open(2)";
  }
}

}  // namespace

// The open counters of a group: for each thread a group of the kernel's, for each memory controller
// one by itself.
class CallCounters::Group {
 public:
  Group(PerfSystem& system, const PerfGroup& events) : system_(system), events_(events) {
    errors_.resize(events.size());
    for (const int thread : system.Threads()) OpenThread(thread);
    for (size_t e = 0; e < events_.size(); ++e)
      if (events_[e].cpu >= 0) OpenController(e);
  }
  ~Group() {
    for (const Files& files : files_)
      for (const int file : files.files) system_.Close(file);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  bool empty() const { return files_.empty(); }
  // errno of each event; 0: it is open.
  const std::vector<int>& errors() const { return errors_; }

  struct Counts {
    std::vector<double> of;  // by event, since the last Take; NaN: not known of all threads
    double counted = 1;      // least part of the time that was counted
  };
  Counts Take() {
    Counts counts;
    for (const int error : errors_) counts.of.push_back(error == 0 ? 0 : std::nan(""));
    for (Files& files : files_) TakeFrom(files, counts);
    return counts;
  }

 private:
  struct Files {
    std::vector<int> files;      // the first leads the others
    std::vector<size_t> events;  // that they count
    std::vector<uint64_t> last;  // nr, time enabled, time running, a value an event
  };

  void OpenThread(int thread) {
    Files opened;
    for (size_t e = 0; e < events_.size(); ++e) {
      if (events_[e].cpu >= 0 || errors_[e] != 0) continue;
      const int file = system_.Open(AttrOf(events_[e]), thread, /*cpu=*/-1,
                                    opened.files.empty() ? -1 : opened.files[0]);
      if (file == -ESRCH) break;  // the thread has ended
      if (file < 0) {
        errors_[e] = -file;
        continue;
      }
      opened.files.push_back(file);
      opened.events.push_back(e);
    }
    Add(std::move(opened));
  }

  void OpenController(size_t event) {
    if (errors_[event] != 0) return;
    const int file = system_.Open(AttrOf(events_[event]), /*thread=*/-1, events_[event].cpu, -1);
    if (file < 0)
      errors_[event] = -file;
    else
      Add({{file}, {event}, {}});
  }

  void Add(Files opened) {
    if (opened.files.empty()) return;
    opened.last.resize(3 + opened.events.size());
    files_.push_back(std::move(opened));
  }

  void TakeFrom(Files& files, Counts& counts) {
    std::vector<uint64_t> now(files.last.size());
    const size_t bytes = now.size() * sizeof(now[0]);
    const bool read =
        system_.Read(files.files[0], now.data(), bytes) == static_cast<int64_t>(bytes);
    const auto since = [&](size_t i) { return static_cast<double>(now[i] - files.last[i]); };
    const double enabled = since(1), running = since(2);
    double scale = enabled > 0 ? enabled / running : 0;  // 0: the thread slept
    if (!read || !std::isfinite(scale)) scale = std::nan("");
    if (scale > 0) counts.counted = std::min(counts.counted, 1 / scale);
    for (size_t i = 0; i < files.events.size(); ++i)
      counts.of[files.events[i]] += since(3 + i) * scale * events_[files.events[i]].scale;
    if (read) files.last = std::move(now);
  }

  PerfSystem& system_;
  const PerfGroup& events_;
  std::vector<Files> files_;
  std::vector<int> errors_;
};

void CallCounters::CountGroup(const PerfGroup& events, const std::vector<CountedCalls>& work,
                              std::vector<CallCounts>& counts) {
  Group group(system_, events);
  for (size_t e = 0; e < events.size(); ++e)
    if (const int error = group.errors()[e]) refused_[error].push_back(events[e].name);
  if (group.empty()) return;
  for (int round = 0; round < kRounds; ++round)
    for (size_t w = 0; w < work.size(); ++w) {
      if (work[w].before) work[w].before(round);
      group.Take();
      work[w].run(round);
      const Group::Counts taken = group.Take();
      counts[w].counted = std::min(counts[w].counted, taken.counted);
      std::map<std::string, double> sums;
      for (size_t e = 0; e < events.size(); ++e)
        sums[events[e].name] += taken.of[e] / work[w].calls;
      for (const auto& [name, sum] : sums)
        if (!std::isnan(sum)) counts[w].samples[name].push_back(sum);
    }
  for (size_t e = 0; e < events.size(); ++e)
    if (group.errors()[e] == 0 && counts[0].samples.count(events[e].name) == 0)
      refused_[EBUSY].push_back(events[e].name);
}

std::vector<CallCounts> CallCounters::Count(const std::vector<CountedCalls>& work) {
  std::vector<CallCounts> counts(work.size());
  for (const PerfGroup& group : groups_) CountGroup(group, work, counts);
  for (const CallCounts& of : counts) scaled_ = scaled_ || of.counted < 1;
  return counts;
}

std::vector<std::string> CallCounters::TakeNotes() {
  std::vector<std::string> notes;
  const auto say = [&](const std::string& note) {
    if (said_.insert(note).second) notes.push_back(note);
  };
  for (auto& [error, names] : refused_) {
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    say(Format("not counted: {}: {} ({}): {}", internal::Joined(names), strerrorname_np(error),
               std::strerror(error), WhyRefused(error, system_.Paranoid())));
  }
  if (scaled_)
    say("others used the counters, too: counts are scaled from the part of the time that the fact "
        "counted_share says");
  return notes;
}

CallCounters MachineCounters(PerfSystem& system) {
  std::vector<PerfGroup> groups = CoreGroups(ThisCpuVendor());
  if (PerfGroup dram = DramEvents(); !dram.empty()) groups.push_back(std::move(dram));
  return CallCounters(system, std::move(groups));
}

}  // namespace tessera::bench
