#ifndef TESSERA_DATA_BATCH_SOURCE_H_
#define TESSERA_DATA_BATCH_SOURCE_H_
// Cuts a stream of rows into batches. The last one may be smaller.
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "data/batch_builder.h"
#include "data/click_row_stream.h"
#include "runtime/context.h"

namespace tessera {

template <typename Row>
class BatchesOf final : public DataSource {
 public:
  // Makes a batch of some rows; where they came from is left to the source.
  using Build = std::function<Batch(Context& ctx, std::span<const Row> rows)>;
  // REQUIRES: batch_size > 0.
  BatchesOf(std::unique_ptr<RowStream<Row>> stream, Build build, int64_t batch_size);

  std::optional<Batch> Next() override;
  int64_t skipped_rows() const override { return skipped_; }

 private:
  Context ctx_;  // of its own: it may run on another thread than the model
  std::unique_ptr<RowStream<Row>> stream_;
  Build build_;
  std::vector<Row> rows_;  // room for one batch
  int64_t skipped_ = 0;
};

using LineBatches = BatchesOf<TextLine>;

class BatchSource final : public DataSource {
 public:
  // REQUIRES: batch_size > 0.
  BatchSource(std::unique_ptr<ClickRowStream> stream, BatchBuilder builder, int64_t batch_size);

  std::optional<Batch> Next() override { return batches_.Next(); }
  int64_t skipped_rows() const override { return batches_.skipped_rows(); }

 private:
  BatchesOf<ClickRow> batches_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_BATCH_SOURCE_H_
