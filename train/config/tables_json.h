#ifndef TESSERA_TRAIN_CONFIG_TABLES_JSON_H_
#define TESSERA_TRAIN_CONFIG_TABLES_JSON_H_
// The tables of a configuration as JSON (train_config.h shows it).
#include "runtime/json/json_object.h"
#include "train/config/train_config.h"

namespace tessera::internal {

// Reads "tables" and "managed_collision" of the document. Tables without an optimizer of their own
// get config.sparse_optimizer. Adds to the document's problems, or throws Error where there is no
// list of tables. REQUIRES: the document keeps its problems.
void ReadTables(JsonObject& document, TrainConfig& config);

Json TableToJson(const EmbeddingBagConfig& table, const ManagedTableConfigs& managed);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_TABLES_JSON_H_
