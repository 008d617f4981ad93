#include "models/attended_net.h"

#include "runtime/base/check.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/shaping.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

OverArch MakeScore(Context& ctx, int64_t dim, std::vector<int64_t> layers) {
  layers.push_back(1);
  return OverArch(ctx, 4 * dim, layers);
}

// x [B, D] -> [B·positions, D], each row so many times.
Variable Repeat(Context& ctx, const Variable& x, int64_t positions) {
  const Variable ones(Tensor::Full(ctx, {x.dim(0), positions, 1}, 1));
  return Reshape(ctx, BatchMatMul(ctx, ones, Reshape(ctx, x, {x.dim(0), 1, x.dim(1)})),
                 {x.dim(0) * positions, x.dim(1)});
}

}  // namespace

AttendedNet::AttendedNet(Context& ctx, const RankingNetConfig& config,
                         const std::vector<PooledFeature>& features) {
  for (const SequenceAttention& one : config.attention) {
    const AttendedBlocks blocks =
        FindAttendedBlocks(one, features, Format("attention of '{}'", one.sequence));
    attention_.push_back({one.sequence, blocks.sequence, blocks.target,
                          MakeScore(ctx, features[blocks.sequence].dim, one.layers)});
  }
  std::vector<PooledFeature> pooled = features;
  for (PooledFeature& feature : pooled) {
    columns_.push_back(feature.columns());
    feature.positions = 0;
  }
  RankingNetConfig behind = config;
  behind.attention.clear();
  net_ = MakeRankingNet(ctx, behind, pooled);
}

Variable AttendedNet::Pool(Context& ctx, const Attention& attention, const Variable& rows,
                           const Variable& target) {
  const int64_t batch = target.dim(0), dim = target.dim(1), positions = rows.dim(1) / dim;
  const Variable k = Reshape(ctx, rows, {batch * positions, dim}),
                 q = Repeat(ctx, target, positions);
  const Variable scores = attention.score.Forward(
      ctx, Concat(ctx, {q, k, Add(ctx, q, Scale(ctx, k, -1)), Mul(ctx, q, k)}, 1));
  const Variable pooled = BatchMatMul(ctx, Reshape(ctx, scores, {batch, 1, positions}),
                                      Reshape(ctx, k, {batch, positions, dim}));
  return Reshape(ctx, pooled, {batch, dim});
}

Variable AttendedNet::Forward(Context& ctx, const Variable& dense, const Variable& pooled) const {
  const std::vector<Variable> blocks = Split(ctx, pooled, 1, columns_);
  std::vector<Variable> parts = blocks;
  for (const Attention& one : attention_)
    parts[one.sequence] = Pool(ctx, one, blocks[one.sequence], blocks[one.target]);
  return net_->Forward(ctx, dense, Concat(ctx, parts, 1));
}

void AttendedNet::AppendParameters(const std::string& prefix,
                                   std::vector<NamedParameter>& out) const {
  for (const Attention& one : attention_)
    one.score.AppendParameters(Format("{}attention.{}.", prefix, one.name), out);
  net_->AppendParameters(prefix, out);
}

}  // namespace tessera
