#ifndef TESSERA_CLI_LATENCIES_H_
#define TESSERA_CLI_LATENCIES_H_
// How long calls took: quantiles, and a histogram whose bins double.
#include <string>
#include <vector>

namespace tessera::cli {

class Latencies {
 public:
  void Add(double seconds) { seconds_.push_back(seconds); }
  size_t count() const { return seconds_.size(); }
  // The smallest that `share` of the calls did not exceed; NaN without calls.
  double Quantile(double share) const;
  // "p50 81 us  p99 140 us  p99.9 2.1 ms" and a line a bin.
  std::string Text() const;

 private:
  std::vector<double> seconds_;
};

}  // namespace tessera::cli
#endif  // TESSERA_CLI_LATENCIES_H_
