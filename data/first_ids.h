#ifndef TESSERA_DATA_FIRST_IDS_H_
#define TESSERA_DATA_FIRST_IDS_H_
// Finds the first id that each row has of a feature, as the model reads it, to group rows by.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "data/data_source.h"
#include "runtime/context.h"

namespace tessera {

// Stands for rows without an id, which no id is.
inline constexpr int64_t kNoId = std::numeric_limits<int64_t>::min();

// An id, or kNoId, for each row of the batch. Waits for a device. REQUIRES: the batch lies where
// ctx works and has the feature.
std::vector<int64_t> FirstIds(Context& ctx, const Batch& batch, const std::string& feature);

}  // namespace tessera
#endif  // TESSERA_DATA_FIRST_IDS_H_
