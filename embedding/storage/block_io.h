#ifndef TESSERA_EMBEDDING_STORAGE_BLOCK_IO_H_
#define TESSERA_EMBEDDING_STORAGE_BLOCK_IO_H_
// Reads and writes of blocks, many in flight, made by threads of their own: who starts a batch goes
// on, and waits for it when it needs it. Batches are started in order; what completes first is not
// said.
//
//   uring     one thread and an io_uring of kUringDepth entries
//   threads   kIoThreads threads, each with one pread or pwrite at a time: where io_uring is not
//             permitted (seccomp, kernel.io_uring_disabled)
//
// TESSERA_DISK_IO=uring|threads chooses; else what works.
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "embedding/storage/disk_stats.h"

namespace tessera {

inline constexpr int kUringDepth = 128, kIoThreads = 32;
// Reads into memory of the queue's own should be no longer: uring keeps so much for each entry,
// which the kernel knows.
inline constexpr int64_t kOwnReadBytes = 16 << 10;

// [offset, offset + bytes) of a file, whole blocks.
struct BlockOp {
  int fd = -1;
  int64_t offset = 0, bytes = 0;
  char* memory = nullptr;  // aligned to blocks; of a read: null for memory of the queue's own
  bool write = false;
};

class BlockBatch {
 public:
  explicit BlockBatch(std::vector<BlockOp> ops) : ops_(std::move(ops)), left_(ops_.size()) {}
  virtual ~BlockBatch() = default;
  const std::vector<BlockOp>& ops() const { return ops_; }

  bool done() const;
  // Throws Error with the first failure, each time.
  void Wait() const;

 protected:
  // Takes what op number `op` read, on a thread of the queue, maybe beside other ops; it is done
  // when Wait returns. Returns "" or what is wrong with the bytes.
  virtual std::string Take(size_t /*op*/, const char* /*bytes*/) { return ""; }

 private:
  friend class BlockIo;
  void Finish(size_t op, const char* bytes, std::string failure);

  std::vector<BlockOp> ops_;
  mutable std::mutex mutex_;
  mutable std::condition_variable finished_;
  size_t left_;
  std::string failure_;
};

class BlockIo {
 public:
  virtual ~BlockIo() = default;
  void Start(std::shared_ptr<BlockBatch> batch);
  virtual const char* name() const = 0;  // "uring", "threads"
  BlockIoStats stats() const;

 protected:
  struct Work {
    std::shared_ptr<BlockBatch> batch;
    size_t op = 0;
    const BlockOp& get() const { return batch->ops()[op]; }
  };
  // The next op; false if there is none and not `wait`, or the queue ends.
  bool Next(bool wait, Work& work);
  // result: bytes, or −errno. bytes: what was read, or null.
  void Finish(const Work& work, int64_t result, const char* bytes);
  void End();  // Next returns what is left, then false

 private:
  mutable std::mutex mutex_;
  std::condition_variable more_;
  std::deque<Work> waiting_;  // of each batch, its next op
  bool ended_ = false;
  int64_t in_flight_ = 0, started_ = 0, in_flight_sum_ = 0;
  BlockIoStats stats_;
};

// Throws Error for another value of TESSERA_DISK_IO, and for "uring" where that is not permitted.
std::shared_ptr<BlockIo> MakeBlockIo();

namespace internal {
std::shared_ptr<BlockIo> MakeThreadBlockIo();
// Returns nullptr, and sets `reason`, where the kernel permits no io_uring.
std::shared_ptr<BlockIo> MakeUringBlockIo(std::string* reason);
}  // namespace internal

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_BLOCK_IO_H_
