#ifndef TESSERA_DATA_SCHEMA_SCHEMA_MATCH_H_
#define TESSERA_DATA_SCHEMA_SCHEMA_MATCH_H_
// Whether rows that were read by one schema are those that another one asks for.
#include <string>
#include <vector>

#include "data/schema/data_schema.h"

namespace tessera {

// The rows that `written` made have all that `wanted` asks for, by equal entries; how the text is
// cut (format, columns, delimiter) may differ. `features`: those that tables read. Throws Error,
// naming the first entry and key that differ, after `where`.
void CheckSchemaMatches(const DataSchema& written, const DataSchema& wanted,
                        const std::vector<std::string>& features, const std::string& where);

}  // namespace tessera
#endif  // TESSERA_DATA_SCHEMA_SCHEMA_MATCH_H_
