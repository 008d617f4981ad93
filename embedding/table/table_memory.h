#ifndef TESSERA_EMBEDDING_TABLE_TABLE_MEMORY_H_
#define TESSERA_EMBEDDING_TABLE_TABLE_MEMORY_H_
// The memory that a table takes, from its configuration alone, before there is one.
//
//   rows        all of them, of a growing table up to its cap, though they take memory only as
//               they come into use; on DISK kDiskIndexBytes a row
//   states      what the rule remembers of them
//   cache       lines of a cached table: rows and states again, and the cache's own index
//   making      beside these, while it is filled: an init_fn fills rows of 16 bits as f32 first
//   cache_copy  beside these, once: a cache in front of host memory makes room for the ids of the
//               first batch, for which it copies one part after another
#include <string>

#include "embedding/config/embedding_configs.h"

namespace tessera {

// A table on disk keeps in memory where each row's record lies.
inline constexpr int64_t kDiskIndexBytes = 4;

struct TableMemory {
  std::string name;
  double rows = 0, states = 0, cache = 0, making = 0, cache_copy = 0;

  double total() const { return rows + states + cache; }  // for life
  TableMemory& operator+=(const TableMemory& part);
};

// Memory of a part of the table that has so many of its rows and columns.
TableMemory MemoryOfTable(const BaseEmbeddingConfig& config, int64_t rows, int64_t columns);
inline TableMemory MemoryOfTable(const BaseEmbeddingConfig& config) {
  return MemoryOfTable(config, config.num_embeddings, config.embedding_dim);
}

// Bytes of so many rows and columns with their states, wherever they lie.
double BytesOfRows(const BaseEmbeddingConfig& config, int64_t rows, int64_t columns);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_TABLE_MEMORY_H_
