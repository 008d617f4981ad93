#ifndef TESSERA_DATA_ORDERED_WORK_H_
#define TESSERA_DATA_ORDERED_WORK_H_
// Work on items that are read one after the other and given out in that order, by several threads.
// No thread waits for the others at the end of a round: a thread that has worked on an item reads
// the next one, and whoever asks for an item that is not ready does the same.
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace tessera {

class OrderedWork {
 public:
  struct Steps {
    std::function<bool(size_t slot)> read;  // the next item to a slot, one call at a time; false:
                                            // there is none
    std::function<void(size_t slot)> work;  // on the item of a slot, beside calls for other slots
  };

  // Items lie in slots [0, slots). `threads`: that of who calls Next and new ones. REQUIRES:
  // threads > 0, slots > 0.
  OrderedWork(int threads, size_t slots, Steps steps);
  // Waits for the steps that have begun.
  ~OrderedWork();
  OrderedWork(const OrderedWork&) = delete;
  OrderedWork& operator=(const OrderedWork&) = delete;

  // The slot of the next item, which stays as it is until the next call; nullopt after the last
  // item. Throws what a step threw when the items before it were given; asked again, it throws that
  // again.
  std::optional<size_t> Next();

 private:
  struct Slot {
    bool ready = false;
    std::exception_ptr error;
  };

  void Run();
  bool CanRead() const { return !ended_ && !reading_ && read_ - given_ < std::ssize(slots_); }
  // Reads an item and works on it. REQUIRES: CanRead().
  void TakeOne(std::unique_lock<std::mutex>& lock);
  // Whether there is an item to work on.
  bool ReadOne(std::unique_lock<std::mutex>& lock, Slot& slot, size_t at);
  Slot& SlotOf(int64_t item) { return slots_[static_cast<size_t>(item) % slots_.size()]; }

  const Steps steps_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Slot> slots_;  // of item i: i modulo their number
  int64_t read_ = 0;         // items that were read
  int64_t given_ = 0;        // items whose slots are free again
  bool holds_ = false;       // the caller of Next has the slot of item given_
  bool reading_ = false, ended_ = false, stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tessera
#endif  // TESSERA_DATA_ORDERED_WORK_H_
