#ifndef TESSERA_SHARDING_PART_INIT_H_
#define TESSERA_SHARDING_PART_INIT_H_
// The configuration and the first values of a part of a table: the part starts as that part of the
// whole table would. Every rank takes a table's random numbers, also for tables of which it holds
// nothing: generators then stay alike on all ranks, and a plan changes no first value.
#include <functional>
#include <memory>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "runtime/tensor.h"
#include "sharding/plan/plan.h"

namespace tessera::internal {

struct PartInit {
  // Fills the rows of a new shard.
  std::function<void(Context&, const Tensor& rows, const Shard&)> fill;
  // Rows are made when they are first read: on disk, or in memory that those of a growing table
  // take as they come into use.
  bool when_read = false;
  uint64_t sequence = 0;
};

// Whole tables that a user's init_fn filled and parts are copied from; the destructor frees them.
struct WholeTables {
  std::vector<std::shared_ptr<Tensor>> tables;
  ~WholeTables() {
    for (const auto& table : tables) *table = {};
  }
};

// Takes the table's random numbers. `needed`: whether this rank holds a part. An init_fn fills the
// whole table now, which `wholes` keeps if it is needed; of a table on disk it is an Error.
PartInit MakePartInit(Context& ctx, const BaseEmbeddingConfig& table, bool needed,
                      WholeTables& wholes);

// Returns the configuration of a table that is the shard alone. Its ids are checked and remapped
// already.
BaseEmbeddingConfig PartConfig(BaseEmbeddingConfig table, const Shard& shard, const PartInit& init);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_PART_INIT_H_
