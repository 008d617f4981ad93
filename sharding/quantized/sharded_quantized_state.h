#ifndef TESSERA_SHARDING_QUANTIZED_SHARDED_QUANTIZED_STATE_H_
#define TESSERA_SHARDING_QUANTIZED_SHARDED_QUANTIZED_STATE_H_
// The state that ShardedQuantizedTables keeps between calls.
#include <vector>

#include "embedding/quantized/quantized_state.h"
#include "runtime/context.h"
#include "sharding/quantized/quantized_shards.h"
#include "sharding/quantized/shard_workers.h"

namespace tessera::internal {

// How a table's rows get to their outputs.
enum class AnswerPath {
  kDirect,   // ranks write them there
  kMoved,    // a sequence that a rank makes whole, and that moves as it is
  kAnswers,  // f32 of ranks, merged at home
};

struct ShardedQuantizedState {
  ShardedQuantizedState(Context& ctx, std::vector<QuantizedTable> tables,
                        std::vector<EmbeddingFeature> features, QuantizedOptions options,
                        std::vector<Device> the_devices, int threads);
  // Once. Throws Error for u8 outputs of a table in parts.
  void SetShards(std::vector<QuantizedTableShards> the_shards);

  AnswerPath path_of(size_t feature) const { return paths[home.index_of(feature)]; }
  const QuantizedTableShards& shards_of(size_t feature) const {
    return shards[home.index_of(feature)];
  }

  QuantizedState home;
  Device home_device;
  std::vector<Device> devices;               // of the ranks
  std::vector<QuantizedTableShards> shards;  // of the tables
  std::vector<AnswerPath> paths;             // of the tables
  DType pooled_type = DType::kF32;           // in which pooled rows are merged
  ShardWorkers workers;                      // the first to go
};

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_QUANTIZED_SHARDED_QUANTIZED_STATE_H_
