#ifndef TESSERA_DATA_ROWS_CRITEO_BATCHES_H_
#define TESSERA_DATA_ROWS_CRITEO_BATCHES_H_
// Rows and batches of Criteo text, in an order, of one part of a split, of one rank.
#include <memory>
#include <vector>

#include "data/batch_builder.h"
#include "data/click_row_stream.h"
#include "data/data_source.h"
#include "data/files/criteo_stream.h"
#include "data/rows/text_row_source.h"
#include "data/split/row_split.h"

namespace tessera {

struct CriteoRows {
  CriteoFiles files;
  std::shared_ptr<const RowFilter> filter;  // null: all rows
  std::vector<CategoricalFeature> features;
  MissingIds missing;
};

// The rows of the range from row `from` on, as they lie.
std::unique_ptr<ClickRowStream> OpenClicks(const CriteoRows& rows, RowRange range,
                                           int64_t from = 0);

// REQUIRES: one rank, or neither bad lines that are left out nor a filter.
std::unique_ptr<DataSource> OpenCriteoBatches(const CriteoRows& rows,
                                              const TextRowSourceOptions& options);

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_CRITEO_BATCHES_H_
