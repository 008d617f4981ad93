#ifndef TESSERA_DATA_READ_AHEAD_H_
#define TESSERA_DATA_READ_AHEAD_H_
// Runs another source on a thread of its own, a bounded number of batches ahead of who asks.
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "data/data_source.h"

namespace tessera {

class ReadAhead final : public DataSource {
 public:
  // REQUIRES: depth > 0. The source is used by the new thread alone from here on.
  explicit ReadAhead(std::unique_ptr<DataSource> source, int64_t depth = 16);
  // Stops early if batches are left.
  ~ReadAhead() override;

  // The batches that came before it, then the error of the source, if there was one; once it was
  // thrown, it is thrown again.
  std::optional<Batch> Next() override;
  // Rows skipped up to the batch that Next gave last.
  int64_t skipped_rows() const override { return skipped_; }
  BadLineCounts skipped_by_reason() const override { return reasons_; }

 private:
  // A batch that the source gave; the last item of a queue has none.
  struct Item {
    std::optional<Batch> batch;
    std::exception_ptr error;
    int64_t skipped = 0;
    BadLineCounts reasons = {};
  };
  Item ReadOne();
  void Run();

  std::unique_ptr<DataSource> source_;
  const size_t depth_;
  int64_t skipped_ = 0;
  BadLineCounts reasons_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;  // guarded by mutex_
  bool stop_ = false;       // guarded by mutex_
  std::thread thread_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_READ_AHEAD_H_
