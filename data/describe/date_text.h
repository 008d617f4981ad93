#ifndef TESSERA_DATA_DESCRIBE_DATE_TEXT_H_
#define TESSERA_DATA_DESCRIBE_DATE_TEXT_H_
// Dates and times as people write them, which no schema reads.
#include <string_view>

namespace tessera::internal {

// Whether the text begins with a date of digits: 2024-01-31, 2024/1/31, 31.01.2024, 1/31/2024.
bool BeginsWithDate(std::string_view text);

// Whether the text is a time of day, as a clock shows it: 8:05, 08:05, 23:59:59.
bool IsTimeOfDay(std::string_view text);

}  // namespace tessera::internal
#endif  // TESSERA_DATA_DESCRIBE_DATE_TEXT_H_
