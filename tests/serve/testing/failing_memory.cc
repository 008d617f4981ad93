#include "tests/serve/testing/failing_memory.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int> allocations_left = -1;
thread_local bool is_spared = false;

bool MemoryRunsOut() {
  if (is_spared) return false;
  int left = allocations_left;
  while (left > 0 && !allocations_left.compare_exchange_weak(left, left - 1)) {
  }
  return left == 0;
}

}  // namespace

namespace tessera::testing {

void SpareThisThread() { is_spared = true; }
void LetAllocationsSucceed(int count) { allocations_left = count; }

}  // namespace tessera::testing

void* operator new(size_t bytes) {
  void* const memory = MemoryRunsOut() ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
