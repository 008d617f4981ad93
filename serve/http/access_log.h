#ifndef TESSERA_SERVE_HTTP_ACCESS_LOG_H_
#define TESSERA_SERVE_HTTP_ACCESS_LOG_H_
// A log of the requests that a server answered, a line of JSON each:
//
//   {"time":"2026-11-26T05:00:00.123Z","client":"127.0.0.1","method":"POST","path":"/v2/…",
//    "status":200,"request_bytes":812,"bytes":97,"us":350,"model":"clicks","version":"3","rows":2,
//    "read_us":40,"queue_us":12,"compute_us":180,"write_us":9}
//
// "time" is when the request began to come, "us" the time from there until its answer was sent,
// "bytes" the answer's body. What follows "us" is of inferences alone; a stage that was not reached
// took 0. A request whose head could not be read has an empty method and path.
//
// Lines are gathered in memory and written by a thread of the log's own, so that no answer waits
// for a disk. They are appended (O_APPEND) in whole lines where the disk takes them: the file may
// be cut while it is open (copytruncate), or renamed and then opened anew (Reopen). Where it cannot
// be written, a sentence says so once, until it can be written again; lines that find no room in
// memory meanwhile, or are not taken at the end, are dropped and counted, and at the end a sentence
// says how many.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "serve/http/inference_facts.h"

namespace tessera::serve {

struct AccessEntry {
  std::chrono::system_clock::time_point time = {};  // when the request began to come
  std::string client = {}, method = {}, path = {};
  int status = 0;
  int64_t request_bytes = 0, bytes = 0;  // of the bodies
  std::chrono::microseconds taken{0};
  std::optional<InferenceFacts> inference = {};
};

// A line, with its end. Texts are cut to 500 bytes.
std::string AccessLine(const AccessEntry& entry);

class AccessLog {
 public:
  // "-" is standard output. Throws Error for a file that cannot be opened, for a pipe without a
  // reader, and where its thread cannot begin. `say` gets the sentences about a file that cannot be
  // written and lines that are lost, on a thread of the log's own; else standard error.
  explicit AccessLog(std::string path, std::function<void(const std::string&)> say = {});
  // Writes what is there; gives up where nothing is taken for a second.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  // Any thread may call these. Add waits for no writing, and throws nothing.
  void Add(const AccessEntry& entry) noexcept;
  // Opens the file of this name, which may be another one by now, before more is written.
  void Reopen();
  // Lines that were dropped.
  int64_t dropped() const;

 private:
  void Close();
  void Work();
  void OpenAnew();
  void Write(std::string lines, bool last);
  void Drop(std::string_view lines);
  void SayOnce(const char* what, const std::string& why);
  void Say(const std::string& what);

  static constexpr size_t kMaxBytes = 8 << 20;  // that wait to be written
  static constexpr std::chrono::milliseconds kPause{100};

  const std::string path_;
  const std::function<void(const std::string&)> say_;
  int file_ = -1;             // of the thread
  bool failed_ = false;       // of the thread: the last writing failed
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::string lines_;
  int64_t dropped_ = 0;
  bool reopen_ = false, closed_ = false;
  std::thread thread_;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_HTTP_ACCESS_LOG_H_
