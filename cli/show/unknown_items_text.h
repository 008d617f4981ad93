#ifndef TESSERA_CLI_SHOW_UNKNOWN_ITEMS_TEXT_H_
#define TESSERA_CLI_SHOW_UNKNOWN_ITEMS_TEXT_H_
// Says how many items of the rows that were read have no id of their own.
#include <string>

#include "data/rows/unknown_items.h"
#include "runtime/json/json_object.h"

namespace tessera::cli {

// "items without an id of their own, in WHERE: shelf 12 % (outside its vocabulary: id 0), item
// < 1 % (beyond the 100 rows of its table: modulo)", a line; "" where there are none, or nobody
// counted. Of many features those of the largest shares.
std::string UnknownItemsText(const UnknownItems* items, const std::string& where);

// Adds under the key {"shelf": {"items": 4000, "unknown": 480}, …}, the features that have unknown
// items; nothing where there are none.
void AddUnknownItems(const UnknownItems* items, const char* key, internal::Json& json);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_UNKNOWN_ITEMS_TEXT_H_
