#ifndef TESSERA_EMBEDDING_CUSTOM_RULE_CUH_
#define TESSERA_EMBEDDING_CUSTOM_RULE_CUH_
// embedding/custom_rule.h for GPUs: include this in a .cu file of yours, and give
// MakeCudaCustomRule(rule) as a table's optimizer. The same struct then runs on CPU and GPU, with
// the same bits. A Step's functions are marked for host and device, but the host alone calls them
// with Packs: nvcc warns of that (20014) unless it is given -diag-suppress=20014.
#include <memory>
#include <vector>

#include "embedding/custom_rule.h"
#include "embedding/update/update_rows.cuh"
#include "runtime/context.h"

namespace tessera {

template <typename Rule>
AnyRule MakeCudaCustomRule(const Rule& rule) {
  class Executor final : public internal::CustomExecutor<Rule> {
   public:
    using internal::CustomExecutor<Rule>::CustomExecutor;
    void UpdateOnCuda(Context& ctx, float lr, int64_t t,
                      const internal::CudaRows& rows) const override {
      using Step = typename Rule::Step;
      const std::vector<Step> steps(rows.group->tables.size(), this->StepOf(lr, t));
      if (!rows.step_of_launch) return internal::UpdateRowsOnCuda(ctx, rows, steps);
      internal::UpdateRowsOnCuda<Step>(ctx, rows, steps, [this, rules = rows.rules](int64_t now) {
        std::vector<Step> at;
        for (const AnyRule* rule : rules)
          at.push_back(this->StepOf(std::get<CustomRule>(*rule).lr, now));
        return at;
      });
    }
  };
  return CustomRule{rule.lr, std::make_shared<Executor>(rule)};
}

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CUSTOM_RULE_CUH_
