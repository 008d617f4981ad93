#ifndef TESSERA_SERVE_VERSIONS_TRAFFIC_SHARE_H_
#define TESSERA_SERVE_VERSIONS_TRAFFIC_SHARE_H_
// A share of the requests that name no version, which one version is to have.
#include <atomic>
#include <cstdint>
#include <string>

namespace tessera::serve {

struct TrafficShare {
  int64_t version = 0;  // the number of its folder; 0: none has the share
  int percent = 0;      // 1 to 100
};

// "5:10": 10 percent for version 5. Throws Error, which begins with `flag`, for another text.
TrafficShare ParseTrafficShare(const std::string& text, const std::string& flag);

// Says which requests belong to the share: of every 100 in a row `percent`, evenly spread. Any
// thread may call.
class ShareCounter {
 public:
  explicit ShareCounter(int percent) : percent_(static_cast<uint64_t>(percent)) {}
  bool Next() {
    const uint64_t n = count_.fetch_add(1, std::memory_order_relaxed) % 100;
    return (n + 1) * percent_ / 100 > n * percent_ / 100;
  }

 private:
  const uint64_t percent_;
  std::atomic<uint64_t> count_ = 0;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_VERSIONS_TRAFFIC_SHARE_H_
