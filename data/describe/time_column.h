#ifndef TESSERA_DATA_DESCRIBE_TIME_COLUMN_H_
#define TESSERA_DATA_DESCRIBE_TIME_COLUMN_H_
// Tells the column of the rows' time, by its name and by values that count seconds, milliseconds or
// microseconds since 1970.
#include <string>

#include "data/describe/column_profile.h"

namespace tessera::internal {

// How likely a column is the time, by rising likelihood: values alone, which rise from row to row;
// values and a word of the name; the whole name.
enum class TimeLike { kNot, kByValues, kByValuesAndName, kByName };

// A column that no schema can read as time (whole numbers that no row lacks) is kNot.
TimeLike TimeLikeness(const ColumnProfile& column);

// How many of its numbers are a second, where they are times since 1970; 0 of other columns.
double TicksASecond(const ColumnProfile& column);

// The reason for people why a column that has times is no time of a schema; "" for other columns.
std::string WhyNoTime(const ColumnProfile& column);

}  // namespace tessera::internal
#endif  // TESSERA_DATA_DESCRIBE_TIME_COLUMN_H_
