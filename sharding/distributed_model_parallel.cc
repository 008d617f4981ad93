#include "sharding/distributed_model_parallel.h"

#include <algorithm>
#include <utility>

#include "comm/blocks.h"
#include "comm/leader.h"
#include "runtime/ops/arithmetic.h"
#include "sharding/coded_all_reduce.h"
#include "sharding/exchange/copy_segments.h"

namespace tessera {
namespace {

std::string Description(const std::vector<NamedParameter>& parameters) {
  std::string text;
  for (const NamedParameter& p : parameters)
    text += Format("{} {} {}\n", p.name, p.variable.value().shape(), p.variable.value().dtype());
  return text;
}

// Packed puts the gradients of parameters [begin, end) into one tensor, zeros for those that are
// not there; Unpack is its inverse for those that some rank has.
Tensor Packed(Context& ctx, const std::vector<NamedParameter>& parameters, size_t begin,
              size_t end) {
  int64_t elements = 0;
  for (size_t p = begin; p < end; ++p) elements += parameters[p].variable.value().numel();
  const Tensor bucket = Tensor::Empty(ctx, {elements});
  std::vector<SegmentCopy> copies;
  std::vector<Tensor> kept;  // until they are copied
  int64_t at = 0;
  for (size_t p = begin; p < end; ++p) {
    const Variable& variable = parameters[p].variable;
    kept.push_back(variable.grad() ? variable.grad().Contiguous(ctx)
                                   : Tensor::Zeros(ctx, variable.shape()));
    copies.push_back({kept.back().raw_data(), bucket.data<float>() + at, kept.back().nbytes()});
    at += variable.value().numel();
  }
  CopySegments(ctx, copies);
  return bucket;
}

void Unpack(Context& ctx, const Tensor& bucket, std::vector<NamedParameter>& parameters,
            size_t begin, size_t end, const std::vector<float>& ranks) {
  int64_t at = 0;
  for (size_t p = begin; p < end; ++p) {
    Variable& variable = parameters[p].variable;
    const int64_t n = variable.value().numel();
    variable.ZeroGrad();
    if (ranks[p] > 0)
      variable.AccumulateGrad(ctx, bucket.Rows(at, at + n).Reshape(variable.shape()));
    at += n;
  }
}

Tensor Mean(Context& ctx, const Tensor& sum, int ranks) {
  return Scale(ctx, sum, 1.0f / static_cast<float>(ranks)).value();
}

constexpr char kReplicas[] = "replicas of tables";
// Elements that travel at a time, of which some eight copies live on each rank: a tensor may be as
// large as a table.
constexpr int64_t kPiece = int64_t{1} << 18;

void AddPieces(const Tensor& tensor, std::vector<Tensor>& pieces) {
  if (tensor.numel() == 0) return;
  const int64_t rows = tensor.dim(0), width = tensor.numel() / rows;
  const int64_t step = std::max<int64_t>(1, kPiece / width);
  for (int64_t begin = 0; begin < rows; begin += step)
    pieces.push_back(tensor.Rows(begin, std::min(rows, begin + step)));
}

// Views of all that is averaged.
std::vector<Tensor> PiecesOf(const ShardedTables& tables, bool states) {
  std::vector<Tensor> pieces;
  for (const HeldShard& held : tables.shards()) {
    AddPieces(held.tables->weight(held.index), pieces);
    if (!states) continue;
    for (const OptimizerState& state : held.tables->optimizer_states(held.index))
      AddPieces(state.tensor, pieces);
  }
  return pieces;
}

// The numbers of elements that each of the ranks averages.
std::vector<int64_t> BlocksOf(int64_t elements, int ranks) {
  std::vector<int64_t> counts;
  for (int r = 0; r < ranks; ++r)
    counts.push_back(elements * (r + 1) / ranks - elements * r / ranks);
  return counts;
}

// Starts to collect every replica's block of this rank, f32. What is sent is a copy, as the piece
// changes later.
Awaitable<std::vector<Tensor>> StartBlocks(Context& ctx, Communicator& replicas,
                                           const Tensor& piece) {
  const std::vector<int64_t> counts = BlocksOf(piece.numel(), replicas.size());
  const int64_t mine = counts[static_cast<size_t>(replicas.rank())];
  const Tensor sent = piece.Clone(ctx).To(ctx, DType::kF32);
  return replicas.AllToAllV(ctx, internal::CutFlat(sent, counts),
                            std::vector<int64_t>(counts.size(), mine), kReplicas);
}

// The first part and the mean of what all differ from it by, so that equal parts stay as they are.
// (The sum of three equal numbers divided by 3 is often another number.)
Tensor MeanOf(Context& ctx, const std::vector<Tensor>& parts) {
  if (parts.size() == 1) return parts[0];
  const Variable first = parts[0], minus = Scale(ctx, first, -1);
  Variable difference = Add(ctx, parts[1], minus);
  for (size_t r = 2; r < parts.size(); ++r)
    difference = Add(ctx, difference, Add(ctx, parts[r], minus));
  return Add(ctx, first, Mean(ctx, difference.value(), static_cast<int>(parts.size()))).value();
}

}  // namespace

DistributedModelParallel::DistributedModelParallel(Context& ctx, Communicator& comm,
                                                   std::vector<NamedParameter> parameters,
                                                   DistributedModelParallelOptions options)
    : comm_(comm), parameters_(std::move(parameters)), options_(options), has_(parameters_.size()) {
  CheckSameOnAllRanks(comm, "the dense parameters", Description(parameters_));
  for (const NamedParameter& p : parameters_) {
    TESSERA_CHECK_EQ(p.variable.value().dtype(), DType::kF32, "parameter {}", p.name);
    const Tensor value = p.variable.value();
    value.CopyFrom(ctx, comm.Broadcast(ctx, value.Clone(ctx), 0, p.name).Wait());
  }
  MakeBuckets();
}

void DistributedModelParallel::MakeBuckets() {
  int64_t limit = options_.first_bucket_bytes;
  for (size_t end = parameters_.size(); end > 0;) {
    size_t begin = end;
    int64_t bytes = 0;
    while (begin > 0 && (begin == end || bytes < limit))
      bytes += parameters_[--begin].variable.value().nbytes();
    buckets_.push_back({begin, end});
    end = begin;
    limit = options_.bucket_bytes;
  }
}

void DistributedModelParallel::Overlap(Context& ctx, Tape& tape) {
  tape.OnGradientReady([this, &ctx](const Variable& variable) { CountReady(ctx, variable); });
}

// Counts a gradient that is ready. All ranks start buckets in one order.
void DistributedModelParallel::CountReady(Context& ctx, const Variable& variable) {
  for (Bucket& bucket : buckets_)
    for (size_t p = bucket.begin; p < bucket.end; ++p)
      if (parameters_[p].variable.is(variable)) ++bucket.ready;
  while (started_ < buckets_.size() &&
         buckets_[started_].ready == buckets_[started_].end - buckets_[started_].begin)
    StartBucket(ctx);
}

void DistributedModelParallel::StartBucket(Context& ctx) {
  Bucket& bucket = buckets_[started_++];
  for (size_t p = bucket.begin; p < bucket.end; ++p)
    has_[p] = parameters_[p].variable.grad() ? 1.0f : 0.0f;
  bucket.sum =
      CodedAllReduce(ctx, comm_, options_.codec, Packed(ctx, parameters_, bucket.begin, bucket.end),
                     "dense gradients");
}

std::vector<float> DistributedModelParallel::RanksWithGradients(Context& ctx) {
  if (has_ != had_) has_tensor_ = Tensor::From(ctx, had_ = has_);
  const Tensor ranks =
      comm_.AllReduce(ctx, has_tensor_, ReduceOp::kSum, "ranks with gradients").Wait();
  const bool has_all = std::ranges::find(has_, 0.0f) == has_.end();
  return has_all ? has_ : ranks.ToVector<float>();  // a GPU is waited for where it must be
}

void DistributedModelParallel::AverageGradients(Context& ctx) {
  while (started_ < buckets_.size()) StartBucket(ctx);
  const std::vector<float> ranks = RanksWithGradients(ctx);
  for (Bucket& bucket : buckets_) {
    const Tensor sum = bucket.sum.Wait();
    Unpack(ctx, options_.average ? Mean(ctx, sum, comm_.size()) : sum, parameters_, bucket.begin,
           bucket.end, ranks);
    bucket.ready = 0;
  }
  started_ = 0;
}

TwoDimensionalGroups MakeTwoDimensionalGroups(Communicator& world, int sharding_size) {
  TESSERA_CHECK(sharding_size >= 1 && world.size() % sharding_size == 0,
                "sharding groups of {} ranks do not divide {} ranks", sharding_size, world.size());
  const int groups = world.size() / sharding_size;
  TwoDimensionalGroups result;
  result.sharding = world.Split(world.rank() % groups, world.rank());
  result.replicas = world.Split(world.rank() / groups, world.rank());
  return result;
}

void AverageReplicas(Context& ctx, Communicator& replicas, const ShardedTables& tables,
                     bool states) {
  tables.Flush(ctx);
  const std::vector<Tensor> pieces = PiecesOf(tables, states);
  // The next piece travels while one is written.
  const auto start = [&](size_t i) {
    return i < pieces.size() ? StartBlocks(ctx, replicas, pieces[i])
                             : Awaitable<std::vector<Tensor>>();
  };
  Awaitable<std::vector<Tensor>> blocks = start(0);
  for (size_t i = 0; i < pieces.size(); ++i) {
    Awaitable<std::vector<Tensor>> next = start(i + 1);
    const Tensor mean = MeanOf(ctx, blocks.Wait());
    const Tensor all =
        replicas.AllGatherV(ctx, mean, BlocksOf(pieces[i].numel(), replicas.size()), kReplicas)
            .Wait();
    pieces[i].CopyFrom(ctx, all.Reshape(pieces[i].shape()).To(ctx, pieces[i].dtype()));
    blocks = std::move(next);
  }
  tables.ResetCaches(ctx);
  if (replicas.size() == 1) return;
  for (TableBatchedEmbedding* part : tables.parts()) part->rows().TouchAll();
}

}  // namespace tessera
