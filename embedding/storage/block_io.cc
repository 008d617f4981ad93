#include "embedding/storage/block_io.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/base/check.h"

namespace tessera {
namespace {

// The file of a descriptor, as the kernel knows it; one that was removed is called "(deleted)".
std::string FileOf(int fd) {
  char path[4096];
  const ssize_t count = readlink(Format("/proc/self/fd/{}", fd).c_str(), path, sizeof path);
  return count < 0 ? Format("descriptor {}", fd) : std::string(path, static_cast<size_t>(count));
}

}  // namespace

bool BlockBatch::done() const {
  const std::lock_guard lock(mutex_);
  return left_ == 0;
}

void BlockBatch::Wait() const {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return left_ == 0; });
  if (!failure_.empty()) throw Error(failure_);
}

void BlockBatch::Finish(size_t op, const char* bytes, std::string failure) {
  if (failure.empty() && bytes != nullptr) failure = Take(op, bytes);
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = std::move(failure);
  if (--left_ == 0) finished_.notify_all();
}

void BlockIo::Start(std::shared_ptr<BlockBatch> batch) {
  if (batch->ops().empty()) return;
  const bool several = batch->ops().size() > 1;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(batch), 0});
  }
  several ? more_.notify_all() : more_.notify_one();
}

bool BlockIo::Next(bool wait, Work& work) {
  std::unique_lock lock(mutex_);
  if (wait) more_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
  if (waiting_.empty()) return false;
  Work& first = waiting_.front();
  work = first;
  if (++first.op == first.batch->ops().size()) waiting_.pop_front();
  ++started_;
  stats_.max_in_flight = std::max(stats_.max_in_flight, ++in_flight_);
  in_flight_sum_ += in_flight_;
  return true;
}

void BlockIo::Finish(const Work& work, int64_t result, const char* bytes) {
  const BlockOp& op = work.get();
  {
    const std::lock_guard lock(mutex_);
    --in_flight_;
    ++(op.write ? stats_.writes : stats_.reads);
    (op.write ? stats_.bytes_written : stats_.bytes_read) += std::max<int64_t>(result, 0);
  }
  std::string failure;
  if (result != op.bytes)
    failure = Format("rows on disk: {} of {} bytes at {} of {}: {}",
                     op.write ? "writing" : "reading", op.bytes, op.offset, FileOf(op.fd),
                     result < 0 ? std::string(std::strerror(static_cast<int>(-result)))
                                : Format("there were {}", result));
  work.batch->Finish(work.op, op.write ? nullptr : bytes, std::move(failure));
}

void BlockIo::End() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  more_.notify_all();
}

BlockIoStats BlockIo::stats() const {
  const std::lock_guard lock(mutex_);
  BlockIoStats stats = stats_;
  if (started_ > 0)
    stats.mean_in_flight = static_cast<double>(in_flight_sum_) / static_cast<double>(started_);
  return stats;
}

std::shared_ptr<BlockIo> MakeBlockIo() {
  const char* text = std::getenv("TESSERA_DISK_IO");
  const std::string_view wish = text == nullptr ? "" : text;
  TESSERA_CHECK(wish.empty() || wish == "uring" || wish == "threads",
                "TESSERA_DISK_IO={}: expected uring or threads", wish);
  if (wish == "threads") return internal::MakeThreadBlockIo();
  std::string reason;
  std::shared_ptr<BlockIo> uring = internal::MakeUringBlockIo(&reason);
  TESSERA_CHECK(uring != nullptr || wish.empty(),
                "TESSERA_DISK_IO=uring: this system permits no io_uring: {}", reason);
  return uring ? uring : internal::MakeThreadBlockIo();
}

}  // namespace tessera
