#include "runtime/device/scratch_pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>

namespace tessera {
namespace {

constexpr int64_t kKeptByThread = 32, kMovedAtOnce = 16;
constexpr size_t kStoredBytes = 4 << 20;
constexpr size_t kLists = std::bit_width(kLargestScratch) - std::bit_width(kScratchAlignment) + 1;

size_t ListOf(size_t bytes) {
  return static_cast<size_t>(std::bit_width(std::max(bytes, kScratchAlignment) - 1)) -
         std::bit_width(kScratchAlignment - 1);
}
size_t BytesOf(size_t list) { return kScratchAlignment << list; }

void* FromHeap(size_t bytes) {
  const size_t units = (bytes + kScratchAlignment - 1) / kScratchAlignment;
  void* block = std::aligned_alloc(kScratchAlignment, units * kScratchAlignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

// Blocks that each hold the address of the next.
struct List {
  void* first = nullptr;
  int64_t blocks = 0;

  void Push(void* block) {
    *static_cast<void**>(block) = first;
    first = block;
    ++blocks;
  }
  void* Pop() {
    --blocks;
    return std::exchange(first, *static_cast<void**>(first));
  }
};

struct Store {
  std::mutex mutex;
  std::array<List, kLists> lists;
};
Store& CommonStore() {
  static Store& store = *new Store;  // outlives every thread
  return store;
}

void MoveToStore(List& from, size_t index, int64_t blocks) {
  Store& store = CommonStore();
  const std::lock_guard lock(store.mutex);
  List& to = store.lists[index];
  const auto most = static_cast<int64_t>(kStoredBytes / BytesOf(index));
  for (; blocks > 0; --blocks) {
    void* block = from.Pop();
    if (to.blocks < most)
      to.Push(block);
    else
      std::free(block);
  }
}

void MoveFromStore(List& to, size_t index) {
  Store& store = CommonStore();
  const std::lock_guard lock(store.mutex);
  List& from = store.lists[index];
  for (int64_t i = 0; i < kMovedAtOnce && from.blocks > 0; ++i) to.Push(from.Pop());
}

// The blocks that a thread keeps.
struct Kept {
  std::array<List, kLists> lists;
  ~Kept();
};

// Objects with static storage give blocks back after this thread's lists are gone.
thread_local bool ended = !kRecycles;
thread_local Kept kept;

Kept::~Kept() {
  ended = true;
  for (size_t index = 0; index < kLists; ++index)
    MoveToStore(lists[index], index, lists[index].blocks);
}

}  // namespace

void* TakeScratch(size_t bytes) {
  if (!kRecycles || bytes > kLargestScratch) return FromHeap(bytes);
  const size_t index = ListOf(bytes);
  if (ended) return FromHeap(BytesOf(index));
  List& list = kept.lists[index];
  if (list.blocks == 0) MoveFromStore(list, index);
  return list.blocks == 0 ? FromHeap(BytesOf(index)) : list.Pop();
}

void GiveScratch(void* block, size_t bytes) noexcept {
  if (bytes > kLargestScratch || ended) return std::free(block);
  const size_t index = ListOf(bytes);
  List& list = kept.lists[index];
  if (list.blocks == kKeptByThread) MoveToStore(list, index, kMovedAtOnce);
  list.Push(block);
}

}  // namespace tessera
