#include "metrics/retrieval_meter.h"

#include <algorithm>
#include <cmath>

#include "metrics/state/log2.h"

namespace tessera {

void RetrievalMeter::Add(std::span<const float> scores, int64_t own,
                         std::span<const int64_t> without, double weight) {
  const float mine = scores[static_cast<size_t>(own)];
  int64_t higher = 0, equal = -1;  // the own one is equal
  const auto count = [&](float score, int64_t times) {
    higher += score <= mine ? 0 : times;
    equal += score == mine ? times : 0;
  };
  for (const float score : scores) count(score, 1);
  for (const int64_t other : without)
    if (other != own) count(scores[static_cast<size_t>(other)], -1);
  if (std::isnan(mine)) equal = 0;

  ++examples_;
  weights_ += weight;
  // The places among the first k, of the equal + 1 that the own candidate may have.
  const int64_t end = std::min(k_, higher + equal + 1);
  const double places = static_cast<double>(equal + 1);
  double ndcg = 0, mrr = 0;
  for (int64_t place = higher; place < end; ++place) {
    ndcg += 1 / Log2Of(static_cast<double>(place) + 2);
    mrr += 1 / (static_cast<double>(place) + 1);
  }
  recall_ += weight * static_cast<double>(std::max<int64_t>(end - higher, 0)) / places;
  ndcg_ += weight * ndcg / places;
  mrr_ += weight * mrr / places;
}

RetrievalValues RetrievalMeter::Values() const {
  return {examples_, recall_ / weights_, ndcg_ / weights_, mrr_ / weights_};
}

}  // namespace tessera
