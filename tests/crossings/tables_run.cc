// RunPoint: collections as users make them, with every feature of the point.
#include "tests/crossings/tables_run.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>

#include "comm/local_communicator.h"
#include "embedding/fused_optimizer.h"
#include "embedding/itep/itep_embedding.h"
#include "embedding/managed_collision/managed_collision_embedding.h"
#include "embedding/quantized/quantize_tables.h"
#include "sharding/itep/sharded_itep_embedding.h"
#include "sharding/managed_collision/make_managed_tables.h"
#include "sharding/managed_collision/managed_collision_checkpoint.h"
#include "sharding/managed_collision/sharded_managed_collision_embedding.h"
#include "tests/crossings/live_tables.h"
#include "tests/crossings/tables_parts.h"

namespace tessera::testing {
namespace {

// The outputs of all parts, joined part by part, and the rest.
class Collected {
 public:
  explicit Collected(const TablesCase& c) : c_(c) {}

  void Output(const std::string& name, int part, const Tensor& value) {
    const std::lock_guard lock(mutex_);
    outputs_[name][part] = value.ToHost();
  }
  void WeightGradient(int step, int part, const Tensor& value) {
    Output(Format("gradient of weights, step {}", step), part, value);
  }
  void Finish(Context& ctx, LiveTables& live, int rank) {
    const std::lock_guard lock(mutex_);
    live.PutParts(ctx, rank, outcome_.tensors);
    for (const NamedTensor& t : live.IdsState(ctx)) outcome_.tensors[t.name] = t.tensor.ToHost();
    if (c_.point().Is("after", "quantized") && !c_.sharded())
      live.PutQuantized(ctx, outcome_.tensors);
  }
  TablesOutcome Take() {
    for (const auto& [name, of_parts] : outputs_)
      outcome_.tensors[name] =
          name.starts_with("gradient") ? WeightGradients(name, of_parts) : Joined(of_parts);
    return outcome_;
  }

 private:
  static Tensor Joined(const std::map<int, Tensor>& of_parts) {
    Context host({.threads = 1});
    int64_t rows = 0;
    for (const auto& [part, t] : of_parts) rows += t.dim(0);
    Shape shape = of_parts.begin()->second.shape();
    shape[0] = rows;
    const Tensor all = Tensor::EmptyHost(shape, of_parts.begin()->second.dtype());
    int64_t at = 0;
    for (const auto& [part, t] : of_parts) {
      all.Rows(at, at + t.dim(0)).CopyFrom(host, t);
      at += t.dim(0);
    }
    return all;
  }
  // Joins gradients of weights key by key, then part by part.
  Tensor WeightGradients(const std::string& name, const std::map<int, Tensor>& of_parts) const {
    Context host({.threads = 1});
    const int step = std::stoi(name.substr(name.rfind(' ')));
    std::vector<float> all;
    for (int64_t key = 0; key < c_.Batch(host, step, 0, 1).num_keys(); ++key)
      for (const auto& [part, t] : of_parts) {
        const std::vector<int64_t> offsets = c_.Batch(host, step, part, part + 1).offset_per_key();
        const auto k = static_cast<size_t>(key);
        for (int64_t i = offsets[k]; i < offsets[k + 1]; ++i) all.push_back(t.data<float>()[i]);
      }
    return Tensor::From(host, all);
  }

  const TablesCase& c_;
  std::mutex mutex_;
  std::map<std::string, std::map<int, Tensor>> outputs_;  // of parts
  TablesOutcome outcome_;
};

struct NumberedBatch {
  int step, part;  // of all parts of the step
  KeyedJaggedTensor features;
};

// The run of one rank.
class RankRun {
 public:
  RankRun(Context& ctx, Communicator* comm, const TablesCase& c, std::string folder,
          Collected& collected)
      : ctx_(ctx), comm_(comm), c_(c), folder_(std::move(folder)), collected_(collected) {}

  void Run() {
    live_ = MakeLiveTables(ctx_, comm_, c_, /*after_checkpoint=*/false);
    const bool broken = !c_.point().Is("checkpoint", "none");
    // Rows that a semi-synchronous pipeline has looked up ahead are looked up again after a break.
    const bool in_two = broken || c_.point().Is("pipeline", "semi_sync");
    Steps(0, in_two ? kBreakAfter : kTablesSteps);
    if (broken) {
      std::unique_ptr<LiveTables> next = MakeLiveTables(ctx_, comm_, c_, true);
      live_->MoveTo(ctx_, *next, folder_);
      next->SetLearningRate(c_.LearningRate(kBreakAfter - 1));
      live_ = std::move(next);
    }
    if (in_two) Steps(kBreakAfter, kTablesSteps);
    collected_.Finish(ctx_, *live_, rank());
    if (comm_ != nullptr) comm_->Barrier(ctx_, "end of the point").Wait();
  }

 private:
  int rank() const { return comm_ == nullptr ? 0 : comm_->rank(); }

  void Steps(int begin, int end) {
    const int micro = c_.micro_batches();
    if (c_.point().Is("pipeline", "none")) {
      for (int n = begin * micro; n < end * micro; ++n) Step(Batch(n));
      return;
    }
    const bool ids_ahead = !c_.point().Is("pipeline", "base");
    const auto embeddings = ids_ahead ? live_->Pipelined() : nullptr;
    int next = begin * micro;
    TrainLoop<NumberedBatch, int> loop{
        .source = [&]() -> std::optional<NumberedBatch> {
          if (next == end * micro) return std::nullopt;
          return Batch(next++);
        },
        .step = [this](Context&, const NumberedBatch& batch) { return Step(batch); }};
    if (ids_ahead)
      loop.embeddings = {{embeddings.get(), [](const NumberedBatch& b) { return b.features; }}};
    const auto pipeline = MakePipeline(loop);
    while (pipeline->Progress()) {
    }
  }
  std::unique_ptr<TrainPipeline<NumberedBatch, int>> MakePipeline(
      const TrainLoop<NumberedBatch, int>& loop) {
    if (c_.point().Is("pipeline", "base"))
      return std::make_unique<TrainPipelineBase<NumberedBatch, int>>(ctx_, loop);
    if (c_.point().Is("pipeline", "sparse_dist"))
      return std::make_unique<TrainPipelineSparseDist<NumberedBatch, int>>(ctx_, loop);
    if (c_.point().Is("pipeline", "prefetch"))
      return std::make_unique<PrefetchTrainPipelineSparseDist<NumberedBatch, int>>(ctx_, loop);
    return std::make_unique<TrainPipelineSemiSync<NumberedBatch, int>>(ctx_, loop);
  }

  // Micro-batch n of this rank, over all steps.
  NumberedBatch Batch(int n) const {
    Context host({.threads = 1});
    const int step = n / c_.micro_batches(),
              part = rank() * c_.micro_batches() + n % c_.micro_batches();
    return {step, part, c_.Batch(host, step, part, part + 1)};
  }
  int Step(const NumberedBatch& batch) {
    const int micro = c_.micro_batches();
    if (micro > 1 && batch.part % micro == 0) live_->AccumulateForwards(micro);
    Tape tape(ctx_);
    const std::vector<Variable> outputs = live_->Forward(ctx_, batch.features);
    for (size_t o = 0; o < outputs.size(); ++o)
      collected_.Output(Format("step {} output {}", batch.step, o), batch.part, outputs[o].value());
    tape.Backward(WithGradients(ctx_, outputs,
                                c_.Gradients(ctx_, batch.step, batch.part, batch.part + 1, 1)));
    if (batch.features.is_weighted() && batch.features.weights().grad().defined())
      collected_.WeightGradient(batch.step, batch.part, batch.features.weights().grad());
    if (batch.part % micro == micro - 1) live_->SetLearningRate(c_.LearningRate(batch.step));
    return batch.step;
  }

  Context& ctx_;
  Communicator* comm_;
  const TablesCase& c_;
  std::string folder_;
  Collected& collected_;
  std::unique_ptr<LiveTables> live_;
};

}  // namespace

TablesOutcome RunPoint(const TablesCase& c, const std::string& folder) {
  Collected collected(c);
  std::filesystem::remove_all(folder);
  if (!c.sharded()) {
    Context ctx({.threads = 1, .seed = kSeed});
    RankRun(ctx, nullptr, c, folder, collected).Run();
  } else {
    RunLocalRanks(c.ranks(), [&](Communicator& comm) {
      Context ctx({.threads = 1, .seed = kSeed});
      RankRun(ctx, &comm, c, folder, collected).Run();
    });
  }
  std::filesystem::remove_all(folder);
  return collected.Take();
}

std::optional<Point> BaselineOf(const Point& point) {
  const bool coded = !point.Is("codec", "fp32") && !point.Is("sharding", "none");
  const bool stale = point.Is("pipeline", "semi_sync");
  // A module then sees each id of a rank's, or a node's, batch once, in rising order.
  const bool distinct = point.Is("dedup", "rank|node") && point.Is("ids", "growing|mch|hash_zch") &&
                        !point.Is("sharding", "none");
  if (!coded && !stale && !distinct) return {};
  Point baseline = point;
  baseline.Set("location", "DEVICE");
  if (point.Is("checkpoint", "same")) baseline.Set("checkpoint", "none");
  if (!stale) baseline.Set("pipeline", "none");
  return baseline;
}

Closeness ClosenessOf(const TablesCase& c, const std::string& name) {
  const Point& p = c.point();
  const bool splits_rows = p.Is("sharding", "row_wise|table_row_wise|grid_shard|mixed") ||
                           (p.Is("checkpoint", "resharded") && c.sharded());
  if (name.starts_with("step"))
    return c.pooled() && splits_rows ? Closeness::kNear : Closeness::kEqual;
  if (name.starts_with("gradient")) return c.sharded() ? Closeness::kNear : Closeness::kEqual;
  // A MEAN that is split over rows applies 1/L to the gradient before the weight.
  const bool mean = splits_rows && c.weighted() && p.Is("pooling", "MEAN");
  return mean ? Closeness::kNear : Closeness::kEqual;
}

}  // namespace tessera::testing
