#ifndef TESSERA_TRAIN_CATALOGUE_H_
#define TESSERA_TRAIN_CATALOGUE_H_
// All candidates of a two-tower model, embedded once: each id of the tables that the candidate's
// feature reads. A batch of queries is scored against all of them by one product.
#include <cstdint>
#include <string>
#include <vector>

#include "data/data_source.h"
#include "runtime/tensor.h"
#include "train/config/train_config.h"
#include "train/trainer.h"

namespace tessera {

// The feature whose ids are the candidates, and what a query says of them.
struct CatalogueFeatures {
  std::string candidate;
  int64_t items = 0;                 // rows of its tables
  std::vector<std::string> history;  // features of the query that are in one of these tables
};
// Throws Error for a model that has no such catalogue: one that is no two_tower, has several
// features of candidates, or takes raw ids as candidates.
CatalogueFeatures CatalogueFeaturesOf(const TrainConfig& config);

class Catalogue {
 public:
  // Embeds the candidates. REQUIRES: a trainer without ranks, as long as this is used, and that no
  // step is made. Throws Error as CatalogueFeaturesOf.
  explicit Catalogue(Trainer& trainer);
  int64_t size() const { return candidates_.dim(0); }
  // [B, size()]: the dot products of each query with all candidates.
  Tensor Scores(const Batch& batch);

 private:
  Trainer& trainer_;
  Tensor candidates_;  // [items, E]
};

}  // namespace tessera
#endif  // TESSERA_TRAIN_CATALOGUE_H_
