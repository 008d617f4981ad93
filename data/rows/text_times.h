#ifndef TESSERA_DATA_ROWS_TEXT_TIMES_H_
#define TESSERA_DATA_ROWS_TEXT_TIMES_H_
// The times of the rows of text, of which no other column is parsed.
#include "data/rows/text_row_reader.h"
#include "data/schema/data_schema.h"
#include "data/split/last_time.h"

namespace tessera {

// Reads the times of all rows, in their order. Throws Error as TextRowReader does. REQUIRES: text,
// whose schema names the column of the time.
LastTime TimesOf(const DataSchema& schema, const RowFiles& files);

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_TEXT_TIMES_H_
