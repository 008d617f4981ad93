#include "data/read_ahead.h"

#include "runtime/base/start_threads.h"

namespace tessera {

ReadAhead::ReadAhead(std::unique_ptr<DataSource> source, int64_t depth)
    : source_(std::move(source)), depth_(static_cast<size_t>(depth)) {
  TESSERA_CHECK_GT(depth, 0, "batches read ahead");
  thread_ = StartThread("thread that reads ahead", [this] { Run(); });
}

ReadAhead::~ReadAhead() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

ReadAhead::Item ReadAhead::ReadOne() {
  Item item;
  try {
    item.batch = source_->Next();
  } catch (...) {
    item.error = std::current_exception();
  }
  item.skipped = source_->skipped_rows();
  item.reasons = source_->skipped_by_reason();
  return item;
}

void ReadAhead::Run() {
  bool more = true;
  while (more) {
    Item item = ReadOne();
    more = item.batch.has_value();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || queue_.size() < depth_; });
    if (stop_) return;
    queue_.push_back(std::move(item));
    changed_.notify_all();
  }
}

std::optional<Batch> ReadAhead::Next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !queue_.empty(); });
  skipped_ = queue_.front().skipped;
  reasons_ = queue_.front().reasons;
  if (queue_.front().error) std::rethrow_exception(queue_.front().error);
  if (!queue_.front().batch) return std::nullopt;  // stays, so that asking again gives the same
  std::optional<Batch> batch = std::move(queue_.front().batch);
  queue_.pop_front();
  changed_.notify_all();
  return batch;
}

}  // namespace tessera
