#include "train/checkpoint/as_of_ranks.h"

#include <map>
#include <memory>
#include <utility>

#include "models/ranking_model.h"
#include "sharding/plan/plan_makers.h"

namespace tessera {
namespace {

class OneRank {
 public:
  explicit OneRank(Checkpoint checkpoint)
      : from_(std::make_shared<const Checkpoint>(std::move(checkpoint))) {
    for (const CheckpointEntry& entry : from_->tensors) left_.emplace(entry.name, entry);
    index_.info.metadata = from_->metadata;
  }

  void AddTable(const EmbeddingBagConfig& config) {
    const std::string parameter = RankingModel::TableParameterName(config.name);
    const auto weights = left_.extract(parameter);
    if (weights.empty() || weights.mapped().tensor.shape.rank() != 2)
      throw Error(
          Format("{}: it lacks the rows of table {}, '{}'", from_->path, config.name, parameter));
    const SafetensorsEntry& tensor = weights.mapped().tensor;
    const TableShape shape{config.name, tensor.shape[0], tensor.shape[1]};
    const TrainingProgress at = from_->progress.value_or(TrainingProgress{});
    index_.info.tables.push_back({.shape = shape,
                                  .parameter = parameter,
                                  .rule = RuleName(config.optimizer),
                                  .iter = at.iter,
                                  .max_counter = at.max_counter_of(config.name)});
    const Shard all{0, 0, 0, shape.rows, shape.dim};
    StoredTable& stored = index_.tables[config.name];
    stored.dtype = tensor.dtype;
    if (shape.rows > 0) stored.shards.push_back({0, all, {}});
    Add(StoredName(config.name, all, kWeightName), weights.mapped());
    AddStates(shape, OptimizerStateName(parameter, ""), all, stored);
  }

  ShardedCheckpoint Finish() {
    for (const auto& [name, entry] : left_) {
      index_.whole[name] = {};
      Add(name, entry);
    }
    index_.info.plan = MakeShardingPlan({}, ShapesOf(index_.info), TableWise(0));
    return {from_->path, std::move(index_), std::move(tensors_)};
  }

 private:
  // Adds the states that have rows; a number of a whole table stays with the tensors that no plan
  // cuts.
  void AddStates(const TableShape& table, const std::string& prefix, const Shard& all,
                 StoredTable& stored) {
    for (auto at = left_.lower_bound(prefix); at != left_.end() && at->first.starts_with(prefix);) {
      const auto& [dtype, shape, begin] = at->second.tensor;
      const bool per_row = shape == Shape{table.rows};
      if (!per_row && shape != Shape{table.rows, table.dim}) {
        ++at;
        continue;
      }
      stored.states.push_back({at->first.substr(prefix.size()), dtype, per_row});
      Add(StoredName(table.name, all, stored.states.back().name), at->second);
      at = left_.erase(at);
    }
  }

  void Add(const std::string& name, const CheckpointEntry& entry) {
    tensors_[name] = {entry.tensor.dtype, entry.tensor.shape,
                      [from = from_, entry](int64_t begin, int64_t count, void* out) {
                        from->read_bytes(entry, begin, count, out);
                      }};
  }

  std::shared_ptr<const Checkpoint> from_;
  std::map<std::string, CheckpointEntry> left_;  // tensors that belong to no table so far
  CheckpointIndex index_;
  std::map<std::string, StoredTensor> tensors_;
};

}  // namespace

ShardedCheckpoint AsOfRanks(Checkpoint checkpoint, const TrainConfig& config) {
  OneRank ranks(std::move(checkpoint));
  for (const EmbeddingBagConfig& table : config.tables) ranks.AddTable(table);
  return ranks.Finish();
}

}  // namespace tessera
