#ifndef TESSERA_TESTS_SERVE_TESTING_FAILING_MEMORY_H_
#define TESSERA_TESTS_SERVE_TESTING_FAILING_MEMORY_H_
// Memory that runs out when a test says so: a program that links this has an operator new of its
// own. Threads that were spared never see it fail.

namespace tessera::testing {

// The calling thread's memory never runs out.
void SpareThisThread();
// Lets `count` allocations of all other threads together succeed from here on; below 0: all of
// them.
void LetAllocationsSucceed(int count);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_SERVE_TESTING_FAILING_MEMORY_H_
