#include "data/batch_source.h"

namespace tessera {

template <typename Row>
BatchesOf<Row>::BatchesOf(std::unique_ptr<RowStream<Row>> stream, Build build, int64_t batch_size)
    : ctx_({.threads = 1}), stream_(std::move(stream)), build_(std::move(build)) {
  TESSERA_CHECK_GT(batch_size, 0, "batch size");
  rows_.resize(static_cast<size_t>(batch_size));
}

template <typename Row>
std::optional<Batch> BatchesOf<Row>::Next() {
  size_t count = 0;
  int64_t first_row = 0, end_row = 0;
  while (count < rows_.size() && stream_->Next(rows_[count])) {
    end_row = stream_->next_row();
    if (count++ == 0) first_row = end_row - 1;
  }
  skipped_ = stream_->SkippedBefore(count == 0 ? RowRange::kEnd : end_row);
  if (count == 0) return std::nullopt;
  Batch batch = build_(ctx_, std::span<const Row>(rows_).first(count));
  batch.first_row = first_row;
  batch.end_row = end_row;
  batch.fraction = stream_->fraction();
  batch.features.Sync(ctx_);  // what a device would have to be waited for
  return batch;
}

template class BatchesOf<ClickRow>;
template class BatchesOf<TextLine>;

BatchSource::BatchSource(std::unique_ptr<ClickRowStream> stream, BatchBuilder builder,
                         int64_t batch_size)
    : batches_(
          std::move(stream),
          [builder = std::move(builder)](Context& ctx, std::span<const ClickRow> rows) {
            return builder.Build(ctx, rows);
          },
          batch_size) {}

}  // namespace tessera
