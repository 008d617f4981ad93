// The sum of one chunk of a hot row's occurrences, for rows that several threads share.
#include "embedding/update_executor.h"
#include "embedding/update_isa.h"

namespace tessera::internal::TESSERA_ISA {

void SumChunk(const RowUpdateArgs& a, float* sum) {
  if (a.wide_rows) {
    const RunSummer<uint64_t> sum_run(a);
    sum_run(a.begin, a.end, sum);
  } else {
    const RunSummer<uint32_t> sum_run(a);
    sum_run(a.begin, a.end, sum);
  }
}

}  // namespace tessera::internal::TESSERA_ISA
