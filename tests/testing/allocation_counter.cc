#include "tests/testing/allocation_counter.h"

#include <execinfo.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> counted = 0, largest = 0;
thread_local bool tracing = false;

bool TraceIsOn() {
  static const bool on = std::getenv("TESSERA_TRACE_ALLOCATIONS") != nullptr;
  return on;
}

[[maybe_unused]] void Count(size_t bytes) {
  if (!counting.load(std::memory_order_relaxed)) return;
  counted.fetch_add(1, std::memory_order_relaxed);
  const auto size = static_cast<int64_t>(bytes);
  for (int64_t seen = largest; seen < size && !largest.compare_exchange_weak(seen, size);) {
  }
  if (!TraceIsOn() || tracing) return;
  tracing = true;  // backtrace allocates when it is first called
  void* frames[24];
  const int depth = backtrace(frames, 24);
  backtrace_symbols_fd(frames + 1, depth - 1, STDERR_FILENO);
  (void)!write(STDERR_FILENO, "\n", 1);
  tracing = false;
}

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* pointer, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  Count(bytes);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  Count(count * bytes);
  return __libc_calloc(count, bytes);
}
void* realloc(void* pointer, size_t bytes) {
  Count(bytes);
  return __libc_realloc(pointer, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  Count(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  Count(bytes);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** pointer, size_t alignment, size_t bytes) {
  Count(bytes);
  *pointer = __libc_memalign(alignment, bytes);
  return *pointer == nullptr ? ENOMEM : 0;
}
}
namespace tessera {
bool CountsAllocations() { return true; }
}  // namespace tessera
#else
namespace tessera {
bool CountsAllocations() { return false; }
}  // namespace tessera
#endif

namespace tessera {

HeapUse MeasureHeapUse(const std::function<void()>& fn) {
  (void)TraceIsOn();
  counted = 0;
  largest = 0;
  counting = true;
  fn();
  counting = false;
  return {counted, largest};
}

}  // namespace tessera
