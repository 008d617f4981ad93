#ifndef TESSERA_DATA_RANK_ROWS_H_
#define TESSERA_DATA_RANK_ROWS_H_
// Which rows of a batch of all ranks are one rank's.
#include <cstdint>

namespace tessera {

// Rows [begin, end) of a batch, maybe none.
struct RankRows {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
};

// Rank r of R has rows [n·r/R, n·(r+1)/R) of n.
inline RankRows RowsOfRank(int64_t rows, int rank, int ranks) {
  return {rows * rank / ranks, rows * (rank + 1) / ranks};
}

}  // namespace tessera
#endif  // TESSERA_DATA_RANK_ROWS_H_
