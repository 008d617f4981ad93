#ifndef TESSERA_EMBEDDING_UPDATE_UPDATE_ISA_H_
#define TESSERA_EMBEDDING_UPDATE_UPDATE_ISA_H_
// The functions that update_simd.cc compiles for each instruction set and rule, and run_sum_simd.cc
// for each instruction set.
#include "embedding/update/row_update.h"
#include "runtime/base/isa.h"

namespace tessera::internal {

#define TESSERA_DECLARE_UPDATE_(isa)                         \
  namespace isa {                                            \
  template <typename Step>                                   \
  void UpdateRows(const Step& step, const RowUpdateArgs& a); \
  void SelectRunSum(const RowUpdateArgs& a, RunSum& sum);    \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_UPDATE_)
#undef TESSERA_DECLARE_UPDATE_

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_UPDATE_ISA_H_
