#ifndef TESSERA_BENCH_FACTS_CALL_COUNTERS_H_
#define TESSERA_BENCH_FACTS_CALL_COUNTERS_H_
// Hardware counters of calls, by perf_event_open(2), over all threads of this process.
//
// Threads of a pool live before a call and after it, and a group of counters cannot be inherited:
// each thread that there is when a call's counters are opened has a group of its own. What a call's
// thread starts for itself is not counted. Only user code is: a process may count its own
// (kernel.perf_event_paranoid up to 2).
//
// One group at a time is open, and calls are made for it alone, beside those that are timed: a
// group that fits the hardware is never multiplexed by us. Where something else takes counters, and
// the kernel counts a part of the time, counts are scaled to all of it.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/facts/perf_events.h"
#include "bench/facts/perf_system.h"

namespace tessera::bench {

struct CountedCalls {
  std::function<void(int round)> before;  // not counted
  std::function<void(int round)> run;
  int calls = 1;  // of one run
};

struct CallCounts {
  std::map<std::string, std::vector<double>> samples;  // of one call, by name
  double counted = 1;  // the least part of the time that was counted; below it, counts are scaled
};

class CallCounters {
 public:
  static constexpr int kRounds = 5;

  CallCounters(PerfSystem& system, std::vector<PerfGroup> groups)
      : system_(system), groups_(std::move(groups)) {}

  // For each of `work` kRounds samples of what can be counted. Where nothing can, nothing runs.
  std::vector<CallCounts> Count(const std::vector<CountedCalls>& work);

  // Returns sentences on events that were not counted, with the error and what may be changed, and
  // on counts that are scaled. Each is returned once.
  std::vector<std::string> TakeNotes();

 private:
  class Group;
  void CountGroup(const PerfGroup& events, const std::vector<CountedCalls>& work,
                  std::vector<CallCounts>& counts);

  PerfSystem& system_;
  std::vector<PerfGroup> groups_;
  std::map<int, std::vector<std::string>> refused_;  // names of events, by errno
  std::set<std::string> said_;                       // notes
  bool scaled_ = false;
};

// Counters of this machine's core and of its memory.
CallCounters MachineCounters(PerfSystem& system = KernelPerfSystem());

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_FACTS_CALL_COUNTERS_H_
