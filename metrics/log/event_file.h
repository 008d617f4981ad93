#ifndef TESSERA_METRICS_LOG_EVENT_FILE_H_
#define TESSERA_METRICS_LOG_EVENT_FILE_H_
// Scalars for TensorBoard: a file of TFRecords, each an Event protobuf.
//
//   record   u64 length | u32 masked CRC-32C of the length | bytes | u32 masked CRC-32C of the
//            bytes
//   Event    1: double wall_time, 2: int64 step, 3: string file_version (in the first record alone,
//            "brain.Event:2"), 5: Summary {1: Value {1: string tag, 2: float simple_value}, …},
//            7: SessionLog {1: enum status} (in the second record alone, 1: START)
// Numbers are little endian.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

namespace tessera {

class EventFileWriter {
 public:
  // Makes the folder, and in it a file of its own, which TensorBoard knows by "tfevents" in its
  // name. Of earlier files of the folder, TensorBoard then shows the events before `first_step`
  // alone. Throws Error when it can't.
  explicit EventFileWriter(const std::string& folder, int64_t first_step = 0);

  // One event: values by tag; those that are not finite are left out, as TensorBoard can't draw
  // them. In the file when this returns. Throws Error when it can't.
  void AddScalars(int64_t step, double wall_time, const std::map<std::string, double>& values);

  const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void WriteRecord(const std::string& bytes);

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace tessera
#endif  // TESSERA_METRICS_LOG_EVENT_FILE_H_
