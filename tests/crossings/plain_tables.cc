// RunPlainly: no collection, shard, cache, pipeline or checkpoint.
#include <algorithm>
#include <memory>
#include <set>

#include "embedding/lookup/index_remap.h"
#include "embedding/managed_collision/managed_collision_embedding.h"
#include "embedding/quantized/quantize_tables.h"
#include "runtime/ops/arithmetic.h"
#include "sharding/managed_collision/make_managed_tables.h"
#include "tests/crossings/tables_parts.h"
#include "tests/crossings/tables_run.h"

namespace tessera::testing {
namespace {

// A table for each block of columns of the plan, filled as the whole table is.
class PlainTables {
 public:
  PlainTables(Context& ctx, const TablesCase& c) : ctx_(ctx), c_(c) {
    std::vector<BaseEmbeddingConfig> tables = c.Tables(ctx);
    for (BaseEmbeddingConfig& t : tables) t.location = EmbeddingLocation::kDevice;
    MakeBlocks(tables);
    if (const auto itep = c.Itep()) itep_ = std::make_unique<GenericITEPModule>(ctx, tables, *itep);
    MakeModules(tables);
    if (c.point().Is("control", "frozen")) Freeze();
  }

  void Step(int step, TablesOutcome& outcome) {
    Tape tape(ctx_);
    const KeyedJaggedTensor raw = c_.Batch(ctx_, step, 0, c_.parts());
    const EmbeddingOutputs out = blocks_->ForwardAll(ctx_, RowsOf(raw, /*training=*/true));
    const float scale = 1.0f / static_cast<float>(c_.ranks());
    const std::vector<Tensor> gradients = c_.Gradients(ctx_, step, 0, c_.parts(), scale);
    std::vector<Variable> outputs = {out.pooled};
    std::vector<Tensor> block_gradients = gradients;
    if (!c_.pooled()) {
      outputs = out.sequences;
      block_gradients = CutColumns(gradients);
    }
    Put(step, outputs, outcome);
    tape.Backward(WithGradients(ctx_, outputs, block_gradients));
    if (raw.is_weighted() && raw.weights().grad().defined())  // that of ranks is not divided
      outcome.tensors[Format("gradient of weights, step {}", step)] =
          Scale(ctx_, raw.weights().grad(), static_cast<float>(c_.ranks())).value().ToHost();
    blocks_->SetLearningRate(c_.LearningRate(step));
  }

  void Finish(TablesOutcome& outcome) {
    for (int b = 0; b < blocks_->num_tables(); ++b) {
      const BaseEmbeddingConfig& block = blocks_->table(b);
      PutPart(
          ctx_, *blocks_, b,
          {block.name, {0, 0, block.place.first_column, block.num_embeddings, block.embedding_dim}},
          outcome.tensors);
    }
    if (collisions_)
      for (const NamedTensor& t : collisions_->StateDict(ctx_))
        outcome.tensors[t.name] = t.tensor.ToHost();
    if (itep_)
      for (const NamedTensor& t : itep_->StateDict(ctx_, "_itep_module."))
        outcome.tensors[t.name] = t.tensor.ToHost();
  }

  // Looks up the last batch in int8 rows.
  void Quantized(TablesOutcome& outcome) {
    const KeyedJaggedTensor rows =
        RowsOf(c_.Batch(ctx_, kTablesSteps - 1, 0, c_.parts()), /*training=*/false);
    PutQuantized(ctx_, c_, *blocks_, rows, outcome.tensors);
  }

 private:
  TableBatchedEmbeddingOptions Options() const {
    return {.weighted = c_.weighted() && c_.pooled(),
            .max_gradient = c_.max_gradient() / static_cast<float>(c_.ranks()),
            .output_type = OutputTypeOf(c_),
            .rounding_seed = kRoundingSeed};
  }
  // The columns at which the plan's blocks of a table begin.
  std::set<int64_t> BeginsOf(const std::string& table) const {
    std::set<int64_t> begins = {0};
    if (!c_.sharded()) return begins;
    const ShardingPlan plan = c_.Plan(false);
    for (const Shard& s : plan.tables.at(table).shards) begins.insert(s.column_offset);
    return begins;
  }

  void MakeBlocks(const std::vector<BaseEmbeddingConfig>& tables) {
    const std::vector<EmbeddingFeature> features = FeaturesOf(tables);
    auto whole = std::make_unique<TableBatchedEmbedding>(
        ctx_, tables, std::vector<PoolingType>(tables.size(), c_.pooling()), features, Options());
    std::vector<BaseEmbeddingConfig> blocks;
    std::vector<int> table_of;
    for (size_t t = 0; t < tables.size(); ++t) {
      const std::set<int64_t> begins = BeginsOf(tables[t].name);
      for (auto begin = begins.begin(); begin != begins.end(); ++begin) {
        const auto next = std::next(begin);
        blocks.push_back(tables[t]);
        blocks.back().place.first_column = *begin;
        blocks.back().embedding_dim =
            (next == begins.end() ? tables[t].embedding_dim : *next) - *begin;
        table_of.push_back(static_cast<int>(t));
      }
    }
    if (blocks.size() == tables.size())
      blocks_ = std::move(whole);
    else
      CutIntoBlocks(*whole, blocks, table_of, features);
  }
  void CutIntoBlocks(const TableBatchedEmbedding& whole,
                     const std::vector<BaseEmbeddingConfig>& blocks,
                     const std::vector<int>& table_of,
                     const std::vector<EmbeddingFeature>& features) {
    std::vector<EmbeddingFeature> block_features;
    for (const EmbeddingFeature& f : features)
      for (size_t b = 0; b < blocks.size(); ++b)
        if (table_of[b] == f.table)
          block_features.push_back({f.name + std::to_string(b), static_cast<int>(b), f.key});
    Context start({.threads = 1});  // ctx's random numbers stay as after the whole tables
    blocks_ = std::make_unique<TableBatchedEmbedding>(
        start, blocks, std::vector<PoolingType>(blocks.size(), c_.pooling()), block_features,
        Options());
    for (size_t b = 0; b < blocks.size(); ++b)
      blocks_->weight(static_cast<int>(b))
          .CopyFrom(ctx_, whole.weight(table_of[b])
                              .Narrow(1, blocks[b].place.first_column, blocks[b].embedding_dim));
  }

  void MakeModules(const std::vector<BaseEmbeddingConfig>& tables) {
    std::vector<ManagedTable> modules;
    std::vector<BaseEmbeddingConfig> managed;
    for (const BaseEmbeddingConfig& t : tables)
      if (const auto configs = c_.Managed(); configs.contains(t.name)) {
        modules.push_back({t.name, MakeManagedCollisionModule(ctx_, configs.at(t.name), t)});
        managed.push_back(t);
      }
    if (!modules.empty())
      collisions_ = std::make_unique<ManagedCollisionCollection>(modules, managed);
  }

  void Freeze() {
    for (int b = 0; b < blocks_->num_tables(); ++b)
      if (blocks_->table_name(b) == kFrozenTable) blocks_->SetFrozen(b, true);
  }
  std::vector<int> BlocksOf(const std::string& table) const {
    std::vector<int> blocks;
    for (int b = 0; b < blocks_->num_tables(); ++b)
      if (blocks_->table_name(b) == table) blocks.push_back(b);
    return blocks;
  }

  // Turns raw ids into rows; rows that were handed on start anew.
  KeyedJaggedTensor RowsOf(const KeyedJaggedTensor& raw, bool training) {
    if (itep_) return ItepRows(raw, training);
    if (!collisions_) return raw;
    const KeyedJaggedTensor rows = [&] {
      if (training) return collisions_->Forward(ctx_, raw);
      const NoGrad no_grad(ctx_);
      return collisions_->Forward(ctx_, raw);
    }();
    if (!training) return rows;
    for (const BaseEmbeddingConfig& t : collisions_->configs())
      for (const int b : BlocksOf(t.name)) {
        const auto reset = [&](const Tensor& ids) {
          blocks_->rows().Reset(ctx_, b, ids, TableRows::ResetTo::kInitial);
        };
        ManagedCollisionModule& module = collisions_->module(t.name);
        if (t.growing) blocks_->rows().SetInUse(ctx_, b, module.rows_in_use());
        module.EvictTo(ctx_, reset);
      }
    return rows;
  }
  KeyedJaggedTensor ItepRows(const KeyedJaggedTensor& raw, bool training) {
    const KeyedJaggedTensor rows = itep_->Forward(ctx_, raw, blocks_->iter(), training);
    const std::vector<Tensor> handed_on = itep_->TakeHandedOn(ctx_);
    for (size_t t = 0; t < handed_on.size(); ++t)
      if (handed_on[t].numel() > 0)
        for (const int b : BlocksOf(itep_->configs()[t].name))
          blocks_->rows().Reset(ctx_, b, handed_on[t], TableRows::ResetTo::kInitial);
    return rows;
  }

  // Cuts gradients of sequences by columns: each block of a feature is a sequence of its own.
  std::vector<Tensor> CutColumns(const std::vector<Tensor>& gradients) const {
    std::vector<Tensor> cut;
    size_t next = 0;
    for (const Tensor& gradient : gradients)
      for (int64_t column = 0; column < gradient.dim(1);) {
        const int64_t dim = blocks_->table(blocks_->features()[next++].table).embedding_dim;
        cut.push_back(gradient.Narrow(1, column, dim).Contiguous(ctx_));
        column += dim;
      }
    return cut;
  }
  void Put(int step, const std::vector<Variable>& outputs, TablesOutcome& outcome) const {
    if (c_.pooled()) {
      outcome.tensors[Format("step {} output 0", step)] = outputs[0].value().ToHost();
      return;
    }
    size_t next = 0;
    const std::vector<EmbeddingFeature>& features = blocks_->features();
    for (int output = 0; next < features.size(); ++output) {
      size_t end = next;
      int64_t dim = 0;
      const std::string& table = blocks_->table_name(features[next].table);
      for (; end < features.size() && features[end].key == features[next].key &&
             blocks_->table_name(features[end].table) == table;
           ++end)
        dim += outputs[end].dim(1);
      const Tensor joined =
          Tensor::EmptyHost({outputs[next].dim(0), dim}, outputs[next].value().dtype());
      for (int64_t column = 0; next < end; ++next) {
        Context host({.threads = 1});
        joined.Narrow(1, column, outputs[next].dim(1))
            .CopyFrom(host, outputs[next].value().ToHost());
        column += outputs[next].dim(1);
      }
      outcome.tensors[Format("step {} output {}", step, output)] = joined;
    }
  }

  Context& ctx_;
  const TablesCase& c_;
  std::unique_ptr<TableBatchedEmbedding> blocks_;
  std::unique_ptr<ManagedCollisionCollection> collisions_;
  std::unique_ptr<GenericITEPModule> itep_;
};

}  // namespace

TablesOutcome RunPlainly(const TablesCase& c) {
  Context ctx({.threads = 1, .seed = kSeed});
  PlainTables tables(ctx, c);
  TablesOutcome outcome;
  for (int step = 0; step < kTablesSteps; ++step) tables.Step(step, outcome);
  tables.Finish(outcome);
  if (c.point().Is("after", "quantized") && !c.sharded()) tables.Quantized(outcome);
  return outcome;
}

}  // namespace tessera::testing
