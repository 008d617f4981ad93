#include "embedding/table/table_memory.h"

#include <algorithm>

#include "optim/state_bytes.h"

namespace tessera {
namespace {

double RowBytes(const BaseEmbeddingConfig& config, int64_t columns) {
  return static_cast<double>(SizeOf(config.data_type) * columns);
}

double StateBytes(const BaseEmbeddingConfig& config, int64_t columns) {
  return static_cast<double>(StateBytesARow(config.optimizer, config.state_type, columns));
}

}  // namespace

TableMemory& TableMemory::operator+=(const TableMemory& part) {
  rows += part.rows;
  states += part.states;
  cache += part.cache;
  making = std::max(making, part.making);
  return *this;
}

double BytesOfRows(const BaseEmbeddingConfig& config, int64_t rows, int64_t columns) {
  return static_cast<double>(rows) * (RowBytes(config, columns) + StateBytes(config, columns));
}

TableMemory MemoryOfTable(const BaseEmbeddingConfig& config, int64_t rows, int64_t columns) {
  const auto count = static_cast<double>(rows);
  TableMemory memory = {.name = config.name};
  const bool on_disk = config.location == EmbeddingLocation::kDisk;
  memory.rows =
      count * (on_disk ? static_cast<double>(kDiskIndexBytes) : RowBytes(config, columns));
  memory.states = on_disk ? 0 : count * StateBytes(config, columns);
  if (IsCached(config.location)) {
    const double whole = BytesOfRows(config, rows, columns),
                 lines = config.cache.bytes > 0 ? static_cast<double>(config.cache.bytes)
                                                : whole * config.cache.load_factor;
    memory.cache = std::min(lines, whole);
  }
  if (config.init_fn && config.data_type != DType::kF32)
    memory.making = count * static_cast<double>(SizeOf(DType::kF32) * columns);
  return memory;
}

}  // namespace tessera
