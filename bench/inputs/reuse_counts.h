#ifndef TESSERA_BENCH_INPUTS_REUSE_COUNTS_H_
#define TESSERA_BENCH_INPUTS_REUSE_COUNTS_H_
// How often a batch names each of its rows: shares of rows and of ids by reuse count, in the bins
// {1}, {2}, (2, 4], (4, 8], … (16384, 32768] and above. Inside a bin ids are spread as 1 / count:
// flat over the logarithm, as the published shares are from bin to bin (the mean counts of bins
// that follow from them are met within 2 %).
#include <array>
#include <cstdint>
#include <vector>

namespace tessera::bench {

constexpr int kReuseBins = 17;  // the last, open in the source, ends at 65,536 here

// Last reuse count of a bin; that of bin 0 is 1.
constexpr int64_t ReuseBinEnd(int bin) { return int64_t{1} << bin; }
// Bin of a reuse count ≥ 1.
int ReuseBin(int64_t count);

struct ReuseCounts {
  std::array<double, kReuseBins> rows, ids;  // shares of a batch's distinct rows, and of its ids
  double ids_a_row;                          // mean
  double ids_a_bag;                          // mean over all tables and bags
};

// Meta's dlrm_datasets of 2021 (856 tables, 65,536 examples) and of 2022 (788 tables, 131,072
// examples): embedding_bag/*/locality_stats.txt, mean of the sixteen parts.
const ReuseCounts& Meta2021();
const ReuseCounts& Meta2022();

// Reuse counts, largest first, of the rows of a batch of `ids` ids. Counts that so few ids do not
// reach are cut: their share goes to rows with the largest that are reached.
std::vector<int64_t> CountsOfBatch(const ReuseCounts& reuse, int64_t ids);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_REUSE_COUNTS_H_
