#ifndef TESSERA_RUNTIME_BASE_PARALLEL_H_
#define TESSERA_RUNTIME_BASE_PARALLEL_H_
// One pool of threads for everything: lookups, updates, dense products. Work is split by the caller
// into pieces that do not depend on the number of threads wherever a sum is involved, so that
// results don't either.
#include <cstdint>
#include <memory>
#include <utility>

namespace tessera {

// `threads` workers including the calling thread. Idle workers spin for some microseconds (a
// training step is a chain of short parallel loops), then sleep. Thread safe; loops of different
// callers run one after another.
class ThreadPool {
 public:
  // threads = 0: as many as the machine has cores (or TESSERA_THREADS, if set).
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls fn(begin, end) for disjoint pieces of [0, n), each of `grain` items (the last may be
  // shorter), on any thread and in any order; returns when all are done. A loop inside a loop runs
  // on the thread that meets it. The first exception of a piece is rethrown here; pieces that have
  // not begun are then left out.
  template <typename Fn>
  void For(int64_t n, int64_t grain, Fn&& fn) {
    RunPieces(
        n, grain,
        [](void* f, int64_t begin, int64_t end) {
          (*static_cast<std::remove_reference_t<Fn>*>(f))(begin, end);
        },
        const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  struct State;
  using Piece = void (*)(void* fn, int64_t begin, int64_t end);
  void RunPieces(int64_t n, int64_t grain, Piece piece, void* fn);

  int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_PARALLEL_H_
