#include "embedding/table/table_memory.h"

#include <algorithm>

#include "embedding/config/cache_size.h"
#include "optim/state_bytes.h"

namespace tessera {
namespace {

double RowBytes(const BaseEmbeddingConfig& config, int64_t columns) {
  return static_cast<double>(SizeOf(config.data_type) * columns);
}

double StateBytes(const BaseEmbeddingConfig& config, int64_t columns) {
  return static_cast<double>(StateBytesARow(config.optimizer, config.state_type, columns));
}

// The bytes of a row in the largest of its parts: the row itself, or a state of it.
double LargestPart(const BaseEmbeddingConfig& config, int64_t columns) {
  const auto state = static_cast<double>(SizeOf(config.state_type) * columns);
  return std::max(RowBytes(config, columns), std::min(StateBytes(config, columns), state));
}

}  // namespace

TableMemory& TableMemory::operator+=(const TableMemory& part) {
  rows += part.rows;
  states += part.states;
  cache += part.cache;
  making = std::max(making, part.making);
  cache_copy = std::max(cache_copy, part.cache_copy);
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
  if (IsCached(config.location) && rows > 0 && columns > 0) {
    const double line = BytesOfRows(config, 1, columns);
    const auto lines =
        static_cast<double>(NumCacheLines(config.cache, rows, static_cast<int64_t>(line)));
    memory.cache = BytesOfLines(lines, line);
    if (!on_disk && config.cache.scratch_rows == 0)
      memory.cache_copy = lines * LargestPart(config, columns);
  }
  if (config.init_fn && config.data_type != DType::kF32)
    memory.making = count * static_cast<double>(SizeOf(DType::kF32) * columns);
  return memory;
}

}  // namespace tessera
