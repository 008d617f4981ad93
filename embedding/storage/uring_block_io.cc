#include <liburing.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "embedding/storage/block_io.h"
#include "embedding/storage/scratch_file.h"
#include "runtime/base/start_threads.h"

namespace tessera::internal {
namespace {

class UringBlockIo final : public BlockIo {
 public:
  // Owns the ring from now on.
  explicit UringBlockIo(const io_uring& ring) : ring_(ring), entries_(kUringDepth) {
    for (size_t i = 0; i < entries_.size(); ++i) free_.push_back(i);
    try {
      thread_ = StartThread("thread of disk I/O", [this] { Run(); });
    } catch (...) {
      io_uring_queue_exit(&ring_);
      throw;
    }
  }
  ~UringBlockIo() override {
    End();
    thread_.join();
    io_uring_queue_exit(&ring_);
  }
  const char* name() const override { return "uring"; }

 private:
  struct Entry {
    Work work;
    AlignedBytes own;  // of reads that are longer than kOwnReadBytes
    int64_t own_bytes = 0;
    char* memory = nullptr;
    bool registered = false;  // whether it lies in registered_
    int64_t done = 0;         // bytes
  };

  // Waits for work while nothing is in flight; else waits for a part of what is, and looks for work
  // then: to wake for every single block takes as long as the block's copy.
  void Run() {
    // io_uring_enable_rings, which Debian 12's liburing.so does not export.
    syscall(SYS_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
    Register();
    for (;;) {
      const bool idle = free_.size() == entries_.size();
      for (Work work; !free_.empty() && Next(idle && free_.size() == entries_.size(), work);
           work = {})
        Prepare(std::move(work));
      const size_t in_flight = entries_.size() - free_.size();
      if (in_flight == 0) return;
      io_uring_submit_and_wait(&ring_, static_cast<unsigned>(in_flight + 7) / 8);
      io_uring_cqe* done = nullptr;
      while (io_uring_peek_cqe(&ring_, &done) == 0) Complete(done);
    }
  }

  // Gives the kernel the memory of reads once, which it else looks up, page by page, for each: a
  // tenth of its time. Where it may not have so much (RLIMIT_MEMLOCK), it does that.
  void Register() {
    constexpr int64_t kBytes = kUringDepth * kOwnReadBytes;
    registered_ = AllocateAligned(kBytes);
    const iovec all = {registered_.get(), static_cast<size_t>(kBytes)};
    if (io_uring_register_buffers(&ring_, &all, 1) != 0) registered_ = nullptr;
  }

  void Prepare(Work work) {
    const size_t index = free_.back();
    free_.pop_back();
    Entry& entry = entries_[index];
    entry.work = std::move(work);
    entry.done = 0;
    const BlockOp& op = entry.work.get();
    entry.registered = op.memory == nullptr && op.bytes <= kOwnReadBytes && registered_;
    if (entry.registered)
      entry.memory = registered_.get() + static_cast<int64_t>(index) * kOwnReadBytes;
    else
      entry.memory = op.memory == nullptr ? OwnMemory(entry, op.bytes) : op.memory;
    Submit(index);
  }

  static char* OwnMemory(Entry& entry, int64_t bytes) {
    if (bytes > entry.own_bytes) entry.own = AllocateAligned(entry.own_bytes = bytes);
    return entry.own.get();
  }

  void Submit(size_t index) {
    const Entry& entry = entries_[index];
    const BlockOp& op = entry.work.get();
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);  // as many as entries
    const auto bytes = static_cast<unsigned>(op.bytes - entry.done);
    const auto offset = static_cast<uint64_t>(op.offset + entry.done);
    char* const memory = entry.memory + entry.done;
    if (op.write)
      io_uring_prep_write(sqe, op.fd, memory, bytes, offset);
    else if (entry.registered)
      io_uring_prep_read_fixed(sqe, op.fd, memory, bytes, offset, /*buf_index=*/0);
    else
      io_uring_prep_read(sqe, op.fd, memory, bytes, offset);
    io_uring_sqe_set_data64(sqe, index);
  }

  void Complete(io_uring_cqe* done) {
    const size_t index = io_uring_cqe_get_data64(done);
    const int result = done->res;
    io_uring_cqe_seen(&ring_, done);
    if (result == -EINTR || result == -EAGAIN) return Submit(index);
    Entry& entry = entries_[index];
    if (result > 0) entry.done += result;
    const bool in_part = entry.done < entry.work.get().bytes && entry.done % kBlockBytes == 0;
    if (result > 0 && in_part) return Submit(index);
    Finish(entry.work, result < 0 ? result : entry.done, entry.memory);
    entry.work = {};
    free_.push_back(index);
  }

  io_uring ring_;
  std::vector<Entry> entries_;
  AlignedBytes registered_;  // kOwnReadBytes for each entry; null where the kernel does not know it
  std::vector<size_t> free_;
  std::thread thread_;
};

}  // namespace

std::shared_ptr<BlockIo> MakeUringBlockIo(std::string* reason) {
  // One thread asks and looks for what is done, so the kernel need not interrupt it: from Linux 6.1
  // on. The ring belongs to the thread that enables it.
  constexpr unsigned kOneThread =
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED;
  io_uring ring = {};
  int result = io_uring_queue_init(kUringDepth, &ring, kOneThread);
  if (result == -EINVAL) result = io_uring_queue_init(kUringDepth, &ring, IORING_SETUP_R_DISABLED);
  if (result == 0) return std::make_shared<UringBlockIo>(ring);
  *reason = std::strerror(-result);
  return nullptr;
}

}  // namespace tessera::internal
