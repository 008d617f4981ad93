#include "tests/crossings/tables_refusals.h"

#include "tests/crossings/reasons.h"

namespace tessera::testing {

const std::vector<Refusal>& TablesRefusals() {
  static const std::vector<Refusal> refusals = {
      {"rule", "global_decay_rowwise_adagrad", "pooling", "NONE",
       "only pooled tables decay globally",
       "The rule scales the weight of each id in a bag; sequences have none (as in FBGEMM)."},
      {"rule", "global_decay_rowwise_adagrad", "keys", "shared", "reads its key a alone",
       kOneKeyReason},
      {"rule", "emainplace_rowwise_adagrad", "sharding", kColumnBlocks,
       "its rule emainplace_rowwise_adagrad needs whole rows", kHalvesReason},
      {"rule", kActFirst, "pipeline", "semi_sync", "changes rows before they are looked up",
       kActFirstReason},
      {"location", "MANAGED_CACHING|DISK", "pipeline", "semi_sync",
       "its rows pass through a cache, which holds those of one training batch at a time",
       kCacheReason},
      {"batch", "learned_weights", "pipeline", "sparse_dist|prefetch|semi_sync",
       "weights that need a gradient",
       "Ids and weights travel on another thread, which records nothing; the gradient would not "
       "find its "
       "way back."},
      {"keys", "shared", "ids", "growing|mch|hash_zch|itep",
       "its ids can become the rows of one only",
       "A feature's raw ids are replaced by rows of one table; another table would read them as "
       "its own."},
      {"start", "init_fn", "location", "DISK", "an init_fn fills a whole table in memory",
       "A row on disk is made when it is first read, a function fills all rows at once."},
      {"location", "MANAGED_CACHING|DISK", "ids", "growing", "it grows, so its location cannot be",
       "A growing table's rows come into use in reserved memory; the cache's sets are made for a "
       "fixed "
       "number of rows. (mch and hash_zch go with caches.)"},
      {"ids", "growing", "remap", "array|hash", "it grows, so it cannot be pruned",
       "A remap names rows by their numbers, a growing table gives them to ids as these come."},
      {"ids", "mch|hash_zch|itep", "remap", "array|hash", "is pruned",
       "Two replacements of the same ids by rows: the second would take rows for ids."},
      {"ids", kRawIds, "sharding", "data_parallel|column_wise|table_column_wise|grid_shard",
       "its raw ids become rows on one rank each: expected row_wise, table_row_wise or table_wise",
       kOneRankReason},
      {"ids", "growing|mch|hash_zch|itep", "pipeline", "semi_sync", "inside the step",
       kInsideReason},
      {"accumulation", "3", "ids", "growing|mch|hash_zch|itep",
       "beside several forwards of one step", kOneBatchReason},
      {"accumulation", "3", "pipeline", "semi_sync", "forwards of one step beside forwards that",
       "The pipeline looks the next batch up before the update of this one, so micro-batches of "
       "one "
       "step would read rows of different steps."},
      {"accumulation", "3", "dedup", "rank|node", "dedup_ids beside several forwards of one step",
       "A row's gradients are summed before they travel, in each micro-batch alone: another order "
       "of sums than that of one batch.",
       "sharding=row_wise pooling=NONE"},
      {"dedup", "rank|node", "pooling", "SUM|MEAN",
       "dedup_ids is for sequences; the tables are pooled",
       "A rank sends sums of bags, not rows; TorchRec's use_index_dedup is for sequences, too.",
       "sharding=row_wise"}};
  return refusals;
}

}  // namespace tessera::testing
