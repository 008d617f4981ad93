#ifndef TESSERA_DATA_ROWS_UNKNOWN_ITEMS_H_
#define TESSERA_DATA_ROWS_UNKNOWN_ITEMS_H_
// Counts, by feature, the items that were read and those without an id of their own: words outside
// a vocabulary, whose id is 0, and whole numbers that are no row of their table, which are taken
// modulo its rows: of a user's own text, npz days, folders of parsed text and ratings. Ids that are
// hashes (hexadecimal, text) have no such items, and neither have boundaries, which take every
// number, nor raw ids. Any thread may use it.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/data_source.h"
#include "data/rows/row_block.h"
#include "data/rows/row_rules.h"

namespace tessera {

struct FeatureItems {
  std::string feature;
  bool words = false;  // of a vocabulary; else whole numbers
  int64_t rows = 0;    // of the table
  ItemCount count = {};
};

class UnknownItems {
 public:
  // Adds the items of a block that was read by these rules, the same ones in each call.
  void Add(const RowRules& rules, const RowBlock& block);
  // Adds the items of a batch of these features, the same ones in each call, which are numbers.
  void Add(const std::vector<CategoricalFeature>& features, const std::vector<ItemCount>& items);
  // Adds what another one has counted of the same features.
  void Add(const std::vector<FeatureItems>& counted);
  std::vector<FeatureItems> All() const;
  // The features that have unknown items, those of the largest share first.
  std::vector<FeatureItems> WithUnknown() const;

 private:
  void AddCounts(const std::vector<ItemCount>& items);  // with the mutex

  mutable std::mutex mutex_;
  std::vector<FeatureItems> features_;  // guarded by mutex_
};

// Hands on the batches of a table, whose keys are the features, and adds their items to `unknown`.
std::unique_ptr<DataSource> CountedItems(std::unique_ptr<DataSource> source,
                                         std::vector<CategoricalFeature> features,
                                         std::shared_ptr<UnknownItems> unknown);

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_UNKNOWN_ITEMS_H_
