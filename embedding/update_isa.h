#ifndef TESSERA_EMBEDDING_UPDATE_ISA_H_
#define TESSERA_EMBEDDING_UPDATE_ISA_H_
// Private to embedding/update*: what update_simd.cc gives for each instruction set and rule, and
// run_sum_simd.cc for each set.
#include "embedding/row_update.h"

namespace tessera::internal {

// Leaves the summed gradient in the row instead of changing it by a rule: makes dense and row
// gradients.
struct StoreGradient {
  struct Step {
    static constexpr bool kHasStatistic = false;
    static constexpr int kElementStates = 0, kRowStates = 0;
    struct Row {};
    TESSERA_HD Row BeginRow(float, int64_t, float*) const { return {}; }
    template <typename Real>
    TESSERA_HD void Update(const Row&, Real& w, Real g, Real*) const {
      w = g;
    }
  };
};

#define TESSERA_DECLARE_UPDATE_(isa)                         \
  namespace isa {                                            \
  template <typename Step>                                   \
  void UpdateRows(const Step& step, const RowUpdateArgs& a); \
  /* Sum of the occurrences [a.begin, a.end), one chunk. */  \
  void SumChunk(const RowUpdateArgs& a, float* sum);         \
  }
TESSERA_DECLARE_UPDATE_(baseline)
TESSERA_DECLARE_UPDATE_(avx2)
TESSERA_DECLARE_UPDATE_(avx512)
#undef TESSERA_DECLARE_UPDATE_

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_ISA_H_
