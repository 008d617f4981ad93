#ifndef TESSERA_BENCH_HARNESS_SWEEP_RUNNER_H_
#define TESSERA_BENCH_HARNESS_SWEEP_RUNNER_H_
// Runs points of a topic over Google Benchmark: a benchmark a point, a repetition a round. In each
// round the limit and all contenders work on the same batch, in an order that turns round from one
// round to the next, each from cold caches or, warm, as often in a row as a millisecond takes.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/facts/call_counters.h"
#include "bench/harness/measurement.h"
#include "bench/harness/topic.h"

namespace tessera::bench {

struct SweepOptions {
  int rounds = 15;
  // Times that all points are gone through, each time with new tables and its part of the rounds.
  // What others do to the machine, and where memory lies, then differs inside a run as it does from
  // one run to the next.
  int passes = 1;
  double min_seconds = 0;  // rounds go on until ours took as long, all together
  // Passes of a point go on, each with as many rounds as the ones before, while a row of it wants
  // one (WantsPass). 0: they do not.
  double precision = 0;
  CallCounters* counters = nullptr;  // rows have what these count as facts
  bool details = false;              // rows have the facts of Work::details, too
  int64_t flush_bytes = 0;           // read to flush them; 0: see CacheFlusher
  // Told what is being done, and how much of the points is over (0 to 1).
  std::function<void(const std::string& what, double fraction)> progress = nullptr;
  // True once no further round is wanted: the point at hand is left out, and all after it.
  std::function<bool()> stop = nullptr;
  // Given the point's name and a note of its work, before it is timed; or "counters" and a note of
  // theirs.
  std::function<void(const std::string& name, const std::string& note)> note = nullptr;
  // Given the rows of a point as soon as they are there, one a contender, ours first.
  std::function<void(const std::vector<Measurement>&)> rows = nullptr;
};

// Throws Error, which begins with a point's name, where it is one that the topic's check or this
// machine does not take, and for an axis that is set and that no point reads. Makes nothing.
void CheckPoints(const Topic& topic, const std::vector<Point>& points);

// REQUIRES: points of PointsOf, rounds > 0. Throws Error, naming topic and case, where a point
// cannot be made, its check fails, or a contender does. Contenders beside ours that are wrong are
// left out while another one is right; the Error then comes after the last point.
void RunPoints(const Topic& topic, const std::vector<Point>& points, const SweepOptions& options);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_SWEEP_RUNNER_H_
