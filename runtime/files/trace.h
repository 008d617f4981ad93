#ifndef TESSERA_RUNTIME_FILES_TRACE_H_
#define TESSERA_RUNTIME_FILES_TRACE_H_
// A trace of what threads did, and when: spans by rank and thread, in a file that ui.perfetto.dev
// and chrome://tracing draw (Trace Event Format, JSON: a process a rank).
//
//   Trace trace;
//   const TraceHere here(&trace.Thread(rank, "step"));   // of this thread, to the end of the scope
//   { const TraceSpan span("lookup"); … }
//   Trace::Write("trace.json", {trace.Events()});
//
// A thread that no TraceHere has said so of records nothing: a span then costs the test of a
// pointer. Times are the host's: on a GPU, of giving work to it and of waiting for it.
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera {

class Trace;

// One line of the picture. Thread safe.
class TraceThread {
 public:
  using Clock = std::chrono::steady_clock;
  // A thread keeps its first kMaxSpans spans; more would not be readable in a picture.
  static constexpr size_t kMaxSpans = size_t{1} << 20;

  TraceThread(Trace& trace, int rank, std::string name)
      : trace_(trace), rank_(rank), name_(std::move(name)) {}
  // number: which batch or step, below 0 where it is neither.
  void Add(std::string_view name, int64_t number, Clock::time_point begin, Clock::time_point end);
  // Another thread of the same rank.
  TraceThread& Sibling(const std::string& name) const;

 private:
  friend class Trace;
  struct Span {
    std::string name;
    int64_t number;
    Clock::time_point begin, end;
  };
  Trace& trace_;
  const int rank_;
  const std::string name_;
  std::mutex mutex_;
  std::vector<Span> spans_;  // guarded by mutex_
};

// Outlives what records into it. Thread safe.
class Trace {
 public:
  Trace();
  // Returns the thread of this rank and name, the same one in every call.
  TraceThread& Thread(int rank, const std::string& name);

  // Returns what was recorded so far as events of the format, joined by commas. Their times are
  // those of the system's clock, so that events of several processes go together.
  std::string Events() const;
  // A file with the events of one or more processes. Throws Error if it cannot be written.
  static void Write(const std::string& path, const std::vector<std::string>& events);

 private:
  std::string ThreadEvents(const TraceThread& thread, int64_t id) const;
  double Microseconds(TraceThread::Clock::time_point time) const;

  const TraceThread::Clock::time_point steady_;  // the same moment as system_
  const std::chrono::system_clock::time_point system_;
  mutable std::mutex mutex_;
  std::map<std::pair<int, std::string>, std::unique_ptr<TraceThread>> threads_;  // guarded by it
};

// Spans of this thread are recorded in `thread`, which outlives this; null: nowhere. In a scope
// inside another, the inner one's.
class TraceHere {
 public:
  explicit TraceHere(TraceThread* thread) : outer_(here) { here = thread; }
  ~TraceHere() { here = outer_; }
  TraceHere(const TraceHere&) = delete;
  TraceHere& operator=(const TraceHere&) = delete;
  static TraceThread* thread() { return here; }

 private:
  static inline thread_local TraceThread* here = nullptr;
  TraceThread* outer_;
};

// A span from here to the end of the scope. `name` must live as long.
class TraceSpan {
 public:
  explicit TraceSpan(std::string_view name, int64_t number = -1)
      : thread_(TraceHere::thread()), name_(name), number_(number) {
    if (thread_ != nullptr) begin_ = TraceThread::Clock::now();
  }
  ~TraceSpan() {
    if (thread_ != nullptr) thread_->Add(name_, number_, begin_, TraceThread::Clock::now());
  }
  TraceSpan(const TraceSpan&) = delete;
  TraceSpan& operator=(const TraceSpan&) = delete;

 private:
  TraceThread* thread_;
  std::string_view name_;
  int64_t number_;
  TraceThread::Clock::time_point begin_;
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_TRACE_H_
