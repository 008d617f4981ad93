#ifndef TESSERA_SHARDING_EXCHANGE_DEDUP_H_
#define TESSERA_SHARDING_EXCHANGE_DEDUP_H_
// Each id of a table once a batch, instead of as often as features name it: fewer ids travel, and
// fewer rows come back. For sequences, whose rows belong to ids.
//
//   features a, b of table 0    [7 3 7] [3 9]   ->   ids of key "0": 3 7 9
//   rows that come back         r3 r7 r9        ->   a: r7 r3 r7   b: r3 r9
//
// Gradients of one row are summed at home, in the order of the features' ids, before they travel.
// (node/node_dedup.h does the same once more for the ranks of a node.)
#include <memory>
#include <string>
#include <vector>

#include "runtime/autograd.h"
#include "sharding/exchange/input_dist.h"

namespace tessera {

// How often an id of a table travels, and its row comes back.
enum class IdDedup {
  kNone,  // as often as the batch has it
  kRank,  // once a batch and rank
  kNode   // once a batch and node of ranks; in one node, or nodes of one rank: as kRank
};
std::string ToString(IdDedup dedup);  // "none", "rank", "node"
// The inverse. Throws Error, which lists the names, for anything else.
IdDedup ParseIdDedup(const std::string& name);

// One batch.
struct DedupedIds {
  KeyedJaggedTensor kjt;              // key "t": the distinct ids of table t, ascending
  std::vector<DistFeature> features;  // one a table: what reads them
  // For each table, i64 [1, ids]: the places of its features' ids, joined, among the distinct ones.
  std::vector<Tensor> places;
  struct Reader {
    int table;
    int64_t begin, end;  // in the table's places
  };
  std::vector<Reader> readers;  // of each feature that was given
};

// tables[f]: which table feature f reads, of num_tables. Waits for a device: counts have to be
// known. REQUIRES: features' ids are all i32 or all i64.
DedupedIds DedupIds(Context& ctx, const std::vector<DistFeature>& features,
                    const std::vector<int>& tables, size_t num_tables);

struct SpreadOptions {
  DType output_type = DType::kF32;
  float max_gradient = 0;  // above 0: incoming gradients are clamped to ± this
};
// rows: of each table's distinct ids, [U, D] f32. Returns [N, D] for each feature.
std::vector<Variable> SpreadRows(Context& ctx, std::shared_ptr<const DedupedIds> ids,
                                 std::vector<Variable> rows, const SpreadOptions& options);

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_DEDUP_H_
