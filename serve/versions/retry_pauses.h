#ifndef TESSERA_SERVE_VERSIONS_RETRY_PAUSES_H_
#define TESSERA_SERVE_VERSIONS_RETRY_PAUSES_H_
// When what could not be loaded is tried again: at once where its files have changed since, else
// after pauses that double up to a minute. Not for two threads at once.
#include <chrono>
#include <map>
#include <string>

namespace tessera::serve {

class RetryPauses {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `first`: the pause after the first failure; if it is longer than a minute, every pause.
  explicit RetryPauses(std::chrono::milliseconds first) : first_(first) {}

  // Whether `what`, whose files are as `state` says, is to be tried now.
  bool IsDue(const std::string& what, const std::string& state, Time now) const;
  void NoteFailed(const std::string& what, const std::string& state, Time now);
  void NoteGood(const std::string& what) { failures_.erase(what); }
  // Everything is due again.
  void Clear() { failures_.clear(); }

 private:
  struct Failure {
    std::string state;  // of the files that it was tried with
    std::chrono::milliseconds pause{};
    Time next;
  };

  std::chrono::milliseconds first_;
  std::map<std::string, Failure> failures_;  // by what failed
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_VERSIONS_RETRY_PAUSES_H_
