#ifndef TESSERA_DATA_ROWS_REQUEST_SCHEMA_H_
#define TESSERA_DATA_ROWS_REQUEST_SCHEMA_H_
// Schemas of rows that come alone, one JSON object each, to be answered by a model.
#include <cstdint>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/schema/data_schema.h"

namespace tessera {

// The cells of formats whose files have one value in each: none is a list, and those of these
// columns are integers of at most 18 digits.
struct OneValueCells {
  std::vector<std::string> integers = {};
};

// Those of the format "criteo".
OneValueCells CriteoCells();

// The schema by which tsv files read as the format "criteo" reads them: label, int_0 to int_12 and
// cat_0 to cat_25, of which `features` are read. Tensors are the same.
DataSchema CriteoSchema(MissingIds missing, const std::vector<std::string>& features);

// The features of ratings, "userId" and "movieId".
DataSchema RatingsSchema(const std::vector<std::string>& features);

// A schema of files without what a request has not: labels, weight and time. Objects have the
// columns as keys. Rows of npz bring `dense_in` numbers under "dense", if any.
DataSchema RequestSchema(DataSchema schema, int64_t dense_in);

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_REQUEST_SCHEMA_H_
