#ifndef TESSERA_BENCH_HARNESS_TOPIC_H_
#define TESSERA_BENCH_HARNESS_TOPIC_H_
// A topic of `tessera bench` is one kind of work over axes that flags set. A sweep is the product
// of the axes' values; a suite is a named list of points, such as the shapes of a peer's benchmark.
// Of each point the runner makes a Work, checks its result once, and times its contenders in
// alternation.
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/cold_rounds.h"
#include "bench/harness/point.h"
#include "runtime/context.h"

namespace tessera::bench {

struct Axis {
  std::string name;                 // the flag without its dashes: "dim"
  std::vector<std::string> values;  // where the flag is not given; a suite's points take the first
  std::string help;
  // Throws Error where a value is none that `make` takes: all are asked before anything is timed.
  // See point.h for ready ones.
  std::function<void(const std::string& value)> check = nullptr;
};

// A point made ready: its tables and batches live as long as the closures.
struct Work {
  // Throws Error where a result is wrong, which ends the run; called once, untimed.
  std::function<void()> check;
  std::vector<Contender> contenders;  // ours first, named "tessera"; then variants beside it
  Contender limit = {};               // what the machine allows; without a run: none is known
  double bytes = 0;          // moved by one call, counted as the topic says; 0: not counted
  int64_t items = 0;         // ids, examples or requests of one call
  std::string item = "ids";  // what items counts
  std::vector<std::pair<std::string, double>> facts = {};  // more of the point, for the data file
  // Facts of ours that are known once the contenders have run, such as bytes sent.
  std::function<std::vector<std::pair<std::string, double>>()> facts_after = nullptr;
  // More of the point that takes time to find out, where --details asks for it. cold: whether calls
  // find cold caches.
  std::function<std::vector<std::pair<std::string, double>>(bool cold)> details = nullptr;
  // Small calls, whose overhead is meant: no caches are flushed unless --caches cold says so, and
  // so many calls are timed together that the clock does not show. Topic::small_calls says which.
  bool warm = false;
  std::vector<std::string> notes = {};  // for people, such as what was left out
};

// Points need to name only the axes that differ from their first values. One that names "threads"
// runs with these alone.
struct Suite {
  std::string name, help;
  std::vector<Point> points;
};

struct Topic {
  std::string name;   // "lookup"
  std::string help;   // one sentence
  std::string limit;  // what the limit is: "bare gather of the same rows"; "": there is none
  // The help of --details, where it prints other facts than those of lookups and updates.
  std::string details = "";
  // "caches" and "threads" (all cores) are every topic's; one that lists threads itself has other
  // values or words for them.
  std::vector<Axis> axes;
  std::vector<Suite> suites;
  // On the CPU, with the point's threads. Axes of machine_axes.h are the runner's.
  std::function<Work(Context&, const Point&)> make;
  // Reads the axes that `make` reads, and throws Error for a point whose values it does not take
  // together: all are asked before anything is timed. Null: it reads all, and takes all that the
  // axes take.
  std::function<void(const Point&)> check = nullptr;
  // Bytes of memory that `make` takes for a point, about; null: little.
  std::function<double(const Point&)> memory = nullptr;
  bool cold = true;  // what --caches auto is
  // Calls that --caches auto times warm although others are cold (Work::warm), for --help; and
  // whether a point, which has drawn no ids yet, may be one of them.
  std::string small_calls = "";
  std::function<bool(const Point&)> may_be_small = nullptr;
  bool ranked = false;   // tables list a point's contenders by time, the fastest first
  bool plugins = false;  // it takes rules of shared objects, too (embedding/plugin_rules.h)
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_TOPIC_H_
