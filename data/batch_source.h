#ifndef TESSERA_DATA_BATCH_SOURCE_H_
#define TESSERA_DATA_BATCH_SOURCE_H_
// Cuts a stream of rows into batches. The last one may be smaller.
#include <memory>
#include <optional>
#include <vector>

#include "data/batch_builder.h"
#include "data/click_row_stream.h"
#include "runtime/context.h"

namespace tessera {

class BatchSource final : public DataSource {
 public:
  // REQUIRES: batch_size > 0.
  BatchSource(std::unique_ptr<ClickRowStream> stream, BatchBuilder builder, int64_t batch_size);

  std::optional<Batch> Next() override;
  int64_t skipped_rows() const override { return stream_->skipped_rows(); }

 private:
  Context ctx_;  // of its own: it may run on another thread than the model
  std::unique_ptr<ClickRowStream> stream_;
  BatchBuilder builder_;
  std::vector<ClickRow> rows_;  // room for one batch
};

}  // namespace tessera
#endif  // TESSERA_DATA_BATCH_SOURCE_H_
