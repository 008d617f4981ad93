#ifndef TESSERA_EMBEDDING_TABLE_NEW_ROW_INIT_H_
#define TESSERA_EMBEDDING_TABLE_NEW_ROW_INIT_H_
// The values that single rows start with, in a growing table and wherever rows are reset, as a
// function of a seed, the row's and the column's number in the whole table, and the step in which
// it starts:
//
//   element (r, c)   low + (high − low)·u
//   u                from word c mod 4 of Philox(seed, r, step·2^32 + ⌊c / 4⌋)
//
// So a resumed run, or one whose table is split over ranks, has the same bits. Under an init_fn row
// r is what it makes of [1, D], with the random numbers of a Random of its own (seed, step, r).
#include <cstdint>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/table/rows_to_start.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Rows of a table: those that `ids` ([n], i32 or i64) names, or, without ids, [begin, end).
struct RowSelection {
  Tensor ids;
  int64_t begin = 0, end = 0;
  int64_t size() const { return ids ? ids.numel() : end - begin; }
};

// Writes these rows of `weight`, all of the table's. REQUIRES: the rows are there.
void InitNewRows(Context& ctx, const BaseEmbeddingConfig& config, const Tensor& weight,
                 const RowSelection& rows, uint64_t seed, int64_t step);

// Writes the listed rows of `parts`, a table's weight and states on a GPU: weights as InitNewRows
// does, states 0. Nothing waits. REQUIRES: config has no init_fn.
void StartCountedRows(Context& ctx, const BaseEmbeddingConfig& config,
                      const std::vector<Tensor>& parts, const RowsToStart& rows, uint64_t seed,
                      int64_t step);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_TABLE_NEW_ROW_INIT_H_
