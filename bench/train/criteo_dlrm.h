#ifndef TESSERA_BENCH_TRAIN_CRITEO_DLRM_H_
#define TESSERA_BENCH_TRAIN_CRITEO_DLRM_H_
// The configuration of the DLRM that the bench trains.
#include <cstdint>
#include <vector>

#include "train/config/train_config.h"

namespace tessera::bench {

// The DLRM that TorchRec's example trains on Criteo rows: 13 numbers through 512-256-dim, a table
// of as many rows as `rows` says for each categorical feature, one id a bag, 512-256-1 over the dot
// products; row-wise Adagrad on tables, Adagrad on the rest.
TrainConfig CriteoDlrm(int64_t dim, const std::vector<int64_t>& rows);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_TRAIN_CRITEO_DLRM_H_
