#ifndef TESSERA_BENCH_HARNESS_ROW_DETAILS_H_
#define TESSERA_BENCH_HARNESS_ROW_DETAILS_H_
// The facts of a row as lines for people, at most 100 columns wide, each after four spaces:
//
//     distinct rows 43,210; working set 21.1 MiB; mean reuse 3.42; l1 hit 12.5 %
//
// A fact's name says its unit: "…_bytes" and "…_share" are shown as such, without that word.
#include <string>

#include "bench/harness/measurement.h"

namespace tessera::bench {

inline constexpr size_t kLineWidth = 100;  // of what people read

// "" for a row without facts.
std::string DetailsText(const Measurement& row);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_ROW_DETAILS_H_
