#ifndef TESSERA_EMBEDDING_LOOKUP_ROW_ACCESS_H_
#define TESSERA_EMBEDDING_LOOKUP_ROW_ACCESS_H_
// Reads and writes single rows of a table's weight or optimizer states by their ids. Tables are [E,
// D] or [E] of f32, f16 or bf16 (TableBatchedEmbedding::weight, ::optimizer_states), rows f32. ids
// [n] are i32 or i64. An id that names no row is an error, so these wait for a device.
#include <string>

#include "runtime/tensor.h"

namespace tessera {

// Row ids[j] of `table` as row j: [n, D] or [n], f32.
Tensor ReadRows(Context& ctx, const Tensor& table, const Tensor& ids);

// Row j of `rows` ([n, D] or [n], f32), rounded to nearest, becomes row ids[j] of `table`. Of an id
// that comes again, the last row counts.
void WriteRows(Context& ctx, const Tensor& table, const Tensor& ids, const Tensor& rows);

// Writes rows of a table of any type and rank, bit for bit: rows have its type, and its shape but
// for their number. (TakeRows of sparse/ops/row_runs.h reads such rows.)
void PutRows(Context& ctx, const Tensor& table, const Tensor& ids, const Tensor& rows);

// All elements of the rows become `value`.
void FillRows(Context& ctx, const Tensor& table, const Tensor& ids, float value);

// Throws Error, naming `what`, for ids other than [n] of i32 or i64 and, with the first of them,
// for ids outside [0, rows). Waits for the device.
void CheckRowIdsSync(Context& ctx, const std::string& what, const Tensor& ids, int64_t rows);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_LOOKUP_ROW_ACCESS_H_
