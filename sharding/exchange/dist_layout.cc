#include "sharding/exchange/dist_layout.h"

#include <algorithm>

#include "runtime/base/check.h"
#include "runtime/base/joined.h"

namespace tessera {
namespace {

int StreamOf(DistRank& rank, const DistStream& stream) {
  const auto found = std::find(rank.streams.begin(), rank.streams.end(), stream);
  if (found != rank.streams.end()) return static_cast<int>(found - rank.streams.begin());
  rank.streams.push_back(stream);
  return static_cast<int>(rank.streams.size()) - 1;
}

void AddShard(DistRank& rank, int table, const Shard& shard, int64_t rows,
              const std::vector<EmbeddingFeature>& features) {
  rank.tables.push_back({table, shard});
  for (size_t f = 0; f < features.size(); ++f) {
    if (features[f].table != table) continue;
    const int feature = static_cast<int>(f);
    const int stream = StreamOf(
        rank, {feature, shard.row_offset, shard.row_offset + shard.rows, shard.rows == rows});
    rank.blocks.push_back({feature, stream, static_cast<int>(rank.tables.size()) - 1,
                           shard.column_offset, shard.columns});
  }
}

// Finds the blocks of rows, and sets each stream's block.
std::vector<DistSplit> SplitsOf(std::vector<DistRank>& ranks, size_t features) {
  std::vector<DistSplit> of_feature(features);
  for (const DistRank& rank : ranks)
    for (const DistStream& s : rank.streams) {
      if (s.whole) continue;
      DistSplit& split = of_feature[static_cast<size_t>(s.feature)];
      split.rows.push_back(s.row_begin);
      split.end = std::max(split.end, s.row_end);
    }
  std::vector<DistSplit> splits;
  std::vector<int> split_of_feature(features, -1);
  for (size_t f = 0; f < features; ++f) {
    std::vector<int64_t>& rows = of_feature[f].rows;
    if (rows.empty()) continue;
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    of_feature[f].feature = static_cast<int>(f);
    split_of_feature[f] = static_cast<int>(splits.size());
    splits.push_back(std::move(of_feature[f]));
  }
  for (DistRank& rank : ranks)
    for (DistStream& s : rank.streams) {
      if (s.whole) continue;
      s.split = split_of_feature[static_cast<size_t>(s.feature)];
      const std::vector<int64_t>& rows = splits[static_cast<size_t>(s.split)].rows;
      s.block =
          static_cast<int>(std::lower_bound(rows.begin(), rows.end(), s.row_begin) - rows.begin());
    }
  return splits;
}

std::string TextOf(const std::vector<BaseEmbeddingConfig>& tables) {
  return internal::JoinedFirst(tables, 4,
                               [](const BaseEmbeddingConfig& table) { return table.name; });
}

}  // namespace

DistLayout::DistLayout(const std::vector<BaseEmbeddingConfig>& tables,
                       const std::vector<EmbeddingFeature>& features, const ShardingPlan& plan,
                       const std::vector<int64_t>& num_parts)
    : ranks(static_cast<size_t>(plan.world_size)), tables_text(TextOf(tables)) {
  TESSERA_CHECK(num_parts.empty() || num_parts.size() == tables.size(),
                "parts by hash of {} tables, of which there are {}", num_parts.size(),
                tables.size());
  for (size_t t = 0; t < tables.size(); ++t) {
    const TableSharding& sharding = plan.tables.at(tables[t].name);
    const int64_t rows = tables[t].num_embeddings;
    replicated.push_back(sharding.type == ShardingType::kDataParallel);
    parts.push_back(num_parts.empty() || num_parts[t] == 0
                        ? HashParts()
                        : MakeHashParts({tables[t].name, rows, tables[t].embedding_dim}, sharding,
                                        num_parts[t]));
    row_split.push_back(std::any_of(sharding.shards.begin(), sharding.shards.end(),
                                    [&](const Shard& s) { return s.rows != rows; }));
    if (replicated.back()) continue;
    for (const Shard& shard : sharding.shards)
      if (shard.rows > 0)
        AddShard(ranks[static_cast<size_t>(shard.rank)], static_cast<int>(t), shard, rows,
                 features);
  }
  splits = SplitsOf(ranks, features.size());
  for (DistSplit& split : splits)
    split.parts = parts[static_cast<size_t>(features[static_cast<size_t>(split.feature)].table)];
}

}  // namespace tessera
