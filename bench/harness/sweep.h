#ifndef TESSERA_BENCH_HARNESS_SWEEP_H_
#define TESSERA_BENCH_HARNESS_SWEEP_H_
// Turns flags into points: the product of the axes' values, or a suite's points with their open
// axes filled in; each once for every number of threads and every state of the caches. A point's
// label is its case's name: "dim=64,skew=zipf:1.05", the axes that take several values or another
// than the first one; a suite's points have names of their own. The label names the caches only
// where a run has both states of them: "dim=64,caches=warm".
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/harness/topic.h"

namespace tessera::bench {

// Values that flags give, by axis; axes without an entry take the topic's values.
using AxisValues = std::map<std::string, std::vector<std::string>>;

// The topic's axes, and those that every topic has: last but one the caches, last "threads".
std::vector<Axis> AxesOf(const Topic& topic);

// Whether caches are flushed before the point's calls. With "auto", a work that is to be warm
// (Work::warm) is timed warm all the same.
bool StartsCold(const Topic& topic, const Point& point);
// The caches that the points' calls will find: "cold and warm caches", or "cold caches, warm for
// <Topic::small_calls>" where that is known only once points are made.
std::string CachesOf(const Topic& topic, const std::vector<Point>& points);

// suite: "" for the sweep. Throws Error for a suite that the topic has not, a value that its axis
// refuses or that is given twice, and a flag for an axis that the suite's points set themselves.
std::vector<Point> PointsOf(const Topic& topic, const std::string& suite, const AxisValues& flags);

// A point's name: "<topic>/<label>/<threads>t".
std::string NameOf(const Topic& topic, const Point& point);

// The points whose name or label the regular expression (POSIX extended, found anywhere) matches;
// "": all. Throws Error where it is none or matches nothing.
std::vector<Point> OnlyMatching(const Topic& topic, const std::vector<Point>& points,
                                const std::string& regex);

// A regular expression for OnlyMatching that matches these labels alone. REQUIRES: one at least.
std::string OnlyThese(const std::set<std::string>& labels);

// "peers, growth or zipf".
std::string ListOfNames(const std::vector<std::string>& names);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_SWEEP_H_
