#ifndef TESSERA_BENCH_HARNESS_SWEEP_H_
#define TESSERA_BENCH_HARNESS_SWEEP_H_
// Turns flags into points: the product of the axes' values, or a suite's points with their open
// axes filled in; each once for every number of threads. A point's label is its case's name:
// "dim=64,skew=zipf:1.05", the axes that take several values or another than the first one; a
// suite's points have names of their own.
#include <map>
#include <string>
#include <vector>

#include "bench/harness/topic.h"

namespace tessera::bench {

// Values that flags give, by axis; axes without an entry take the topic's values.
using AxisValues = std::map<std::string, std::vector<std::string>>;

// The topic's axes, "threads" among them.
std::vector<Axis> AxesOf(const Topic& topic);

// suite: "" for the sweep. Throws Error for a suite that the topic has not, a value that its axis
// refuses, and a flag for an axis that the suite's points set themselves.
std::vector<Point> PointsOf(const Topic& topic, const std::string& suite, const AxisValues& flags);

// The points whose label the regular expression (POSIX extended, found anywhere) matches; "": all.
// Throws Error where it is none or matches nothing.
std::vector<Point> OnlyMatching(const std::vector<Point>& points, const std::string& regex);

// "peers, growth or zipf".
std::string ListOfNames(const std::vector<std::string>& names);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_SWEEP_H_
