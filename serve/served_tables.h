#ifndef TESSERA_SERVE_SERVED_TABLES_H_
#define TESSERA_SERVE_SERVED_TABLES_H_
// One copy of a model's stored rows and maps of raw ids, where the weights file is mapped: it
// begins as the file, whose pages it shares with other copies and processes, and deltas change it;
// what they touch is then memory of its own. New rows take address space that is reserved behind
// the file's.
//
// While anybody has a lease, the copy is one version, and does not change.
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/tensor.h"
#include "serve/mapped_tensors.h"
#include "serve/model_delta.h"
#include "serve/raw_id_map.h"

namespace tessera::serve {

class ServedTables : public std::enable_shared_from_this<ServedTables> {
 public:
  // Throws Error, naming the file, for tensors that are not there or not what `spec` says.
  static std::shared_ptr<ServedTables> Map(const MappedTensors& weights, const ModelSpec& spec);

  // Stored rows of a table, u8 [stored rows, row bytes].
  Tensor Rows(size_t table) const;
  // null for a table without raw ids.
  const RawIdMap* ids(size_t table) const { return ids_[table] ? &*ids_[table] : nullptr; }
  int64_t version() const { return spec_.version; }

  // Makes it the version of the delta. REQUIRES: it is the one before, and nobody has a lease.
  void Apply(const ModelDelta& delta);

  // A pointer to this that is a lease. REQUIRES: nobody has one.
  std::shared_ptr<const ServedTables> Lease();
  // Whether nobody has a lease, which is waited for.
  bool WaitUntilFree(std::chrono::milliseconds most);

 private:
  ServedTables(const MappedTensors& weights, const ModelSpec& spec);

  ModelSpec spec_;
  std::vector<Tensor> rows_;  // with room for all that may come
  std::vector<std::optional<RawIdMap>> ids_;
  std::mutex mutex_;  // of what follows
  std::condition_variable freed_;
  bool leased_ = false;
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_SERVED_TABLES_H_
