#ifndef TESSERA_EMBEDDING_UPDATE_STORE_GRADIENT_H_
#define TESSERA_EMBEDDING_UPDATE_STORE_GRADIENT_H_
// A rule that leaves the summed gradient in the row instead of changing it: makes dense and row
// gradients.
#include "optim/rules/rule.h"

namespace tessera::internal {

struct StoreGradient {
  struct Step {
    static constexpr int kStatistics = 0, kElementStates = 0, kRowStates = 0;
    static constexpr bool kIgnoresWeights = true;
    struct Row {};
    TESSERA_HD Row BeginRow(const float*, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, RowElement<Real>& x, Real*) const {
      x.w = x.g;
    }
  };
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_STORE_GRADIENT_H_
