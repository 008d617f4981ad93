// A machine on which no more than TESSERA_TEST_THREADS threads begin: pthread_create fails after
// them as it does beyond `ulimit -u`.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

namespace {

using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

std::atomic<int> begun{0};

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
  const char* const most = std::getenv("TESSERA_TEST_THREADS");
  if (most != nullptr && begun++ >= std::atoi(most)) return EAGAIN;
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return create(thread, attributes, run, argument);
}
