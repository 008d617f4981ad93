// Saves the rows that have changed, for a trainer alone or as one of several ranks.
#include <map>
#include <utility>

#include "runtime/tensor.h"
#include "sharding/checkpoint/checkpoint_writer.h"
#include "sharding/table_checkpoint.h"
#include "train/trainer.h"

namespace tessera {
namespace {

// The name under which the tracker lists changed rows to saves.
constexpr char kSaved[] = "default";

// Whether all rows of the table change in each step, and its states come with the first one: such a
// table is saved whole.
bool IsDense(const TableBatchedEmbedding& tables, int t) {
  return std::holds_alternative<Dense>(tables.rule(t));
}

}  // namespace

void Trainer::TrackChanges() {
  TESSERA_CHECK(num_groups() == 1,
                "incremental checkpoints of ranks in sharding groups: a group knows the rows that "
                "its own ranks have changed, but means change those of all groups");
  changes_.clear();
  was_tracking_ = true;
  if (!ranks_) {
    changes_.emplace_back(ctx_, model_.embedding_bag_collection().tables());
    return;
  }
  for (const TableBatchedEmbedding* part : model_.sharded()->tables().parts())
    changes_.emplace_back(ctx_, *part);
}

// Begins tracking changes; if they were not tracked before, all rows count as changed.
void Trainer::BeginChanges() {
  if (!changes_.empty()) return;
  TrackChanges();
  for (ModelDeltaTracker& tracker : changes_) tracker.TouchAll();
}

std::vector<ChangedRows> Trainer::ChangesSync() const {
  const TableBatchedEmbedding& tables = model_.embedding_bag_collection().tables();
  const std::vector<UniqueRows> unique = changes_[0].GetUniqueIds(ctx_, kSaved);
  std::vector<ChangedRows> changed;
  for (int t = 0; t < tables.num_tables(); ++t)
    if (!IsDense(tables, t))
      changed.push_back({RankingModel::TableParameterName(tables.table_name(t)),
                         unique[static_cast<size_t>(t)].ids});
  return changed;
}

void Trainer::ClearChanges() {
  for (ModelDeltaTracker& tracker : changes_) tracker.Clear(kSaved);
}

void Trainer::Save(IncrementalCheckpoints& to, const std::vector<NamedTensor>& metrics) {
  CheckConverges();
  std::vector<NamedTensor> state = SavedState(metrics);
  BeginChanges();
  to.Write(ctx_, {std::move(state), ChangesSync(), progress(), ToJson(config_)});
  ClearChanges();
}

// `whole`: the first save of a chain asks for no changed rows.
RankState Trainer::RankStateSync(const std::vector<NamedTensor>& metrics, bool whole) {
  const ShardedTables& tables = model_.sharded()->tables();
  const std::vector<TableBatchedEmbedding*> parts = tables.parts();
  std::map<const TableBatchedEmbedding*, std::vector<UniqueRows>> unique;
  for (size_t p = 0; p < parts.size() && !whole; ++p)
    unique[parts[p]] = changes_[p].GetUniqueIds(ctx_, kSaved);
  RankState state;
  const std::vector<HeldShard> held = tables.shards();
  std::vector<ShardTensors> shards = MyShards(state.whole);
  for (size_t s = 0; s < held.size(); ++s) {
    if (!IsWritten(tables.plan(), held[s].table, held[s].shard, comm()->rank())) continue;
    state.shards.push_back(std::move(shards[s]));
    const auto index = static_cast<size_t>(held[s].index);
    state.changed.push_back(whole || IsDense(*held[s].tables, held[s].index)
                                ? Tensor()
                                : unique.at(held[s].tables)[index].ids);
  }
  if (comm()->rank() != 0) return state;
  for (NamedTensor& named : SavedState(metrics)) state.whole.push_back(std::move(named));
  return state;
}

void Trainer::Save(RankCheckpoints& to, const std::vector<NamedTensor>& metrics) {
  CheckConverges();
  ShardedTables& tables = model_.sharded()->tables();
  tables.Flush(ctx_);
  BeginChanges();
  const TrainingProgress saved = progress();
  const std::string config = ToJson(config_);
  to.Write(ctx_,
           CheckpointInfoOf(tables, RankingModel::kTablePrefix, CheckpointMetadata(saved, config)),
           RankStateSync(metrics, !to.position()), saved, config);
  ClearChanges();
}

}  // namespace tessera
