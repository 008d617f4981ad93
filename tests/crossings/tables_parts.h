#ifndef TESSERA_TESTS_CROSSINGS_TABLES_PARTS_H_
#define TESSERA_TESTS_CROSSINGS_TABLES_PARTS_H_
// The part that RunPlainly and RunPoint share: seeds, and how results are put together.
#include <map>
#include <string>

#include "embedding/table_batched_embedding.h"
#include "tests/crossings/tables_case.h"

namespace tessera::testing {

inline constexpr uint64_t kSeed = 7, kRoundingSeed = 5;
inline constexpr char kFrozenTable[] = "t1";

DType OutputTypeOf(const TablesCase& c);

// A rectangle of a table, and where it lies in the whole of it.
struct PartPlace {
  std::string table;
  Shard shard;
};
// Adds rows and states of table `index`, which is `place`, its counter, and that of its rule. Parts
// of one block of columns are put together. What two ranks hold alike has to be equal.
void PutPart(Context& ctx, TableBatchedEmbedding& tables, int index, const PartPlace& place,
             std::map<std::string, Tensor>& to);

// Adds "quantized output i" of int8 rows of in-memory tables, looked up for `rows`.
void PutQuantized(Context& ctx, const TablesCase& c, const TableBatchedEmbedding& tables,
                  const KeyedJaggedTensor& rows, std::map<std::string, Tensor>& to);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_TABLES_PARTS_H_
