#ifndef TESSERA_DATA_SCHEMA_DATA_SCHEMA_JSON_H_
#define TESSERA_DATA_SCHEMA_DATA_SCHEMA_JSON_H_
// DataSchema as JSON (data_schema.h shows it).
#include <string>
#include <vector>

#include "data/schema/data_schema.h"
#include "runtime/json/json_object.h"

namespace tessera::internal {

// Reads all keys of a schema but "format", which the caller has read. Throws Error with the place,
// or adds to the object's problems.
DataSchema DataSchemaFromJson(JsonObject& object, RowFormat format);
// Every key that is not its default; ranges are spelled out, and so are the words of a vocabulary.
Json DataSchemaToJson(const DataSchema& schema);
// A list of one text is that text.
Json TextsToJson(const std::vector<std::string>& texts);
Json EntryToJson(const DenseEntry& entry);
Json EntryToJson(const FeatureEntry& entry);
Json EntryToJson(const LabelEntry& entry);

}  // namespace tessera::internal
#endif  // TESSERA_DATA_SCHEMA_DATA_SCHEMA_JSON_H_
