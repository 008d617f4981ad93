#include "sharding/itep/sharded_itep_embedding.h"

#include "runtime/base/hash.h"
#include "runtime/numbers/random.h"

namespace tessera::internal {
namespace {

// Restores ctx.random() at the end of the scope.
struct KeepRandom {
  Context& ctx;
  const Random saved = ctx.random();
  ~KeepRandom() { ctx.random() = saved; }
};

}  // namespace

Tensor GatherIds(Context& ctx, Communicator& comm, const Tensor& ids) {
  constexpr const char* kWhat = "ids that pruning counts";
  const std::vector<std::vector<int64_t>> own(static_cast<size_t>(comm.size()), {ids.numel()});
  std::vector<int64_t> counts;
  for (const std::vector<int64_t>& n : comm.ExchangeNumbersSync(own, kWhat)) counts.push_back(n[0]);
  const Tensor wide = ids.Contiguous(ctx).To(ctx, DType::kI64);
  return comm.AllGatherV(ctx, wide, counts, kWhat).Wait();
}

void ResetShardedRows(Context& ctx, ShardedTables& tables, int table, const Tensor& rows) {
  const std::string& name = tables.tables()[static_cast<size_t>(table)].name;
  const std::vector<int64_t> all = rows.ToVector<int64_t>();
  const uint64_t sequence = ctx.random().TakeSequence();
  const KeepRandom keep{ctx};
  for (const HeldShard& held : tables.shards()) {
    if (held.table != name) continue;
    const Shard& shard = held.shard;
    std::vector<int64_t> own;
    for (const int64_t row : all)
      if (shard.row_offset <= row && row < shard.row_offset + shard.rows)
        own.push_back(row - shard.row_offset);
    if (own.empty()) continue;
    ctx.random() = Random(HashOf(Format("{} {} {} {} {}", keep.saved.seed(), sequence, name,
                                        shard.row_offset, shard.column_offset)));
    held.tables->rows().Reset(ctx, held.index, Tensor::From(ctx, own),
                              TableRows::ResetTo::kInitial);
  }
}

}  // namespace tessera::internal
