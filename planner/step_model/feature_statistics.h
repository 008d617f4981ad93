#ifndef TESSERA_PLANNER_STEP_MODEL_FEATURE_STATISTICS_H_
#define TESSERA_PLANNER_STEP_MODEL_FEATURE_STATISTICS_H_
// Statistics of features, from batches of data: pooling factors, distinct ids, and how popular
// which rows are.
//
// Rows that the sample named alike become one group. Rare ones are named less often than the sample
// says, and rows that it has not met are named, too: by Good and Turing, c times become
// (c + 1)·n(c + 1) / n(c), and the rows not met have as many ids as came once.
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "planner/step_model/row_popularity.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

struct FeatureStatistics {
  int64_t bags = 0, ids = 0, distinct = 0;  // of the sample
  double hottest_share = 0;                 // of ids that name the most popular row
  RowPopularity popularity = {};

  double pooling_factor() const {
    return bags > 0 ? static_cast<double>(ids) / static_cast<double>(bags) : 0;
  }
  double distinct_share() const {
    return ids > 0 ? static_cast<double>(distinct) / static_cast<double>(ids) : 0;
  }
};

// Counts ids, a number for each distinct one.
class FeatureCounter {
 public:
  // All keys of a batch, of i32 or i64. Waits for a device.
  void Add(Context& ctx, const KeyedJaggedTensor& batch);
  // Returns the statistics of a feature that reads a table of `rows` rows; ids out of range are
  // left out. Throws Error for a key that no batch had, listing those there were.
  FeatureStatistics Of(const std::string& key, int64_t rows) const;

 private:
  struct Counts {
    int64_t bags = 0;
    std::unordered_map<int64_t, int64_t> of_id;
  };
  std::map<std::string, Counts> keys_;
};

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_FEATURE_STATISTICS_H_
