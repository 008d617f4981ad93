#include "bench/embedding/disk_training.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bench/harness/cold_rounds.h"
#include "bench/inputs/draws.h"
#include "bench/inputs/id_stream.h"
#include "runtime/tensor.h"
#include "sharding/exchange/dist_layout.h"
#include "train/ranks_plan.h"

namespace tessera::bench {
namespace {

class SomeBatches final : public DataSource {
 public:
  SomeBatches(const DiskBatches& batches, int64_t first, int64_t count)
      : batches_(batches), next_(first), end_(first + count) {}
  std::optional<Batch> Next() override {
    if (next_ == end_) return std::nullopt;
    return batches_.at(next_++);
  }

 private:
  const DiskBatches& batches_;
  int64_t next_, end_;
};

std::optional<TrainingRanks> RanksOf(Communicator* comm, const TrainConfig& config) {
  if (comm == nullptr) return std::nullopt;
  const RankLayout layout{.world_size = comm->size(), .local_size = comm->size()};
  return TrainingRanks{.comm = comm,
                       .plan = MakeRanksPlan("row_wise", layout, ShapesOf(config.tables))};
}

// Reads and writes each row of a part of the table.
void WriteRows(TableBatchedEmbedding& part) {
  constexpr int64_t kRows = 1 << 14;
  const NamedTensor weight = part.rows().part(0, 0);
  const int64_t rows = weight.tensor.dim(0);
  std::vector<char> bytes(static_cast<size_t>(weight.tensor.nbytes() / rows * kRows));
  for (int64_t first = 0; first < rows; first += kRows) {
    std::vector<int64_t> some(static_cast<size_t>(std::min(kRows, rows - first)));
    std::iota(some.begin(), some.end(), first);
    weight.stored->read(some, bytes.data());
    weight.stored->write(some, bytes.data());
  }
}

}  // namespace

DiskBatches::DiskBatches(Context& ctx, const TrainConfig& config, const std::string& skew,
                         int64_t count) {
  const int64_t batch = config.batch_size;
  const auto features = std::ssize(config.tables[0].feature_names);
  IdStream stream(ParseSkew(skew), config.tables[0].num_embeddings, 20261122, 0);
  for (int64_t b = 0; b < count; ++b) {
    std::vector<int64_t> ids(static_cast<size_t>(batch * features));
    stream.Draw(ids);
    const Tensor dense = Tensor::Empty(ctx, {batch, config.model.dense_in}),
                 labels = Tensor::Empty(ctx, {batch});
    FillUniform(ctx, dense, 0, 1);
    for (int64_t i = 0; i < batch; ++i)
      labels.data<float>()[i] = static_cast<float>(ids[static_cast<size_t>(i)] % 4 == 0);
    batches_.push_back({.dense = dense,
                        .features = KeyedJaggedTensor::FromLengthsSync(
                            config.tables[0].feature_names, Tensor::From(ctx, ids),
                            Tensor::Full(ctx, {batch * features}, 1, DType::kI64)),
                        .labels = labels});
    const KeyedJaggedTensor& features = batches_.back().features;
    features.Sync(ctx);  // batches come again, to other threads
    features.Contains(config.tables[0].feature_names[0]);
  }
}

// A model and the steps that it has done.
class DiskTraining::Rank {
 public:
  // comm: null for one process.
  Rank(int threads, Communicator* comm, const TrainConfig& config, PipelineKind kind)
      : ctx_({.threads = threads, .seed = 7}),
        trainer_(ctx_, config, RanksOf(comm, config)),
        pipeline_(trainer_, kind) {}

  double Run(const DiskBatches& batches, int64_t first, int64_t count) {
    double losses = 0;
    SomeBatches source(batches, first, count);
    const auto steps = pipeline_.Over(source, /*scored=*/false);
    while (const auto batch = steps->Next()) losses += batch->loss;
    return losses;
  }
  Context& context() { return ctx_; }
  std::vector<TableBatchedEmbedding*> parts() {
    if (ShardedEmbeddingBagCollection* sharded = trainer_.model().sharded())
      return sharded->tables().parts();
    return {&trainer_.model().embedding_bag_collection().tables()};
  }

 private:
  Context ctx_;
  Trainer trainer_;
  TrainerPipeline pipeline_;
};

DiskTraining::DiskTraining(int threads, int ranks, const TrainConfig& config,
                           std::shared_ptr<const DiskBatches> batches, PipelineKind kind)
    : batches_(std::move(batches)), ranks_(static_cast<size_t>(ranks)) {
  if (ranks == 1) {
    ranks_[0] = std::make_unique<Rank>(threads, nullptr, config, kind);
    return;
  }
  threads_.emplace(ranks);
  threads_->Run([&](Communicator& comm, Context&) {
    ranks_[static_cast<size_t>(comm.rank())] =
        std::make_unique<Rank>(std::max(1, threads / ranks), &comm, config, kind);
  });
}

DiskTraining::~DiskTraining() = default;

double DiskTraining::Run(int64_t count) {
  double losses = 0;
  seconds_.push_back(SecondsOf([&] {
    if (!threads_) {
      losses = ranks_[0]->Run(*batches_, done_, count);
      return;
    }
    threads_->Run([&](Communicator& comm, Context&) {
      const double own = ranks_[static_cast<size_t>(comm.rank())]->Run(*batches_, done_, count);
      if (comm.rank() == 0) losses = own;
    });
  }));
  done_ += count;
  return losses;
}

double DiskTraining::MedianSeconds() const { return Timing{"", seconds_}.Median(); }

CacheStats DiskTraining::StatsSync() {
  CacheStats all;
  for (const auto& rank : ranks_)
    for (TableBatchedEmbedding* part : rank->parts()) {
      const CacheStats stats = part->caches().StatsSync(rank->context(), 0);
      all.requested += stats.requested;
      all.unique += stats.unique;
      all.misses += stats.misses;
      all.evictions += stats.evictions;
    }
  return all;
}

DiskStats DiskTraining::disk_stats() {
  DiskStats all;
  for (const auto& rank : ranks_)
    for (TableBatchedEmbedding* part : rank->parts()) {
      const DiskStats stats = part->caches().disk_stats(0);
      all.rows.blocks_read += stats.rows.blocks_read;
      all.rows.rows_moved += stats.rows.rows_moved;
      all.io.bytes_read += stats.io.bytes_read;
      all.io.bytes_written += stats.io.bytes_written;
      all.io.mean_in_flight += stats.io.mean_in_flight;
      all.direct = stats.direct;
      all.file_bytes += stats.file_bytes;
    }
  return all;
}

int64_t DiskTraining::lines() {
  int64_t lines = 0;
  for (const auto& rank : ranks_)
    for (TableBatchedEmbedding* part : rank->parts()) lines += part->caches().lines(0);
  return lines;
}

void DiskTraining::WriteAllRows() {
  for (const auto& rank : ranks_)
    for (TableBatchedEmbedding* part : rank->parts()) WriteRows(*part);
}

}  // namespace tessera::bench
