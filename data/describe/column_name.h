#ifndef TESSERA_DATA_DESCRIBE_COLUMN_NAME_H_
#define TESSERA_DATA_DESCRIBE_COLUMN_NAME_H_
// Tells what the name of a column says of its values, in any spelling of its words.
#include <string>

namespace tessera::internal {

// "label", "Clicked", "rating".
bool IsLabelName(const std::string& name);
// "user_id", "userId", "itemID", "id", "zip", …: a number that names something.
bool IsIdName(const std::string& name);
// "timestamp", "eventTime", "ts"; not "watch_time", which may be a duration.
bool IsTimeName(const std::string& name);
// Whether a word of the name is one of times: "created_at", "Date of sale", "watch_time".
bool HasTimeWord(const std::string& name);

}  // namespace tessera::internal
#endif  // TESSERA_DATA_DESCRIBE_COLUMN_NAME_H_
