#ifndef TESSERA_METRICS_RETRIEVAL_METER_H_
#define TESSERA_METRICS_RETRIEVAL_METER_H_
// How well scores of a whole catalogue find one candidate for each example. With p candidates that
// score higher than the own one:
//
//   recall@k   1 if p < k, else 0
//   NDCG@k     1/log2(p + 2) if p < k, else 0
//   MRR@k      1/(p + 1) if p < k, else 0
//
// Candidates of equal scores come in any order: an example counts the mean over all of them, so
// that a model that scores everything alike finds no more than chance does.
#include <cstdint>
#include <span>

namespace tessera {

struct RetrievalValues {
  int64_t examples = 0;
  double recall = 0, ndcg = 0, mrr = 0;  // weighted means over the examples; NaN without any
};

class RetrievalMeter {
 public:
  // REQUIRES: k > 0.
  explicit RetrievalMeter(int64_t k) : k_(k) {}

  // Adds an example: a score for each candidate, the candidate that is its own, and others that are
  // left out; `own` among them stays. A score that is NaN is higher than any other, and an own one
  // lower. REQUIRES: own and without are candidates; `without` names each once.
  void Add(std::span<const float> scores, int64_t own, std::span<const int64_t> without,
           double weight = 1);
  RetrievalValues Values() const;

 private:
  int64_t k_, examples_ = 0;
  double weights_ = 0, recall_ = 0, ndcg_ = 0, mrr_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_METRICS_RETRIEVAL_METER_H_
