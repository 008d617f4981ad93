// Numbers of sharded tables that every rank keeps alike: steps, max_counter and learning rates.
#include <algorithm>

#include "embedding/table/fused_states.h"
#include "embedding/table/rule_sweeps.h"
#include "runtime/tensor.h"
#include "sharding/sharded_tables.h"

namespace tessera {

// The parts count the step when they look rows up.
void ShardedTables::BeginStep(Context& ctx) {
  ++iter_;
  const auto renews = [&](const BaseEmbeddingConfig& table) {
    return internal::RenewsMaxCounter(table.optimizer, iter_);
  };
  if (std::ranges::none_of(tables_, renews)) return;
  const float largest = LargestCounterSync(ctx);
  for (int t = 0; t < std::ssize(tables_); ++t)
    if (renews(tables_[static_cast<size_t>(t)])) set_max_counter(t, largest);
}

float ShardedTables::LargestCounterSync(Context& ctx) const {
  float largest = 1;
  for (const TableBatchedEmbedding* part : parts())
    largest = std::max(largest, part->LargestCounterSync(ctx));
  const Tensor mine = Tensor::Full(ctx, {1}, largest);
  return comm_.AllReduce(ctx, mine, ReduceOp::kMax, "counters").Wait().ToVector<float>()[0];
}

void ShardedTables::SetLearningRate(float lr) {
  for (size_t t = 0; t < tables_.size(); ++t)
    SetLearningRate(static_cast<int>(t), lr * tables_[t].lr_scale);
}

void ShardedTables::SetLearningRate(int table, float lr) {
  TESSERA_CHECK(table >= 0 && table < std::ssize(tables_), "table {}: there are {}", table,
                tables_.size());
  BaseEmbeddingConfig& config = tables_[static_cast<size_t>(table)];
  tessera::SetLearningRate(config.optimizer, lr);  // of a rank that holds no part of it, too
  for (const HeldShard& held : shards())
    if (held.table == config.name) held.tables->SetLearningRate(held.index, lr);
}

int64_t ShardedTables::iter() const { return iter_; }
void ShardedTables::set_iter(int64_t iter) {
  iter_ = iter;
  for (TableBatchedEmbedding* part : parts()) part->set_iter(iter);
}

float ShardedTables::max_counter(int table) const {
  return internal::MaxCounterOf(tables_.at(static_cast<size_t>(table)).optimizer);
}
float ShardedTables::max_counter() const {
  float largest = 1;
  for (int t = 0; t < std::ssize(tables_); ++t) largest = std::max(largest, max_counter(t));
  return largest;
}
void ShardedTables::set_max_counter(int table, float max_counter) {
  BaseEmbeddingConfig& config = tables_.at(static_cast<size_t>(table));
  internal::SetMaxCounter(config.optimizer,
                          max_counter);  // of a rank that holds no part of it, too
  for (const HeldShard& held : shards())
    if (held.table == config.name) held.tables->set_max_counter(held.index, max_counter);
}

}  // namespace tessera
