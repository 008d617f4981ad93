#include "runtime/files/trace.h"

#include "runtime/base/check.h"
#include "runtime/files/atomic_file.h"

namespace tessera {
namespace {

using Micro = std::chrono::duration<double, std::micro>;

// Times are counted from 2023-11-14T22:13:20Z, so that a double still tells nanoseconds apart.
constexpr double kEpochMicroseconds = 1.7e15;

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + '"';
}

std::string Number(double microseconds) { return Format("{:.3f}", microseconds); }

std::string NameEvent(const char* what, int rank, int64_t thread, const std::string& name) {
  return "{\"ph\":\"M\",\"name\":" + Quoted(what) + ",\"pid\":" + std::to_string(rank) +
         ",\"tid\":" + std::to_string(thread) + ",\"args\":{\"name\":" + Quoted(name) + "}}";
}

}  // namespace

void TraceThread::Add(std::string_view name, int64_t number, Clock::time_point begin,
                      Clock::time_point end) {
  const std::lock_guard lock(mutex_);
  if (spans_.size() < kMaxSpans) spans_.push_back({std::string(name), number, begin, end});
}

TraceThread& TraceThread::Sibling(const std::string& name) const {
  return trace_.Thread(rank_, name);
}

Trace::Trace() : steady_(TraceThread::Clock::now()), system_(std::chrono::system_clock::now()) {}

TraceThread& Trace::Thread(int rank, const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<TraceThread>& thread = threads_[{rank, name}];
  if (!thread) thread = std::make_unique<TraceThread>(*this, rank, name);
  return *thread;
}

double Trace::Microseconds(TraceThread::Clock::time_point time) const {
  return Micro(system_.time_since_epoch()).count() - kEpochMicroseconds +
         Micro(time - steady_).count();
}

std::string Trace::ThreadEvents(const TraceThread& thread, int64_t id) const {
  const std::string place =
      ",\"pid\":" + std::to_string(thread.rank_) + ",\"tid\":" + std::to_string(id);
  std::string events = NameEvent("thread_name", thread.rank_, id, thread.name_);
  for (const TraceThread::Span& span : thread.spans_) {
    events += ",\n{\"ph\":\"X\",\"name\":" + Quoted(span.name) + place +
              ",\"ts\":" + Number(Microseconds(span.begin)) +
              ",\"dur\":" + Number(Micro(span.end - span.begin).count());
    if (span.number >= 0) events += ",\"args\":{\"batch\":" + std::to_string(span.number) + "}";
    events += "}";
  }
  return events;
}

std::string Trace::Events() const {
  const std::lock_guard lock(mutex_);
  std::string events;
  int64_t id = 0;
  int named = -1;
  for (const auto& [key, thread] : threads_) {
    if (!events.empty()) events += ",\n";
    if (key.first != std::exchange(named, key.first))
      events +=
          NameEvent("process_name", key.first, 0, "rank " + std::to_string(key.first)) + ",\n";
    const std::lock_guard spans(thread->mutex_);
    events += ThreadEvents(*thread, id++);
  }
  return events;
}

void Trace::Write(const std::string& path, const std::vector<std::string>& events) {
  AtomicFile file(path);
  const auto write = [&](std::string_view text) { file.Write(text.data(), std::ssize(text)); };
  write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  const char* separator = "";
  for (const std::string& part : events) {
    if (part.empty()) continue;
    write(separator);
    write(part);
    separator = ",\n";
  }
  write("\n]}\n");
  file.Commit();
}

}  // namespace tessera
