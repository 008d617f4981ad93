#ifndef TESSERA_BENCH_HARNESS_IN_TURN_H_
#define TESSERA_BENCH_HARNESS_IN_TURN_H_
// Programs that are compared, timed in turn: a pass of each over the same cases, then the next pass
// of each, in an order that turns round from one turn to the next. What a machine does over minutes
// then meets all of them alike, and a comparison by passes (compare.h) can be trusted.
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/harness/compare.h"
#include "bench/harness/measurement.h"

namespace tessera::bench {

using CaseNames = std::set<std::string>;

// Which pass of which program, both from 0, and the cases of that program that it is to time:
// absent for all. Gives nothing once no further pass is wanted. Some cases may be refused where all
// are not: a flag that none of them reads is an error. All are timed from then on.
using PassOf = std::function<std::optional<BenchRun>(size_t side, int pass,
                                                     const std::optional<CaseNames>& cases)>;

// Goes through all cases `passes` times, and then through those whose rows want passes (WantsPass),
// in one program or another, until there are none. What was measured is in `runs`, one for each
// program and empty before, whole turns alone, also where `pass_of` gives nothing or throws. Rows
// that only one program has ask for no passes. REQUIRES: at least two runs.
void RunInTurn(int passes, double precision, const PassOf& pass_of, std::vector<BenchRun>& runs);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_IN_TURN_H_
