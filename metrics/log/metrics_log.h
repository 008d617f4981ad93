#ifndef TESSERA_METRICS_LOG_METRICS_LOG_H_
#define TESSERA_METRICS_LOG_METRICS_LOG_H_
// Values over the steps of a training, as JSON lines:
//
//   {"phase": "train", "epoch": 1, "step": 100, "wall_time": 1.7e9, "loss": 0.46,
//    "metrics": {"ne-click|window_ne": 0.81, …}, "memory_bytes": 432013312}
//
// A line of an evaluation also has "epoch_fraction", after "step", where it is known. A number that
// is not finite is null.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace tessera {

struct MetricsLine {
  std::string phase;                          // "train", "eval"
  int64_t epoch = 0;                          // from 1
  int64_t step = 0;                           // over all epochs
  std::optional<double> epoch_fraction = {};  // how much of the epoch is trained
  double wall_time = 0;                       // seconds since 1970
  double loss = 0;
  std::map<std::string, double> metrics;
  int64_t memory_bytes = 0;  // resident memory of the process that writes; 0: unknown
};

class MetricsLog {
 public:
  // Begins the file, or goes on at its end. Throws Error when it can't.
  MetricsLog(const std::string& path, bool append);

  // In the file when this returns. Throws Error when it can't.
  void Write(const MetricsLine& line);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace tessera
#endif  // TESSERA_METRICS_LOG_METRICS_LOG_H_
