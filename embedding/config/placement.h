#ifndef TESSERA_EMBEDDING_CONFIG_PLACEMENT_H_
#define TESSERA_EMBEDDING_CONFIG_PLACEMENT_H_
// Location of a table and of its optimizer state, with the names of FBGEMM's EmbeddingLocation:
//
//   kDevice          memory of the context's device
//   kHost            pinned memory of the host, which kernels of a GPU read and write over the bus
//   kManaged         CUDA's unified memory: the same, but larger than what can be pinned; pages
//                    stay on the host
//   kManagedCaching  all of it as under kHost, and a cache of rows on the device (row_cache.h)
//   kDisk            all of it in a scratch file (storage/row_log.h), and a cache of rows on the
//                    device: tables larger than memory
//
// On a CPU the first three are one; the cache of the last two is in host memory too.
#include <cstdint>
#include <string>

#include "runtime/tensor.h"

namespace tessera {

enum class EmbeddingLocation { kDevice, kHost, kManaged, kManagedCaching, kDisk };
// "DEVICE", "HOST", "MANAGED", "MANAGED_CACHING", "DISK".
std::string ToString(EmbeddingLocation location);
// The inverse. Throws Error for anything else.
EmbeddingLocation ParseEmbeddingLocation(const std::string& text);

// Whether the rows that are used lie in a cache.
inline bool IsCached(EmbeddingLocation location) {
  return location == EmbeddingLocation::kManagedCaching || location == EmbeddingLocation::kDisk;
}

// Row that a full set evicts: the least recently used one, or the one used least often since it
// came.
enum class CachePolicy { kLru, kLfu };
std::string ToString(CachePolicy policy);  // "LRU", "LFU"
CachePolicy ParseCachePolicy(const std::string& text);

struct CacheConfig {
  CachePolicy policy = CachePolicy::kLru;
  int ways = 32;             // lines of a set; 1: direct-mapped
  double load_factor = 0.2;  // lines, as a share of the table's rows, in (0, 1]
  int64_t bytes = 0;         // above 0: lines for so many bytes of rows and states instead
  // Slots for rows that find no line. 0: as many as the largest batch so far has ids (at most the
  // table's rows), so that the host never waits for a batch. Above 0, and always under kDisk: this
  // many at first, which saves memory; a batch with more ids waits in Load for its prefetch, then
  // makes room for the rows that need it.
  int64_t scratch_rows = 0;
  // Folder of the file under kDisk; "": $TMPDIR, or /tmp. The file has no name there, and
  // disappears with the process.
  std::string folder = {};
};
// Throws Error for a config that makes no sense.
void CheckCacheConfig(const CacheConfig& config);
// Throws Error where `bytes`, if above 0, have no room for a set of lines. A line holds a row with
// its states, of `line_bytes`.
void CheckCacheBytes(const CacheConfig& config, int64_t line_bytes);

// Returns an uninitialised (EmptyAt) or zero tensor that ctx's device can use as any other. Under
// kManagedCaching it is the host memory that the cache stands before.
Tensor EmptyAt(Context& ctx, EmbeddingLocation location, const Shape& shape,
               DType dtype = DType::kF32);
Tensor ZerosAt(Context& ctx, EmbeddingLocation location, const Shape& shape,
               DType dtype = DType::kF32);
// A tensor of ctx's device with a shape and a type, and no memory.
Tensor ShapeOnly(const Context& ctx, const Shape& shape, DType dtype = DType::kF32);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CONFIG_PLACEMENT_H_
