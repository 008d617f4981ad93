#ifndef TESSERA_DATA_DESCRIBE_DATE_TEXT_H_
#define TESSERA_DATA_DESCRIBE_DATE_TEXT_H_
// Dates as people write them, which no schema reads.
#include <string_view>

namespace tessera::internal {

// Whether the text begins with a date of digits: 2024-01-31, 2024/1/31, 31.01.2024, 1/31/2024.
bool BeginsWithDate(std::string_view text);

}  // namespace tessera::internal
#endif  // TESSERA_DATA_DESCRIBE_DATE_TEXT_H_
