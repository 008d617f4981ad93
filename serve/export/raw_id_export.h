#ifndef TESSERA_SERVE_EXPORT_RAW_ID_EXPORT_H_
#define TESSERA_SERVE_EXPORT_RAW_ID_EXPORT_H_
// Raw ids of a table in a checkpoint, as a served model needs them; no module is made.
#include <string>
#include <string_view>
#include <vector>

#include "embedding/lookup/index_remap.h"
#include "embedding/managed_collision/managed_collision_config.h"
#include "runtime/context.h"
#include "serve/model_spec.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::serve {

struct RawIdExport {
  RawIdRule rule;
  std::vector<RemapEntry> ids;  // that have a row of their own, ascending
};

// The prefix of the state of a table's managed collision: "….embedding_bags.t_cat_0.".
std::string IdPrefix(const std::string& table);

// Exports the raw ids of a table that has table_rows rows in the configuration. `prefix` begins the
// names of its tensors. Throws Error, naming the file, for state that is missing or makes no sense.
RawIdExport ExportRawIds(Context& ctx, const Checkpoint& checkpoint, const std::string& prefix,
                         const ManagedTableConfig& config, int64_t table_rows);

// How many of its rows ids may read, the first ones: all, but of a growing table those in use.
int64_t RowsInUse(const Checkpoint& checkpoint, const std::string& prefix,
                  const ManagedTableConfig& config, int64_t table_rows);

// The entry of that name. Throws Error, naming the file, if there is none.
const CheckpointEntry& FindEntry(const Checkpoint& checkpoint, std::string_view name);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_RAW_ID_EXPORT_H_
