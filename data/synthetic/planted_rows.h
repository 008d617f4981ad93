#ifndef TESSERA_DATA_SYNTHETIC_PLANTED_ROWS_H_
#define TESSERA_DATA_SYNTHETIC_PLANTED_ROWS_H_
// The rows of a ClickModel as a model reads them. The click model has no last row: `rows` says how
// many there are.
#include <memory>
#include <span>
#include <vector>

#include "data/batch_builder.h"
#include "data/row_table.h"
#include "data/synthetic/click_model.h"
#include "runtime/context.h"

namespace tessera {

class PlantedRows final : public RowTable {
 public:
  PlantedRows(std::shared_ptr<const ClickModel> model, BatchBuilder builder, int64_t rows)
      : model_(std::move(model)), builder_(std::move(builder)), rows_(rows) {}

  int64_t rows() const override { return rows_; }
  Batch Gather(Context& ctx, std::span<const int64_t> rows) const override {
    std::vector<ClickRow> clicks;
    clicks.reserve(rows.size());
    for (const int64_t row : rows) clicks.push_back(model_->Row(row));
    return builder_.Build(ctx, clicks);
  }

 private:
  std::shared_ptr<const ClickModel> model_;
  BatchBuilder builder_;
  int64_t rows_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_SYNTHETIC_PLANTED_ROWS_H_
