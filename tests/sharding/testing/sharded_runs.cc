#include "tests/sharding/testing/sharded_runs.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "comm/local_communicator.h"
#include "sharding/sharded_tables.h"

namespace tessera::testing {
namespace {

// Joins each output's rows, rank after rank. of_ranks: [rank][output].
std::vector<Tensor> JoinedRanks(const std::vector<std::vector<Tensor>>& of_ranks) {
  std::vector<Tensor> joined;
  for (size_t o = 0; o < of_ranks[0].size(); ++o) {
    std::vector<Tensor> parts;
    for (const auto& of_rank : of_ranks) parts.push_back(of_rank[o]);
    joined.push_back(OnHostRows(parts));
  }
  return joined;
}

Numbers ColumnBlocks(const ShardingPlan& plan, const TestTable& t) {
  Numbers begins;
  for (const Shard& s : plan.tables.at(t.name).shards)
    if (std::find(begins.begin(), begins.end(), s.column_offset) == begins.end())
      begins.push_back(s.column_offset);
  std::sort(begins.begin(), begins.end());
  return begins;
}

class Whole {
 public:
  Whole(Context& ctx, const Combination& c, const ShardingPlan& plan) : ctx_(ctx), c_(c) {
    std::vector<BaseEmbeddingConfig> configs;
    std::vector<std::vector<int>> blocks_of;
    for (const TestTable& t : Tables()) {
      const Numbers begins = ColumnBlocks(plan, t);
      blocks_of.emplace_back();
      for (size_t b = 0; b < begins.size(); ++b) {
        BaseEmbeddingConfig config = ConfigOf(c, t);
        config.place.first_column = begins[b];
        config.embedding_dim = (b + 1 < begins.size() ? begins[b + 1] : t.dim) - begins[b];
        blocks_of.back().push_back(static_cast<int>(configs.size()));
        configs.push_back(config);
      }
    }
    std::vector<EmbeddingFeature> features;
    for (const EmbeddingFeature& f : Features())
      for (const int block : blocks_of[static_cast<size_t>(f.table)])
        features.push_back({f.name + std::to_string(block), block, f.key});
    tables_ = std::make_unique<TableBatchedEmbedding>(
        ctx, configs, std::vector<PoolingType>(configs.size(), c.pooling), features,
        TableBatchedEmbeddingOptions{
            .weighted = c.weighted,
            .rounding_seed = 5,
            .sharding = {.gradient_scale = 1.0f / static_cast<float>(c.world)}});
    for (int b = 0; b < tables_->num_tables(); ++b)
      tables_->weight(b).CopyFrom(ctx, First(b).To(ctx, ctx.device()).To(ctx, c.row_type));
  }

  void Step(const std::vector<RankBatch>& batches, const std::vector<Tensor>& grads,
            Result& result) {
    Tape tape(ctx_);
    const KeyedJaggedTensor kjt = KjtOf(ctx_, c_, batches, 0, batches.size());
    const EmbeddingOutputs out = tables_->ForwardAll(ctx_, kjt);
    if (c_.pooling != PoolingType::kNone) {
      result.outputs.push_back({out.pooled.value().ToHost()});
      BackwardAll(ctx_, tape, {out.pooled}, grads);
    } else {
      BackwardSequences(tape, out.sequences, grads, result);
    }
    if (c_.weighted) result.weight_grads.push_back(kjt.weights().grad().ToHost());
  }

  void Store(Result& result) const {
    for (int b = 0; b < tables_->num_tables(); ++b) {
      const BaseEmbeddingConfig& block = tables_->table(b);
      result.tables[Format("{}/{}", block.name, block.place.first_column)] =
          tables_->weight(b).ToHost();
      for (const OptimizerState& s : tables_->optimizer_states(b))
        result.tables[Format("{}/{}.{}", block.name, block.place.first_column, s.name)] =
            s.tensor.ToHost();
    }
  }

 private:
  Tensor First(int b) const {
    const BaseEmbeddingConfig& block = tables_->table(b);
    for (const TestTable& t : Tables())
      if (t.name == block.name)
        return FirstWeights(t).Narrow(1, block.place.first_column, block.embedding_dim);
    return {};
  }
  // Runs backward; each block of a feature is a sequence of its own.
  void BackwardSequences(Tape& tape, const std::vector<Variable>& sequences,
                         const std::vector<Tensor>& grads, Result& result) {
    std::vector<Tensor> parts, joined;
    for (size_t i = 0, f = 0; f < Features().size(); ++f) {
      const int64_t dim = grads[f].dim(1);
      joined.push_back(Tensor::EmptyHost(grads[f].shape()));
      for (int64_t column = 0; column < dim; ++i) {
        const int64_t n = sequences[i].dim(1);
        Context cpu({.threads = 1});
        joined[f].Narrow(1, column, n).CopyFrom(cpu, sequences[i].value().ToHost());
        parts.push_back(grads[f].Narrow(1, column, n).Contiguous(cpu));
        column += n;
      }
    }
    result.outputs.push_back(joined);
    BackwardAll(ctx_, tape, sequences, parts);
  }

  Context& ctx_;
  Combination c_;
  std::unique_ptr<TableBatchedEmbedding> tables_;
};

class Collected {
 public:
  explicit Collected(const Combination& c) : c_(c), outputs_(kSteps), weight_grads_(kSteps) {
    for (int s = 0; s < kSteps; ++s) {
      outputs_[static_cast<size_t>(s)].resize(static_cast<size_t>(c.world));
      weight_grads_[static_cast<size_t>(s)].resize(static_cast<size_t>(c.world));
    }
  }
  void Step(int rank, size_t step, const std::vector<Variable>& outputs,
            const KeyedJaggedTensor& kjt) {
    const std::lock_guard lock(mutex_);
    for (const Variable& v : outputs)
      outputs_[step][static_cast<size_t>(rank)].push_back(v.value().ToHost());
    if (c_.weighted) weight_grads_[step][static_cast<size_t>(rank)] = kjt.weights().grad().ToHost();
  }
  void Tables(const ShardedTables& tables) {
    const std::lock_guard lock(mutex_);
    for (const HeldShard& held : tables.shards()) {
      if (held.replicated && held.shard.rank != 0) continue;
      int64_t rows = 0;
      for (const TestTable& t : testing::Tables())
        if (t.name == held.table) rows = t.rows;
      const std::string name = Format("{}/{}", held.table, held.shard.column_offset);
      Put(name, held.tables->weight(held.index), held.shard, rows);
      for (const OptimizerState& s : held.tables->optimizer_states(held.index))
        Put(name + "." + s.name, s.tensor, held.shard, rows);
    }
  }
  Result Take(const std::vector<std::vector<RankBatch>>& batches) {
    for (size_t s = 0; s < outputs_.size(); ++s) {
      result_.outputs.push_back(JoinedRanks(outputs_[s]));
      if (c_.weighted) result_.weight_grads.push_back(ByKey(batches[s], weight_grads_[s]));
    }
    return result_;
  }

 private:
  static Tensor ByKey(const std::vector<RankBatch>& batches, const std::vector<Tensor>& grads) {
    std::vector<float> all;
    std::vector<size_t> next(grads.size());
    for (const std::string& key : Keys())
      for (size_t r = 0; r < grads.size(); ++r)
        for (const Numbers& bag : batches[r].keys.at(key).bags)
          for (size_t i = 0; i < bag.size(); ++i) all.push_back(grads[r].data<float>()[next[r]++]);
    Context cpu({.threads = 1});
    return Tensor::From(cpu, all);
  }
  void Put(const std::string& name, const Tensor& part, const Shard& shard, int64_t rows) {
    Tensor& whole = result_.tables[name];
    Shape shape = part.shape();
    shape[0] = rows;
    if (!whole) whole = Tensor::EmptyHost(shape, part.dtype());
    Context cpu({.threads = 1});
    whole.Rows(shard.row_offset, shard.row_offset + shard.rows).CopyFrom(cpu, part.ToHost());
  }

  Combination c_;
  std::mutex mutex_;
  std::vector<std::vector<std::vector<Tensor>>> outputs_;  // [step][rank][output]
  std::vector<std::vector<Tensor>> weight_grads_;
  Result result_;
};

void RunRank(Context& ctx, Communicator& comm, const Combination& c, const ShardingPlan& plan,
             const Steps& steps, const ShardingOptions& sharding, Collected& collected) {
  std::vector<BaseEmbeddingConfig> configs;
  for (const TestTable& t : Tables()) configs.push_back(ConfigOf(c, t));
  ShardedTables tables(ctx, comm, configs, std::vector<PoolingType>(configs.size(), c.pooling),
                       Features(), plan,
                       {.weighted = c.weighted, .rounding_seed = 5, .sharding = sharding});
  for (const HeldShard& held : tables.shards())
    for (const TestTable& t : Tables())
      if (t.name == held.table)
        held.tables->weight(held.index)
            .CopyFrom(ctx, FirstWeights(t)
                               .Rows(held.shard.row_offset, held.shard.row_offset + held.shard.rows)
                               .Narrow(1, held.shard.column_offset, held.shard.columns)
                               .To(ctx, ctx.device())
                               .To(ctx, c.row_type));
  const auto rank = static_cast<size_t>(comm.rank());
  for (size_t s = 0; s < kSteps; ++s) {
    Tape tape(ctx);
    const KeyedJaggedTensor kjt = KjtOf(ctx, c, steps.batches[s], rank, rank + 1);
    const std::vector<Variable> outputs = tables.Forward(ctx, kjt);
    BackwardAll(ctx, tape, outputs, steps.grads[s][rank]);
    collected.Step(comm.rank(), s, outputs, kjt);
  }
  collected.Tables(tables);
}

}  // namespace

Steps DrawSteps(std::mt19937& random, const Combination& c) {
  Steps steps;
  for (int s = 0; s < kSteps; ++s) {
    steps.batches.emplace_back();
    steps.grads.emplace_back();
    for (int r = 0; r < c.world; ++r) {
      steps.batches.back().push_back(DrawBatch(random, c));
      steps.grads.back().push_back(DrawGradients(random, c, steps.batches.back().back()));
    }
  }
  return steps;
}

Result RunWhole(Context& ctx, const Combination& c, const ShardingPlan& plan, const Steps& steps) {
  Result result;
  Whole whole(ctx, c, plan);
  for (size_t s = 0; s < kSteps; ++s)
    whole.Step(steps.batches[s], JoinedRanks(steps.grads[s]), result);
  whole.Store(result);
  return result;
}

Result RunSharded(Device device, const Combination& c, const ShardingPlan& plan, const Steps& steps,
                  const ShardingOptions& sharding) {
  Collected collected(c);
  RunLocalRanks(c.world, [&](Communicator& comm) {
    Context own({.device = device, .threads = 1, .seed = 7});
    RunRank(own, comm, c, plan, steps, sharding, collected);
    own.Sync();
  });
  return collected.Take(steps.batches);
}

}  // namespace tessera::testing
