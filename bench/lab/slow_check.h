#ifndef TESSERA_BENCH_LAB_SLOW_CHECK_H_
#define TESSERA_BENCH_LAB_SLOW_CHECK_H_
// Says whose code does not come back: unless this is destroyed within its patience, a line that
// names the code is told, once.
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace tessera::bench {

class SlowCheck {
 public:
  using Tell = std::function<void(const std::string& line)>;

  // who: "variant mine". tell: called on a thread of its own; null: to standard error.
  SlowCheck(std::string who, std::chrono::milliseconds patience, Tell tell = nullptr);

 private:
  std::jthread watch_;
};

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_SLOW_CHECK_H_
