// Loads checkpoints of any form, whose growing tables may have other parts than this trainer's.
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/tensor.h"
#include "sharding/checkpoint/state_rows.h"
#include "sharding/table_checkpoint.h"
#include "train/checkpoint/as_of_ranks.h"
#include "train/checkpoint/whole_tables.h"
#include "train/trainer.h"

namespace tessera {
namespace {

void CopyRows(Context& ctx, const NamedTensor& from, int64_t first, int64_t count, void* bytes) {
  const Tensor rows = RowsOfState(ctx, from, first, count).ToHost();
  std::memcpy(bytes, rows.raw_data(), static_cast<size_t>(rows.nbytes()));
}

}  // namespace

NewRows Trainer::RowsNow() const {
  if (ranks_) {
    const auto shards = std::make_shared<const std::vector<ShardTensors>>(
        ShardTensorsOf(model_.sharded()->tables()));
    return [this, shards](const std::string& table, int64_t first, int64_t count, void* bytes) {
      for (const ShardTensors& part : *shards) {
        const int64_t row = first - part.shard.row_offset;
        if (part.table == table && row >= 0 && row + count <= part.shard.rows)
          return CopyRows(ctx_, part.Weights(), row, count, bytes);
      }
      TESSERA_FAIL("table {}: rows {} to {} are not this rank's", table, first, first + count);
    };
  }
  const auto tensors = std::make_shared<const std::vector<NamedTensor>>(State());
  return [this, tensors](const std::string& table, int64_t first, int64_t count, void* bytes) {
    for (const NamedTensor& tensor : *tensors)
      if (tensor.name == RankingModel::TableParameterName(table))
        return CopyRows(ctx_, tensor, first, count, bytes);
    TESSERA_FAIL("table {}: this model has none of that name", table);
  };
}

Checkpoint Trainer::InTheseParts(Checkpoint checkpoint) {
  moved_ids_.clear();
  if (checkpoint.config.empty() || !PartsDiffer(checkpoint.config, config_)) return checkpoint;
  TESSERA_CHECK_EQ(progress_.step, 0,
                   "{}: raw ids go to other parts in a new training alone; steps", checkpoint.path);
  return WithParts(std::move(checkpoint), config_, RowsNow(), &moved_ids_);
}

bool Trainer::Load(const Checkpoint& checkpoint) {
  if (!ranks_) return LoadAlone(InTheseParts(checkpoint));
  const TrainConfig saved =
      checkpoint.config.empty() ? config_ : ParseTrainConfig(checkpoint.config, checkpoint.path);
  ShardedCheckpoint parts = AsOfRanks(InTheseParts(checkpoint), saved);
  return LoadParts(parts);
}

bool Trainer::Load(ShardedCheckpoint& checkpoint) {
  TESSERA_CHECK(ranks_.has_value(), "{}: it is of ranks, of which this training has none",
                checkpoint.folder());
  const auto& metadata = checkpoint.info().metadata;
  const auto config = metadata.find("config");
  moved_ids_.clear();
  if (config == metadata.end() || config->second.empty() || !PartsDiffer(config->second, config_))
    return LoadParts(checkpoint);
  return Load(WholeTables(checkpoint));
}

}  // namespace tessera
