#ifndef TESSERA_BENCH_INPUTS_ID_STREAM_H_
#define TESSERA_BENCH_INPUTS_ID_STREAM_H_
// The ids that batch after batch asks of one table, as a skew says. The same skew, rows, seed and
// sequence give the same ids.
//
// A skew by reuse counts makes each call's ids one batch: as many rows of each count as the law
// says, in random order. Rows used more than 16 times are the same in every batch; the others go
// round the table. Where the table has fewer rows than the batch should name, counts of several add
// up on one.
//
// A skew by reuse distances goes on from call to call, and begins with no row seen: a distance that
// reaches beyond the rows seen makes a new row, and once all of the table's have been seen, the one
// that was not used for longest.
//
// A trace is read in turn, from its beginning in sequence 0 and from elsewhere in others, and
// begins anew at its end.
#include <cstdint>
#include <span>

#include "bench/inputs/draws.h"
#include "bench/inputs/lru_stack.h"
#include "bench/inputs/skew.h"

namespace tessera::bench {

// Row number of a uniform u in [0, 1): uniform, or by a Zipf law whose ranks are strewn over the
// table (the continuous law x^-s on [1, rows], whose distribution has an inverse).
int64_t DrawRow(double u, int64_t rows, double zipf);

class IdStream {
 public:
  // REQUIRES: rows > 0. Throws Error for a trace with an id that is no row.
  IdStream(Skew skew, int64_t rows, uint64_t seed, uint64_t sequence);

  // The next ids, each in [0, rows).
  void Draw(std::span<int64_t> ids);

 private:
  int64_t Strewn(int64_t rank) const;
  void DrawTrace(std::span<int64_t> ids);
  void DrawCounts(std::span<int64_t> ids);
  int64_t DrawByDistance();

  Skew skew_;
  int64_t rows_, step_ = 1;
  Draws draws_;
  LruStack stack_;         // of ranks, by reuse distances
  int64_t cold_rank_ = 0;  // next of the rows used seldom, by reuse counts
  size_t trace_at_ = 0;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_ID_STREAM_H_
