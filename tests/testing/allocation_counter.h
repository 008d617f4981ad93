#ifndef TESSERA_TESTS_TESTING_ALLOCATION_COUNTER_H_
#define TESSERA_TESTS_TESTING_ALLOCATION_COUNTER_H_
// Measures what a program takes from the heap, on all threads: malloc and its kin are replaced in
// the program that links this, by ones that count and ask glibc's. operator new comes by there too.
// With TESSERA_TRACE_ALLOCATIONS=1 in the environment, where each counted one came from is printed.
#include <cstdint>
#include <functional>

namespace tessera {

// False under sanitizers, which replace malloc themselves: nothing is counted then.
bool CountsAllocations();

struct HeapUse {
  int64_t allocations = 0;  // calls of malloc, calloc, realloc and the aligned ones
  int64_t largest = 0;      // bytes of one
};
// Measures the heap use of all threads while `fn` runs.
HeapUse MeasureHeapUse(const std::function<void()>& fn);
inline int64_t CountAllocations(const std::function<void()>& fn) {
  return MeasureHeapUse(fn).allocations;
}

}  // namespace tessera
#endif  // TESSERA_TESTS_TESTING_ALLOCATION_COUNTER_H_
