// The executor for one rule: BUILD compiles this file for each rule (TESSERA_RULE in
// TESSERA_RULE_FILE) and instruction set.
#include "embedding/update/rule_file.h"
#include "embedding/update/update_executor.h"
#include "embedding/update/update_isa.h"

namespace tessera::internal::TESSERA_ISA {

template <typename Step>
void UpdateRows(const Step& step, const RowUpdateArgs& a) {
  Update(step, a);
}
template void UpdateRows(const TESSERA_RULE::Step&, const RowUpdateArgs&);

}  // namespace tessera::internal::TESSERA_ISA
