#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "embedding/storage/block_io.h"
#include "embedding/storage/scratch_file.h"
#include "runtime/base/start_threads.h"

namespace tessera::internal {
namespace {

// Goes on after a part of whole blocks; a part of a block is where a file ends.
int64_t Transfer(const BlockOp& op, char* memory) {
  for (int64_t done = 0;;) {
    const auto left = static_cast<size_t>(op.bytes - done);
    const ssize_t result = op.write ? pwrite(op.fd, memory + done, left, op.offset + done)
                                    : pread(op.fd, memory + done, left, op.offset + done);
    if (result < 0 && errno != EINTR) return -errno;
    done += std::max<ssize_t>(result, 0);
    if (result == 0 || done == op.bytes || done % kBlockBytes != 0) return done;
  }
}

class ThreadBlockIo final : public BlockIo {
 public:
  ThreadBlockIo() {
    StartThreads(threads_, kIoThreads, "thread of disk I/O", [this](int) { Run(); });
  }
  ~ThreadBlockIo() override {
    End();
    for (std::thread& thread : threads_) thread.join();
  }
  const char* name() const override { return "threads"; }

 private:
  void Run() {
    AlignedBytes own;
    int64_t own_bytes = 0;
    for (Work work; Next(/*wait=*/true, work); work = {}) {
      const BlockOp& op = work.get();
      if (op.memory == nullptr && op.bytes > own_bytes) own = AllocateAligned(own_bytes = op.bytes);
      char* const memory = op.memory == nullptr ? own.get() : op.memory;
      Finish(work, Transfer(op, memory), memory);
    }
  }

  std::vector<std::thread> threads_;
};

}  // namespace

std::shared_ptr<BlockIo> MakeThreadBlockIo() { return std::make_shared<ThreadBlockIo>(); }

}  // namespace tessera::internal
