#ifndef TESSERA_SHARDING_EXCHANGE_DIST_LAYOUT_H_
#define TESSERA_SHARDING_EXCHANGE_DIST_LAYOUT_H_
// The layout that a plan gives a collection: which parts of tables each rank holds, which ids
// travel to it, and which columns come back. Plain data, the same on every rank.
//
// Every type of sharding is one thing here, a table cut into rectangles. The ids of a feature that
// name rows of a rectangle are a *stream* to its rank; rectangles of one rank with the same rows
// share it. What a rank returns for a stream is a *block* of columns a rectangle: partial sums (or
// rows) that the ranks where the bags came from add up in the order of the rows.
//
//   rank's tables     table by table, in the order of the plan's shards
//   rank's streams    in the order of the tables that read them, then of the table's features
//   rank's blocks     table by table, feature by feature
//
// Tables under data_parallel are not part of it.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "sharding/plan/hash_parts.h"
#include "sharding/plan/plan.h"

namespace tessera {

// Shapes of the tables of configurations.
template <typename Config>
std::vector<TableShape> ShapesOf(const std::vector<Config>& tables) {
  std::vector<TableShape> shapes;
  for (const Config& t : tables) shapes.push_back({t.name, t.num_embeddings, t.embedding_dim});
  return shapes;
}

// Ids of `feature` in rows [row_begin, row_end) of its table, less row_begin; where the table is in
// parts by hash, ids of the parts that have these rows, as they are.
struct DistStream {
  int feature = 0;
  int64_t row_begin = 0, row_end = 0;
  bool whole = true;          // all rows of the table: ids travel as they are
  int split = -1, block = 0;  // else: which of the layout's splits, and block of it

  friend bool operator==(const DistStream&, const DistStream&) = default;
};

// Blocks of rows into which shards cut a feature's table: block i begins at row rows[i].
struct DistSplit {
  int feature = 0;
  std::vector<int64_t> rows;
  int64_t end = 0;  // of the last
  HashParts parts = {};
};

// Columns [column, column + columns) of a feature's embedding, from the rows of a stream.
struct DistBlock {
  int feature = 0;
  int stream = 0;  // of the rank
  int table = 0;   // of the rank
  int64_t column = 0, columns = 0;
};

// A rectangle with rows in it.
struct DistTable {
  int table = 0;  // of the collection
  Shard shard;
};

struct DistRank {
  std::vector<DistTable> tables;
  std::vector<DistStream> streams;
  std::vector<DistBlock> blocks;
};

struct DistLayout {
  // num_parts: of each table (hash_parts.h), or none at all. REQUIRES: the plan passed CheckPlan.
  // Throws Error for parts that do not fit table or plan.
  DistLayout(const std::vector<BaseEmbeddingConfig>& tables,
             const std::vector<EmbeddingFeature>& features, const ShardingPlan& plan,
             const std::vector<int64_t>& num_parts = {});

  std::vector<DistRank> ranks;
  // Ranks of a node whose rows return to the bags together (node_routes.h); 1: each by itself.
  int local_size = 1;
  std::vector<bool> replicated;  // of each table: data_parallel
  std::vector<bool> row_split;   // of each table: rows on several shards
  std::vector<HashParts> parts;  // of each table
  bool HasParts(int table) const { return parts[static_cast<size_t>(table)].num_parts > 0; }
  bool AnyParts() const {
    return std::any_of(parts.begin(), parts.end(),
                       [](const HashParts& p) { return p.num_parts > 0; });
  }
  std::vector<DistSplit> splits;  // of features whose rows are split
  // "t0, t1 and 3 more": what an exchange is for, in messages.
  std::string tables_text;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_DIST_LAYOUT_H_
