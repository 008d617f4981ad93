#ifndef TESSERA_SERVE_ID_RANGES_H_
#define TESSERA_SERVE_ID_RANGES_H_
// Which ids a model's features may have: those from 0 to below the number of ids of their table,
// of the smallest where several tables read a feature. Raw ids may be any. Nothing in it changes.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "serve/model_spec.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera::serve {

// An id of a request that is out of range, and its example, from 0.
struct StrayId {
  std::string feature;
  int64_t example = 0, id = 0;
  int64_t num_ids = 0;  // that the feature has
};

struct StrayIds {
  std::vector<int64_t> counts;        // of each feature of the model
  std::optional<StrayId> first = {};  // of the first feature that has one
};

class IdRanges {
 public:
  explicit IdRanges(const ModelSpec& spec);

  const std::vector<std::string>& features() const { return features_; }
  // REQUIRES: all features are there, with ids i32 or i64, as ServedModel::Check says.
  StrayIds Find(const KeyedJaggedTensor& features) const;

 private:
  std::vector<std::string> features_;
  std::vector<uint64_t> num_ids_;  // of each; 0: any id
};

// Says what is out of range: "feature cat_0, row 2: expected an id from 0 to 59, got 77".
std::string ToString(const StrayId& stray);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_ID_RANGES_H_
