#ifndef TESSERA_TESTS_TESTING_UPDATE_TABLES_H_
#define TESSERA_TESTS_TESTING_UPDATE_TABLES_H_
// The tables of a RandomBatch with optimizer states, ready for an update: copies, so that one batch
// serves many.
#include <vector>

#include "embedding/update/update.h"
#include "tests/testing/random_batch.h"

namespace tessera::testing {

class UpdateTables {
 public:
  // One rule a table, in turn; `rules` must outlive this. Tables may be said to have more rows than
  // there is memory for.
  UpdateTables(Context& ctx, const RandomBatch& batch, const BatchShape& shape,
               const std::vector<AnyRule>& rules, DType state_type = DType::kF32,
               RowRounding rounding = {}, int64_t more_rows = 0) {
    for (size_t t = 0; t < shape.dims.size(); ++t) {
      const AnyRule& rule = rules[t % rules.size()];
      weights_.push_back(batch.tables()[t].Clone(ctx));
      UpdateTable table{weights_[t].raw_data(), shape.rows + more_rows, shape.dims[t], {}, &rule};
      for (int f = 0; f < batch.num_features(); ++f)
        if (batch.table_of(f) == t) table.features.push_back(f);
      for (const StateSpec& spec : RuleStates(rule)) {
        states_.push_back(
            Tensor::Full(ctx, spec.per_row ? Shape{shape.rows} : Shape{shape.rows, shape.dims[t]},
                         spec.counts ? 1 : 0.25, spec.counts ? DType::kF32 : state_type));
        table.states.push_back(states_.back().raw_data());
      }
      table.row_type = shape.row_type;
      table.state_type = state_type;
      table.rounding = rounding;
      tables_.push_back(table);
    }
  }

  const std::vector<UpdateTable>& tables() const { return tables_; }
  const Tensor& weight(size_t table) const { return weights_[table]; }
  // Weights, then states.
  std::vector<Tensor> Results() const {
    std::vector<Tensor> all = weights_;
    all.insert(all.end(), states_.begin(), states_.end());
    return all;
  }

 private:
  std::vector<Tensor> weights_, states_;
  std::vector<UpdateTable> tables_;
};

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_UPDATE_TABLES_H_
