#ifndef TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_INFO_JSON_H_
#define TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_INFO_JSON_H_
// The part that documents about checkpoints of ranks share: the plan, the tables, their types and
// states, as JSON.
//
// For .cc files: public headers include no JSON.
#include <map>
#include <string>

#include "runtime/json/json_fields.h"
#include "sharding/checkpoint/checkpoint_index.h"

namespace tessera::internal {

// fn(key, value, place) for every member of the object `key`.
template <typename Fn>
void ForEachMember(JsonObject& object, const char* key, Fn&& fn) {
  const Json& members = object.Require(key);
  if (!members.is_object()) ThrowExpected(object.at(key), "an object {…}", members);
  for (const auto& [name, value] : members.items())
    fn(name, value, Format("{}.{}", object.at(key), name));
}

std::map<std::string, std::string> StringsAt(JsonObject& object, const char* key);
DType DTypeAt(JsonObject& object);

// "plan", "tables" and "metadata". Reading throws Error for what does not fit.
void AddInfo(const CheckpointInfo& info, Json& json);
void ReadInfo(JsonObject& object, CheckpointInfo& info);

// "dtype" and "states" of a table.
Json TypesJson(const StoredTable& table);
void ReadTypes(JsonObject& object, StoredTable& table);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_INFO_JSON_H_
