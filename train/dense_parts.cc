#include "train/dense_parts.h"

#include <cmath>
#include <utility>

#include "runtime/tensor.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera {
namespace {

bool IsDense(const BaseEmbeddingConfig& table) {
  return std::holds_alternative<Dense>(table.optimizer);
}

std::string ParameterOf(const EmbeddingModel& model, const std::string& table) {
  return model.table_prefix() + table + ".weight";
}

ShardTensors& ShardOf(std::vector<ShardTensors>& shards, const HeldShard& held) {
  for (ShardTensors& shard : shards)
    if (shard.table == held.table && shard.shard == held.shard) return shard;
  throw Error(Format("table {}: no shard {}", held.table, held.shard));
}

// Whether this rank speaks for a table: it has the first shard with rows, or the first of copies.
bool LeadsTable(const TableSharding& sharding, int rank) {
  for (const Shard& shard : sharding.shards)
    if (shard.rows > 0) return shard.rank == rank;
  return rank == 0;
}

}  // namespace

std::vector<NamedParameter> DenseParameters(const EmbeddingModel& model) {
  std::vector<NamedParameter> all = model.Parameters();
  for (DensePart& part : model.DenseParts()) all.push_back(std::move(part.parameter));
  return all;
}

std::set<std::string> ShardedDenseTables(const EmbeddingModel& model) {
  std::set<std::string> names;
  if (model.sharded() == nullptr) return names;
  for (const BaseEmbeddingConfig& table : model.sharded()->tables().tables())
    if (IsDense(table)) names.insert(ParameterOf(model, table.name));
  return names;
}

GradientClippingOptions OverRanks(GradientClippingOptions options, const EmbeddingModel& model) {
  if (ShardedDenseTables(model).empty()) return options;
  for (const NamedParameter& p : model.Parameters()) options.replicated.push_back(p.name);
  for (const DensePart& part : model.DenseParts())
    if (part.held.replicated) options.replicated.push_back(part.parameter.name);
  Communicator& comm = model.sharded()->tables().comm();
  const ReduceOp op = std::isinf(options.norm_type) ? ReduceOp::kMax : ReduceOp::kSum;
  options.over_ranks = [&comm, op](Context& ctx, const Tensor& total) {
    total.CopyFrom(ctx, comm.AllReduce(ctx, total, op, "norm of gradients").Wait());
  };
  return options;
}

std::vector<NamedTensor> TakeDenseStates(const EmbeddingModel& model,
                                         const OptimizerStateDict& remembered,
                                         std::vector<ShardTensors>& shards) {
  std::vector<NamedTensor> numbers;
  std::set<std::string> said;
  for (const DensePart& part : model.DenseParts()) {
    const auto found = remembered.find(part.parameter.name);
    if (found == remembered.end()) continue;
    const ShardedTables& tables = model.sharded()->tables();
    const bool is_leader =
        LeadsTable(tables.plan().tables.at(part.held.table), tables.comm().rank()) &&
        said.insert(part.held.table).second;
    ShardTensors& shard = ShardOf(shards, part.held);
    for (const auto& [name, tensor] : found->second) {
      if (tensor.rank() > 0)
        shard.states.push_back({name, tensor});
      else if (is_leader)
        numbers.push_back({OptimizerStateName(ParameterOf(model, part.held.table), name), tensor});
    }
  }
  return numbers;
}

std::vector<NamedTensor> ReadDenseStates(Context& ctx, ShardedCheckpoint& checkpoint,
                                         const EmbeddingModel& model) {
  std::vector<NamedTensor> states;
  for (const DensePart& part : model.DenseParts()) {
    const auto& [table, shard, replicated, tables, index] = part.held;
    const std::string& key = part.parameter.name;
    const auto stored = checkpoint.index().tables.find(table);
    if (stored == checkpoint.index().tables.end()) continue;
    for (const StoredState& state : stored->second.states)
      states.push_back({OptimizerStateName(key, state.name),
                        checkpoint.ReadPart(ctx, table, shard, state.name)});
    const std::string prefix = OptimizerStateName(ParameterOf(model, table), "");
    for (const auto& [name, whole] : checkpoint.index().whole)
      if (name.starts_with(prefix))
        states.push_back(
            {OptimizerStateName(key, name.substr(prefix.size())), checkpoint.ReadWhole(ctx, name)});
  }
  return states;
}

}  // namespace tessera
