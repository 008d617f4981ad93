#include "train/pipeline/stage_threads.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/start_threads.h"

namespace tessera::internal {
namespace {

// If threads outnumber cores, work ahead takes the time that the training leaves: a batch thread
// that wakes up pushes no other off its core. A system may refuse this.
void TakeWhatIsLeft() {
  const sched_param priority = {};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &priority);
}

}  // namespace

StageThreads::StageThreads(Context& ctx, std::function<StageItem()> source,
                           std::vector<Stage> stages, Options options)
    : ctx_(ctx), source_(std::move(source)), options_(std::move(options)) {
  TESSERA_CHECK(!stages.empty(), "a pipeline without stages");
  for (Stage& stage : stages) {
    auto own = std::make_unique<Context>(ContextOptions{.device = ctx.device(),
                                                        .threads = options_.threads,
                                                        .seed = ctx.random().seed(),
                                                        .dense_products = ctx.dense_products()});
    own->WaitFor(ctx);
    workers_.push_back({std::move(stage), std::move(own), {}});
  }
  TraceThread* trace = TraceHere::thread();
  std::vector<TraceThread*> lines;
  for (const Worker& worker : workers_)
    lines.push_back(trace ? &trace->Sibling(worker.stage.name) : nullptr);
  StartThreads(
      threads_, static_cast<int>(workers_.size()), "stage of a pipeline",
      [this, lines](int s) { Run(static_cast<size_t>(s), lines[static_cast<size_t>(s)]); });
}

void StageThreads::Close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
}

StageThreads::~StageThreads() {
  Close();
  for (std::thread& thread : threads_) thread.join();
}

int64_t StageThreads::Owed(size_t stage) const {
  return asked_ + static_cast<int64_t>(workers_.size() - stage);
}

StageItem StageThreads::Next() {
  std::unique_lock lock(mutex_);
  ++asked_;
  changed_.notify_all();
  std::deque<Slot>& done = workers_.back().done;
  changed_.wait(lock, [&] { return !done.empty(); });
  if (done.front().error) std::rethrow_exception(done.front().error);
  if (!done.front().item) return nullptr;  // stays, so that asking again gives the same
  const Slot slot = std::move(done.front());
  done.pop_front();
  lock.unlock();
  slot.ready.HoldBack(ctx_.stream());
  options_.record_stream(slot.item, ctx_);
  return slot.item;
}

void StageThreads::StopReading() {
  const std::lock_guard lock(mutex_);
  limit_ = std::min(limit_, Owed(0));
  changed_.notify_all();
}

void StageThreads::Run(size_t stage, TraceThread* trace) {
  const TraceHere here(trace);
  TakeWhatIsLeft();
  Worker& worker = workers_[stage];
  for (int64_t number = 0;; ++number) {
    Slot slot;
    if (!Take(stage, number, slot)) return;
    if (slot.item) Work(worker, number, slot);
    const bool last = !slot.item;
    {
      const std::lock_guard lock(mutex_);
      worker.done.push_back(std::move(slot));
    }
    changed_.notify_all();
    if (last) return;
  }
}

// Takes a slot. False if the stage owes no more and the caller wants no more.
bool StageThreads::Take(size_t stage, int64_t number, Slot& slot) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    if (number >= limit_) return true;
    if (number >= Owed(stage)) return closing_;
    return stage == 0 || !workers_[stage - 1].done.empty();
  });
  if (number >= limit_) return true;  // with the end in `slot`
  if (number >= Owed(stage)) return false;
  if (stage == 0) {
    lock.unlock();
    slot = Read(number);
    return true;
  }
  std::deque<Slot>& from = workers_[stage - 1].done;
  slot = std::move(from.front());
  from.pop_front();
  return true;
}

StageThreads::Slot StageThreads::Read(int64_t number) {
  const TraceSpan span("data", number);
  Slot slot;
  try {
    slot.item = source_();
  } catch (...) {
    slot.error = std::current_exception();
  }
  return slot;
}

void StageThreads::Work(Worker& worker, int64_t number, Slot& slot) const {
  const TraceSpan span(worker.stage.name, number);
  Context& ctx = *worker.ctx;
  try {
    slot.ready.HoldBack(ctx.stream());
    options_.record_stream(slot.item, ctx);
    worker.stage.run(ctx, slot.item);
    slot.ready = Event::Record(ctx.stream());
  } catch (...) {
    slot.error = std::current_exception();
    slot.item = nullptr;
  }
}

}  // namespace tessera::internal
