#ifndef TESSERA_EMBEDDING_UPDATE_SORT_OCCURRENCES_H_
#define TESSERA_EMBEDDING_UPDATE_SORT_OCCURRENCES_H_
// Brings the occurrences of a table's rows in order: a stable radix sort by row, of the bits that
// the table's size needs only.
#include <cstdint>

#include "embedding/update/row_update.h"
#include "runtime/context.h"

namespace tessera::internal {

// Sorts data[0 … n) by row, stably; `scratch` has room for n. Returns whichever of the two holds
// the result. Rows are below num_rows. Uses the context's threads for large n (the result is the
// same).
template <typename Key>
Occurrence<Key>* SortOccurrences(Context& ctx, Occurrence<Key>* data, Occurrence<Key>* scratch,
                                 int64_t n, int64_t num_rows);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_SORT_OCCURRENCES_H_
