#ifndef TESSERA_BENCH_LAB_OCCURRENCE_LISTS_H_
#define TESSERA_BENCH_LAB_OCCURRENCE_LISTS_H_
// The occurrences of rows that groupings are checked and timed on, and what a grouping leaves of
// them, on CPUs and GPUs alike.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/embedding/workload.h"
#include "bench/harness/topic.h"
#include "bench/lab/grouping_kernel.h"

namespace tessera::bench {

// One table's occurrences, in the order of the batch.
struct OccurrenceList {
  std::vector<RowOccurrence> occurrences;
  int64_t num_rows;  // rows are below it
};

// No, one and many occurrences; one row alone, and rows at both ends of large tables.
std::vector<OccurrenceList> HardOccurrences();
// A list a table; each id's bag is its payload.
std::vector<OccurrenceList> OccurrencesOf(const Shape& shape, const IdBatch& drawn);
// files: whether ids and tables may be a user's.
std::vector<Axis> GroupingAxes(bool files);

// Each row's run, as a stable sort leaves it.
class ExpectedRuns {
 public:
  explicit ExpectedRuns(std::vector<RowOccurrence> given);

  // Throws Error, beginning with `what`, unless `grouped` has these runs, in any order.
  void Check(std::span<const RowOccurrence> grouped, const std::string& what) const;

 private:
  std::vector<RowOccurrence> sorted_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_OCCURRENCE_LISTS_H_
