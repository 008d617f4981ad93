#ifndef TESSERA_TRAIN_PIPELINE_STAGE_THREADS_H_
#define TESSERA_TRAIN_PIPELINE_STAGE_THREADS_H_
// Items that pass through stages, each a thread with a context of its own (on a GPU: a stream; an
// event goes with each item from one to the next). The first stage also asks the source.
//
// How far a stage goes is counted, not a matter of time: after the caller's n-th Next, stage s of S
// has done, or is going to do, its work on exactly n + S − s items, unless the source ends. So
// stages that exchange something with other ranks make the same calls on all of them, wherever
// their callers stop: the destructor lets the stages do what they owe, and no rank waits for a call
// that never comes.
//
// What a stage throws is thrown by Next in the place of its item, after the items before it; stages
// have then no more to do than they owe.
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/context.h"
#include "runtime/files/trace.h"

namespace tessera::internal {

using StageItem = std::shared_ptr<void>;

class StageThreads {
 public:
  struct Stage {
    std::string name;
    std::function<void(Context&, const StageItem&)> run;
  };
  struct Options {
    int threads = 1;  // of each stage's context
    // Tells the item's tensors that they are used on this context's stream, too.
    std::function<void(const StageItem&, const Context&)> record_stream;
  };

  // source: null at the end, and not asked again. Stages' streams begin where ctx's is now.
  // REQUIRES: at least one stage; ctx outlives this.
  StageThreads(Context& ctx, std::function<StageItem()> source, std::vector<Stage> stages,
               Options options);
  ~StageThreads();
  StageThreads(const StageThreads&) = delete;
  StageThreads& operator=(const StageThreads&) = delete;

  // The next item, for use on the constructor's ctx; null after the last. Waits. Once it has
  // thrown, it throws the same again.
  StageItem Next();
  // The source is not asked for more than the stages owe by now; Next still gives these.
  void StopReading();

 private:
  struct Slot {
    StageItem item;  // null at the end, and with an error
    std::exception_ptr error;
    Event ready;
  };
  struct Worker {
    Stage stage;
    std::unique_ptr<Context> ctx;
    std::deque<Slot> done;  // for the next stage, or the caller; guarded by mutex_
  };

  void Close();
  int64_t Owed(size_t stage) const;  // items; REQUIRES: mutex_ is held
  void Run(size_t stage, TraceThread* trace);
  bool Take(size_t stage, int64_t number, Slot& slot);
  Slot Read(int64_t number);
  void Work(Worker& worker, int64_t number, Slot& slot) const;

  Context& ctx_;
  std::function<StageItem()> source_;
  Options options_;
  std::vector<Worker> workers_;
  std::vector<std::thread> threads_;  // one a worker
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t asked_ = 0;          // calls of Next; guarded by mutex_
  int64_t limit_ = INT64_MAX;  // items to read; guarded by mutex_
  bool closing_ = false;       // guarded by mutex_
};

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_PIPELINE_STAGE_THREADS_H_
