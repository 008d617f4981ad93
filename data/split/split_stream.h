#ifndef TESSERA_DATA_SPLIT_SPLIT_STREAM_H_
#define TESSERA_DATA_SPLIT_SPLIT_STREAM_H_
// The rows of a stream that one part of a split has; they keep their numbers.
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "data/batch_builder.h"
#include "data/click_row_stream.h"
#include "data/split/row_split.h"

namespace tessera {

class SplitStream final : public ClickRowStream {
 public:
  // The rows become batches by BatchBuilder(features, missing). REQUIRES: a random split, or one by
  // the key of one of the features: the rows have no time.
  SplitStream(std::unique_ptr<ClickRowStream> stream, const RowFilter& filter,
              const std::vector<CategoricalFeature>& features, MissingIds missing);

  bool Next(ClickRow& row) override;
  int64_t next_row() const override { return stream_->next_row(); }
  std::optional<double> fraction() const override { return stream_->fraction(); }
  int64_t SkippedBefore(int64_t row) override { return stream_->SkippedBefore(row); }

 private:
  std::unique_ptr<ClickRowStream> stream_;
  std::function<bool(const ClickRow&)> takes_;  // the row that the stream gave last
};

}  // namespace tessera
#endif  // TESSERA_DATA_SPLIT_SPLIT_STREAM_H_
