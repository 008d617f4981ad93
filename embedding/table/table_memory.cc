#include "embedding/table/table_memory.h"

#include <algorithm>

#include "optim/state_bytes.h"

namespace tessera {

TableMemory& TableMemory::operator+=(const TableMemory& part) {
  rows += part.rows;
  states += part.states;
  cache += part.cache;
  making = std::max(making, part.making);
  return *this;
}

TableMemory MemoryOfTable(const BaseEmbeddingConfig& config, int64_t rows, int64_t columns) {
  constexpr double kIndexBytes = 4;
  const auto count = static_cast<double>(rows);
  const auto row_bytes = static_cast<double>(SizeOf(config.data_type) * columns);
  const auto state_bytes =
      static_cast<double>(StateBytesARow(config.optimizer, config.state_type, columns));
  TableMemory memory = {.name = config.name};
  const bool on_disk = config.location == EmbeddingLocation::kDisk;
  memory.rows = count * (on_disk ? kIndexBytes : row_bytes);
  memory.states = on_disk ? 0 : count * state_bytes;
  if (IsCached(config.location)) {
    const double whole = count * (row_bytes + state_bytes),
                 lines = config.cache.bytes > 0 ? static_cast<double>(config.cache.bytes)
                                                : whole * config.cache.load_factor;
    memory.cache = std::min(lines, whole);
  }
  if (config.init_fn && config.data_type != DType::kF32)
    memory.making = count * static_cast<double>(SizeOf(DType::kF32) * columns);
  return memory;
}

}  // namespace tessera
