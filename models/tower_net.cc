#include "models/tower_net.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/norm.h"
#include "runtime/ops/shaping.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

void CheckAreTaken(const RankingNetConfig& config, const std::vector<PooledFeature>& features) {
  for (const PooledFeature& feature : features)
    TESSERA_CHECK(std::ranges::count(config.query, feature.feature) +
                          std::ranges::count(config.candidate, feature.feature) >
                      0,
                  "two_tower: feature '{}' is read by a table, but neither query nor candidate "
                  "names it",
                  feature.feature);
}

}  // namespace

TowerNet::Tower TowerNet::MakeTower(Context& ctx, const RankingNetConfig& config, const char* name,
                                    const std::vector<std::string>& own,
                                    const std::vector<PooledFeature>& features) {
  std::vector<Block> blocks;
  int64_t begin = 0, width = 0;
  for (const PooledFeature& feature : features) {
    if (std::ranges::count(own, feature.feature) > 0) {
      blocks.push_back({begin, feature.dim});
      width += feature.dim;
    }
    begin += feature.dim;
  }
  for (const std::string& feature : own)
    TESSERA_CHECK(
        std::ranges::any_of(features, [&](const auto& f) { return f.feature == feature; }),
        "two_tower: {}: no table reads the feature '{}'", name, feature);
  return {std::move(blocks), Mlp(ctx, width, config.tower_layers, {.activation_on_last = false})};
}

TowerNet::TowerNet(Context& ctx, const RankingNetConfig& config,
                   const std::vector<PooledFeature>& features)
    : query_(MakeTower(ctx, config, "query", config.query, features)),
      candidate_(MakeTower(ctx, config, "candidate", config.candidate, features)),
      temperature_(config.temperature),
      normalize_(config.normalize) {
  CheckAreTaken(config, features);
}

Variable TowerNet::Embed(Context& ctx, const Tower& tower, const Variable& pooled) const {
  std::vector<Variable> parts;
  for (const Block& block : tower.blocks)
    parts.push_back(Narrow(ctx, pooled, 1, block.begin, block.size));
  const Variable rows =
      tower.mlp.Forward(ctx, parts.size() == 1 ? parts[0] : Concat(ctx, parts, 1));
  return normalize_ ? NormalizeRows(ctx, rows) : rows;
}

Variable TowerNet::Forward(Context& ctx, const Variable&, const Variable& pooled) const {
  Variable query = Embed(ctx, query_, pooled);
  if (temperature_ != 1) query = Scale(ctx, query, 1 / temperature_);
  return Concat(ctx, {query, Embed(ctx, candidate_, pooled)}, 1);
}

void TowerNet::AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  query_.mlp.AppendParameters(prefix + "query_proj.", out);
  candidate_.mlp.AppendParameters(prefix + "candidate_proj.", out);
}

TowerEmbeddings SplitTowers(Context& ctx, const Variable& outputs) {
  const int64_t size = outputs.dim(1) / 2;
  return {Narrow(ctx, outputs, 1, 0, size), Narrow(ctx, outputs, 1, size, size)};
}

TowerEmbeddings WithSamplingCorrection(Context& ctx, const TowerEmbeddings& towers,
                                       const Tensor& log_q) {
  const int64_t rows = towers.query.dim(0);
  TESSERA_CHECK_EQ(log_q.shape(), Shape{rows}, "sampling correction of two towers");
  const Variable shift = Scale(ctx, Variable(log_q.Reshape({rows, 1})), -1);
  const Variable ones(Tensor::Full(ctx, {rows, 1}, 1));
  return {Concat(ctx, {towers.query, ones}, 1), Concat(ctx, {towers.candidate, shift}, 1)};
}

}  // namespace tessera
