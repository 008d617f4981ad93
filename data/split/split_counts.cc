#include "data/split/split_counts.h"

#include <bit>
#include <utility>

#include "data/first_ids.h"
#include "data/split/row_subset.h"
#include "runtime/context.h"

namespace tessera {
namespace {

using internal::kWordBits;

class Counted final : public DataSource {
 public:
  Counted(std::unique_ptr<DataSource> source, const SplitOptions& split, RowPart part,
          int64_t id_rows, std::shared_ptr<SplitCounts> counts)
      : source_(std::move(source)),
        feature_(split.feature),
        part_(part),
        counts_(std::move(counts)),
        ctx_({.threads = 1}) {
    if (split.by == SplitBy::kKey && id_rows > 0) ids_.emplace(id_rows);
  }

  std::optional<Batch> Next() override {
    std::optional<Batch> batch = source_->Next();
    if (batch)
      Add(*batch);
    else
      Tell();
    return batch;
  }
  int64_t skipped_rows() const override { return source_->skipped_rows(); }
  BadLineCounts skipped_by_reason() const override { return source_->skipped_by_reason(); }

 private:
  void Add(const Batch& batch) {
    rows_ += batch.size();
    if (!ids_) return;
    for (const int64_t id : FirstIds(ctx_, batch, feature_)) ids_->Add(id);
  }
  void Tell() {
    PartCount count{.rows = rows_};
    if (ids_) count.ids = ids_->Count([](int64_t) { return true; });
    counts_->Set(part_, count);
  }

  std::unique_ptr<DataSource> source_;
  const std::string feature_;
  const RowPart part_;
  const std::shared_ptr<SplitCounts> counts_;
  Context ctx_;
  int64_t rows_ = 0;
  std::optional<IdSet> ids_;
};

}  // namespace

void IdSet::Add(int64_t id) {
  if (id == kNoId) return;
  std::atomic<uint64_t>& word = words_[static_cast<size_t>(id / kWordBits)];
  const uint64_t bit = uint64_t{1} << (id % kWordBits);
  if ((word.load(std::memory_order_relaxed) & bit) == 0)
    word.fetch_or(bit, std::memory_order_relaxed);
}

int64_t IdSet::Count(const std::function<bool(int64_t)>& counts) const {
  int64_t count = 0;
  for (size_t w = 0; w < words_.size(); ++w)
    for (uint64_t left = words_[w]; left != 0; left &= left - 1)
      if (counts(static_cast<int64_t>(w) * kWordBits + std::countr_zero(left))) ++count;
  return count;
}

void SplitCounts::Set(RowPart part, const PartCount& count) {
  const std::lock_guard lock(mutex_);
  (part == RowPart::kEval ? eval_ : train_) = count;
}

std::optional<PartCount> SplitCounts::Of(RowPart part) const {
  const std::lock_guard lock(mutex_);
  return part == RowPart::kEval ? eval_ : train_;
}

std::unique_ptr<DataSource> CountedRows(std::unique_ptr<DataSource> source,
                                        const SplitOptions& split, RowPart part, int64_t id_rows,
                                        std::shared_ptr<SplitCounts> counts) {
  return std::make_unique<Counted>(std::move(source), split, part, id_rows, std::move(counts));
}

}  // namespace tessera
