#ifndef TESSERA_SHARDING_QUANTIZED_SHARDED_QUANTIZED_TABLES_H_
#define TESSERA_SHARDING_QUANTIZED_SHARDED_QUANTIZED_TABLES_H_
// Quantized tables over the devices, or threads, of one process, by a plan of any sharding type but
// data_parallel; a plan may have ranks on the host beside ranks on GPUs.
//
//   home    ids -> rows of the tables (bounds check, remap, default row)
//   ranks   lookups of their shards, each rank on a thread and a context of its own
//   home    what ranks answer, merged where the batch came from
//
// A rank on home's device reads ids and writes pooled columns where they lie; others get a message
// and send an answer, as do ranks of tables whose rows are split (one_to_all_rows.h).
//
// The bits are those of the tables in one piece, but for pooled tables whose rows are split: there
// each shard's sum is rounded, the sums are added in the order of the rows, and a MEAN is the sum
// times 1/L: a bag of L rows differs by at most L + 1 roundings of the sum of the rows' magnitudes.
#include <memory>
#include <vector>

#include "embedding/quantized/quantized_table_batched_embedding.h"
#include "runtime/context.h"
#include "sharding/plan/plan.h"

namespace tessera {

struct ShardedQuantOptions {
  // One a rank of the plan; a device may come again. Empty: all ranks are on ctx's device.
  std::vector<Device> devices = {};
  int threads = 1;  // of each rank on the host, its own thread included
};

// Several threads may call Forward at a time, each with a context of its own.
class ShardedQuantizedTables {
 public:
  // Shards tables that may lie on other devices than ctx's, where batches come from: a rank on the
  // host reads the rows of tables there where they lie, other rows are copied. Throws Error as
  // ShardQuantizedTables does, and for u8 outputs of tables that lie in parts.
  ShardedQuantizedTables(Context& ctx, const QuantizedTableBatchedEmbedding& tables,
                         const ShardingPlan& plan, ShardedQuantOptions options = {});
  ~ShardedQuantizedTables();
  ShardedQuantizedTables(ShardedQuantizedTables&&) noexcept;
  ShardedQuantizedTables& operator=(ShardedQuantizedTables&&) noexcept;

  // Like QuantizedTableBatchedEmbedding::Forward.
  QuantizedOutputs Forward(Context& ctx, const KeyedJaggedTensor& kjt) const;

  // Features in the order of the outputs.
  const std::vector<EmbeddingFeature>& features() const;
  // Descriptions of the tables, without their rows.
  const std::vector<QuantizedTable>& tables() const;
  // Bytes of a rank's stored rows.
  int64_t nbytes(int rank) const;
  BoundsCheckReport bounds_check_report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_QUANTIZED_SHARDED_QUANTIZED_TABLES_H_
