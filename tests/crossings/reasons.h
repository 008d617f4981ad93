#ifndef TESSERA_TESTS_CROSSINGS_REASONS_H_
#define TESSERA_TESTS_CROSSINGS_REASONS_H_
// Values of axes that refusals of tables and of trainings share, and their reasons.

namespace tessera::testing {

inline constexpr char kColumnBlocks[] = "column_wise|table_column_wise|grid_shard|mixed";
inline constexpr char kRawIds[] = "growing|mch|hash_zch";
// Rules that do something when a forward begins.
inline constexpr char kActFirst[] =
    "counter_rowwise_adagrad|counter_rowwise_adagrad_2|counter_rowwise_adagrad_3|"
    "global_decay_rowwise_adagrad|ensemble_rowwise_adagrad|emainplace_rowwise_adagrad";

inline constexpr char kHalvesReason[] =
    "The rule adds a row's halves to each other, which lie in other blocks of columns.";
inline constexpr char kOneKeyReason[] =
    "The rule scales the weights of a key's ids by what one table owes; two readers of the key "
    "would "
    "each need weights of their own.";
inline constexpr char kActFirstReason[] =
    "The rule changes rows when a forward begins, the pipeline looks the next batch up before the "
    "update of this one: neither order is the rule's.";
inline constexpr char kCacheReason[] =
    "A cache has room for the rows of one batch that awaits its update.";
inline constexpr char kOneRankReason[] =
    "An id becomes a row where its row lies; blocks of columns and replicas lie on several ranks.";
inline constexpr char kOneBatchReason[] =
    "Ids are counted and rows change hands in each forward; of one batch they would only once.";
inline constexpr char kInsideReason[] =
    "Rows change hands between the update of one batch and the lookup of the next, which the "
    "pipeline "
    "would make before that update.";

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_REASONS_H_
