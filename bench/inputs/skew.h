#ifndef TESSERA_BENCH_INPUTS_SKEW_H_
#define TESSERA_BENCH_INPUTS_SKEW_H_
// Which rows ids name: a law, or the reuse of real traffic.
#include <memory>
#include <string>

#include "bench/inputs/reuse_counts.h"
#include "bench/inputs/reuse_distances.h"
#include "bench/inputs/trace.h"

namespace tessera::bench {

struct Skew {
  enum class Kind { kUniform, kZipf, kReuseCounts, kReuseDistances, kTrace };
  Kind kind = Kind::kUniform;
  double exponent = 0;                                   // of the Zipf law
  std::shared_ptr<const ReuseCounts> counts = {};        // of kReuseCounts
  std::shared_ptr<const ReuseDistances> distances = {};  // of kReuseDistances
  std::shared_ptr<const Trace> trace = {};               // of kTrace

  // A Zipf law, or, with exponent 0, the uniform one.
  static Skew Zipf(double exponent);
};

constexpr const char* kSkewHelp =
    "uniform | zipf:S | meta2021 | meta2022 | distances[:FILE] | trace:FILE";

// Skew from text:
//   uniform              every row alike
//   zipf:1.05            P(k-th row) ∝ k^-1.05, ranks strewn over the table
//   meta2021, meta2022   rows by reuse count as in Meta's batches (reuse_counts.h)
//   distances            reuse distances of one of Meta's tables (reuse_distances.h)
//   distances:FILE       reuse distances of the trace in a file
//   trace:FILE           the ids of a file in turn, one a line
// Throws Error that names what is allowed, or the file's line that is no id.
Skew ParseSkew(const std::string& text);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_SKEW_H_
