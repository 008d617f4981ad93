#include "metrics/log/metrics_log.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/base/check.h"

namespace tessera {

MetricsLog::MetricsLog(const std::string& path, bool append)
    : path_(path), file_(std::fopen(path.c_str(), append ? "ab" : "wb")) {
  if (!file_) throw Error(Format("{}: cannot be written: {}", path, std::strerror(errno)));
}

void MetricsLog::Write(const MetricsLine& line) {
  nlohmann::ordered_json json = {{"phase", line.phase}, {"epoch", line.epoch}, {"step", line.step}};
  if (line.epoch_fraction) json["epoch_fraction"] = *line.epoch_fraction;
  json["wall_time"] = line.wall_time;
  json["loss"] = line.loss;
  json["metrics"] = line.metrics;
  if (line.memory_bytes > 0) json["memory_bytes"] = line.memory_bytes;
  const std::string text = json.dump() + "\n";
  if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() ||
      std::fflush(file_.get()) != 0)
    throw Error(Format("{}: cannot be written: {}", path_, std::strerror(errno)));
}

}  // namespace tessera
