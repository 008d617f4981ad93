#ifndef TESSERA_BENCH_HARNESS_PASSES_H_
#define TESSERA_BENCH_HARNESS_PASSES_H_
// Passes of a run: all cases are gone through several times, each time with tables of their own and
// a part of the rounds. What others do to the machine, and where memory lies, then differs inside a
// run as it does from one run to the next.
#include <cstddef>
#include <string>

#include "bench/harness/measurement.h"

namespace tessera::bench {

inline constexpr size_t kMaxPasses = 100;  // of a case, with a precision

// How many of a run's rounds a pass has, from 0 on; passes that are added later have as many as
// others. REQUIRES: passes <= rounds.
int RoundsOfPass(int rounds, int passes, int pass);

// Whether a case with this row goes on with a further pass: until it has kLeastPasses and
// LeastFoundChange is at most `precision`, or it has kMaxPasses. Only its spread decides, never a
// difference, so that stopping favours no verdict. A precision of 0 asks for no passes.
bool WantsPass(const Measurement& row, double precision);
// From where on changes are found in a row that has kMaxPasses and is less precise; "" for others.
std::string ImpreciseText(const Measurement& row, double precision);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_PASSES_H_
