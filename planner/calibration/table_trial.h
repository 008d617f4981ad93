#ifndef TESSERA_PLANNER_CALIBRATION_TABLE_TRIAL_H_
#define TESSERA_PLANNER_CALIBRATION_TABLE_TRIAL_H_
// One measurement of a TableBatchedEmbedding's forward and backward.
#include "embedding/config/embedding_configs.h"
#include "planner/calibration/rounds.h"

namespace tessera {
namespace internal {

inline constexpr int64_t kFloat = 4;   // bytes
inline constexpr int64_t kBagIds = 8;  // ids in a bag

}  // namespace internal

struct TableTrial {
  int64_t tables = 1, rows = 1024, dim = 16;
  int64_t bags = 64, ids = internal::kBagIds;  // of each table; in each bag
  // Ids are evenly drawn from so many rows, spread over the table; 0: from all.
  int64_t named_rows = 0;
  DType row_type = DType::kF32;
  AnyRule rule = RowwiseAdagrad{};
  EmbeddingLocation location = EmbeddingLocation::kDevice;
};

struct TableTimes {
  double forward = 0, backward = 0;
  double misses = 0;  // rows of a call that the tables' caches, once full, lacked
};

// Every rank calls; each has tables and batches of its own.
TableTimes TimeTables(Rounds& rounds, const TableTrial& trial);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_TABLE_TRIAL_H_
