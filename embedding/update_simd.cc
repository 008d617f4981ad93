// The executor for one rule: BUILD compiles this file for each rule (TESSERA_RULE) and instruction
// set.
#include "embedding/update_executor.h"
#include "embedding/update_isa.h"
#include "optim/adagrad.h"
#include "optim/adam.h"
#include "optim/rowwise_adagrad.h"
#include "optim/sgd.h"

namespace tessera::internal::TESSERA_ISA {

template <typename Step>
void UpdateRows(const Step& step, const RowUpdateArgs& a) {
  Update(step, a);
}
template void UpdateRows(const TESSERA_RULE::Step&, const RowUpdateArgs&);

}  // namespace tessera::internal::TESSERA_ISA
