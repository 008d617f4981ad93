// Runs the threads of grids, as fibers.
#include <sys/mman.h>

#include <algorithm>
#include <boost/context/fiber.hpp>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/emulation/emulation.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define START_SWITCH(save, bottom, size) __sanitizer_start_switch_fiber(save, bottom, size)
#define FINISH_SWITCH(save, bottom, size) __sanitizer_finish_switch_fiber(save, bottom, size)
#else
#define START_SWITCH(save, bottom, size) ((void)(save))
#define FINISH_SWITCH(save, bottom, size) ((void)(save))
#endif

namespace cuda_emulation {
namespace {

constexpr size_t kStackBytes = 128 << 10;
constexpr uint64_t kNobody = 0xcdcdcdcdcdcdcdcd;  // what a lane that took no part is read as

// A stack for one fiber, above a page that nobody may touch.
struct Stack {
  char* low;
  explicit Stack() {
    void* all = mmap(nullptr, kStackBytes + 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    mprotect(all, 4096, PROT_NONE);
    low = static_cast<char*>(all) + 4096;
  }
};
struct StackOf {
  Stack stack;
  boost::context::stack_context allocate() {
    boost::context::stack_context context;
    context.size = kStackBytes;
    context.sp = stack.low + kStackBytes;
    return context;
  }
  void deallocate(boost::context::stack_context&) {}
};

// A fiber runs one thread after another, each to its end; a thread that waits keeps its fiber, and
// the next one gets another.
class Fiber {
 public:
  Fiber();
  void Resume();  // called by the scheduler
  void Yield();   // called on the fiber

 private:
  Stack stack_;
  boost::context::fiber fiber_, scheduler_;
  void *own_fake_stack_ = nullptr, *scheduler_fake_stack_ = nullptr;
  const void* scheduler_bottom_ = nullptr;
  size_t scheduler_size_ = 0;
};

enum class Waits { kNothing, kBlock, kWarp };

struct Thread {
  Position at;
  Fiber* fiber = nullptr;  // once begun, until done
  Waits waits = Waits::kNothing;
  bool done = false;
  int block_value = 0;
  // The warp call it waits in, what it brought, and what it gets.
  WarpCall call = WarpCall::kSync;
  unsigned mask = 0;
  int source = 0;
  uint64_t brought = 0, received = 0;
};

// Lanes of a warp that have not ended, and those that wait in a warp call.
struct Warp {
  unsigned live = 0, waiting = 0;
};

// The block that runs. There is one at a time: the stream lock is held.
struct Block {
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  size_t live = 0, at_barrier = 0;  // threads
  std::vector<int> order;           // of the threads in a round
  size_t next = 0;                  // the place in it of the thread that runs next
  std::unique_ptr<char[]> shared;
  const std::function<void()>* body = nullptr;
  Thread* running = nullptr;
  std::vector<Fiber*> idle;
  std::exception_ptr error;
  int block_sum = 0;
  int64_t number = 0;
} block;

std::minstd_rand shuffle_random;
bool shuffled = false;

Warp& WarpOf(const Thread& thread) { return block.warps[static_cast<size_t>(thread.at.warp)]; }

void RunBody() {
  try {
    (*block.body)();
  } catch (const boost::context::detail::forced_unwind&) {
    throw;
  } catch (...) {
    block.error = std::current_exception();
  }
  Thread& thread = *block.running;
  thread.done = true;
  WarpOf(thread).live &= ~(1u << thread.at.lane);
  --block.live;
}

void MakeRunning(Thread& thread) {
  block.running = &thread;
  current = thread.at;
}

// Called on the fiber of a thread that has ended: hands it to the round's next thread, if that has
// not begun.
bool HandFiberOn() {
  if (block.error || block.next == block.order.size()) return false;
  Thread& next = block.threads[static_cast<size_t>(block.order[block.next])];
  if (next.done || next.fiber != nullptr) return false;
  ++block.next;
  next.fiber = std::exchange(block.running->fiber, nullptr);
  MakeRunning(next);
  return true;
}

Fiber::Fiber() {
  fiber_ = boost::context::fiber(std::allocator_arg, StackOf{stack_},
                                 [this](boost::context::fiber&& scheduler) {
                                   scheduler_ = std::move(scheduler);
                                   FINISH_SWITCH(nullptr, &scheduler_bottom_, &scheduler_size_);
                                   for (;;) {
                                     do RunBody();
                                     while (HandFiberOn());
                                     Yield();
                                   }
                                   return std::move(scheduler_);
                                 });
}

void Fiber::Resume() {
  START_SWITCH(&scheduler_fake_stack_, stack_.low, kStackBytes);
  fiber_ = std::move(fiber_).resume();
  FINISH_SWITCH(scheduler_fake_stack_, nullptr, nullptr);
}

void Fiber::Yield() {
  START_SWITCH(&own_fake_stack_, scheduler_bottom_, scheduler_size_);
  scheduler_ = std::move(scheduler_).resume();
  FINISH_SWITCH(own_fake_stack_, &scheduler_bottom_, &scheduler_size_);
}

[[noreturn]] void Fail(const Thread& thread, const std::string& what) {
  throw std::logic_error("emulated kernel, block " + std::to_string(block.number) + ", thread " +
                         std::to_string(&thread - block.threads.data()) + ": " + what);
}

Thread* FirstOfWarp(const Thread& thread) { return block.threads.data() + thread.at.warp * 32; }

// Lets the lanes that `thread` waits for go on if all of them have come; else false.
bool CompleteWarpCall(Thread& thread) {
  Warp& warp = WarpOf(thread);
  const unsigned group = thread.mask & warp.live;
  if ((warp.waiting & group) != group) return false;
  Thread* first = FirstOfWarp(thread);
  for (int l = 0; l < 32; ++l) {
    if (!(group >> l & 1)) continue;
    const Thread& other = first[l];
    if (other.mask != thread.mask) Fail(thread, "lanes of a warp call with different masks");
    if (other.call != thread.call) Fail(thread, "lanes of a warp meet in different calls");
  }
  uint64_t ballot = 0;
  for (int l = 0; l < 32; ++l)
    if ((group >> l & 1) && first[l].brought != 0) ballot |= uint64_t{1} << l;
  for (int l = 0; l < 32; ++l) {
    if (!(group >> l & 1)) continue;
    Thread& lane = first[l];
    const bool present = group >> lane.source & 1;
    lane.received = lane.call == WarpCall::kBallot ? ballot
                    : present                      ? first[lane.source].brought
                                                   : kNobody;
    lane.waits = Waits::kNothing;
  }
  warp.waiting &= ~group;
  return true;
}

// Lets the block's threads go on if all that have not ended have come to its barrier; else false.
bool CompleteBlockBarrier() {
  if (block.live == 0 || block.at_barrier < block.live) return false;
  block.block_sum = 0;
  for (Thread& t : block.threads) {
    if (!t.done) block.block_sum += t.block_value;
    t.waits = Waits::kNothing;
  }
  block.at_barrier = 0;
  return true;
}

// Makes a fiber that lives as long as the process, where leak checkers see it.
Fiber* NewFiber() {
  static auto& all = *new std::vector<std::unique_ptr<Fiber>>;
  all.push_back(std::make_unique<Fiber>());
  return all.back().get();
}

void RunThread(Thread& thread) {
  if (thread.fiber == nullptr) {
    if (block.idle.empty()) block.idle.push_back(NewFiber());
    thread.fiber = block.idle.back();
    block.idle.pop_back();
  }
  MakeRunning(thread);
  thread.fiber->Resume();
  Thread& last = *block.running;
  if (last.done) block.idle.push_back(std::exchange(last.fiber, nullptr));
  if (block.error) std::rethrow_exception(std::exchange(block.error, nullptr));
}

// Called after a round in which nothing could run. Releases groups whose last lanes have ended, or
// the block's barrier.
bool ReleaseWaiting() {
  bool any = false;
  for (Thread& t : block.threads)
    if (!t.done && t.waits == Waits::kWarp) any |= CompleteWarpCall(t);
  return any || CompleteBlockBarrier();
}

void RunBlock() {
  for (;;) {
    bool ran = false;
    if (shuffled) std::shuffle(block.order.begin(), block.order.end(), shuffle_random);
    for (block.next = 0; block.next < block.order.size();) {
      Thread& thread = block.threads[static_cast<size_t>(block.order[block.next++])];
      if (thread.done || thread.waits != Waits::kNothing) continue;
      RunThread(thread);
      ran = true;
    }
    if (!ran && !ReleaseWaiting()) break;
  }
  for (const Thread& t : block.threads)
    if (!t.done) Fail(t, "it waits at a barrier that not all live threads reach");
}

void PlaceThreads(Extent grid, Extent dim) {
  const unsigned n = dim.x * dim.y * dim.z;
  block.threads.assign(n, {});
  block.warps.assign((n + 31) / 32, {});
  block.order.resize(n);
  std::iota(block.order.begin(), block.order.end(), 0);
  for (unsigned t = 0; t < n; ++t) {
    const Extent thread = {t % dim.x, t / dim.x % dim.y, t / (dim.x * dim.y)};
    block.threads[t].at = {
        thread, {}, dim, grid, static_cast<int>(t % 32), static_cast<int>(t / 32)};
  }
}

// Makes the placed threads those of another block, which have not begun.
void StartBlock(int64_t number) {
  const Extent grid = block.threads[0].at.grid_dim;
  const auto b = static_cast<unsigned>(number);
  block.number = number;
  block.live = block.threads.size();
  block.at_barrier = 0;
  for (Thread& thread : block.threads) {
    thread.at.block = {b % grid.x, b / grid.x % grid.y, b / (grid.x * grid.y)};
    thread.fiber = nullptr;
    thread.waits = Waits::kNothing;
    thread.done = false;
    WarpOf(thread).live |= 1u << thread.at.lane;
  }
  for (Warp& warp : block.warps) warp.waiting = 0;
}

void StartFromEnvironment() {
  static const bool once = [] {
    if (const char* seed = std::getenv("TESSERA_EMULATION_SHUFFLE"))
      ShuffleThreads(static_cast<unsigned>(std::atoi(seed)));
    return true;
  }();
  (void)once;
}

}  // namespace

Position current = {};

void ShuffleThreads(unsigned seed) {
  shuffled = seed != 0;
  shuffle_random.seed(seed);
}

void SyncBlock() { SumOverBlock(0); }

int SumOverBlock(int value) {
  Thread& thread = *block.running;
  thread.block_value = value;
  thread.waits = Waits::kBlock;
  ++block.at_barrier;
  CompleteBlockBarrier();
  thread.fiber->Yield();
  return block.block_sum;
}

uint64_t ExchangeInWarp(WarpCall call, unsigned mask, uint64_t value, int source) {
  Thread& thread = *block.running;
  if (!(mask >> thread.at.lane & 1)) Fail(thread, "calls with a mask that leaves it out");
  thread.brought = value;
  thread.source = source;
  thread.call = call;
  thread.mask = mask;
  thread.waits = Waits::kWarp;
  WarpOf(thread).waiting |= 1u << thread.at.lane;
  if (!CompleteWarpCall(thread)) thread.fiber->Yield();
  return thread.received;
}

void* DynamicShared() { return block.shared.get(); }

// Runs a grid. After an exception, fibers amid the kernel are left behind with it.
void RunGrid(const Shape& shape, const std::function<void()>& thread) {
  const auto& [grid, dim, shared_bytes] = shape;
  StartFromEnvironment();
  block.body = &thread;
  PlaceThreads(grid, dim);
  const int64_t blocks = int64_t{grid.x} * grid.y * grid.z;
  for (int64_t b = 0; b < blocks; ++b) {
    // Memory has the exact size, so that AddressSanitizer sees an overrun.
    block.shared.reset(new char[shared_bytes]);
    std::fill_n(block.shared.get(), shared_bytes, static_cast<char>(0xcd));
    StartBlock(b);
    RunBlock();
  }
  block.shared.reset();
}

}  // namespace cuda_emulation
