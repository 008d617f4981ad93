#ifndef TESSERA_EMBEDDING_STORAGE_DISK_STATS_H_
#define TESSERA_EMBEDDING_STORAGE_DISK_STATS_H_
// Counts of a table on disk: its log of rows, and the reads and writes of blocks behind it.
#include <cstdint>
#include <string>

namespace tessera {

struct RowLogStats {
  int64_t rows_read = 0, rows_made = 0, rows_written = 0;  // by callers; made: never written before
  int64_t blocks_read = 0;                                 // for them
  int64_t rows_moved = 0;                                  // within the log, to free segments
};

struct BlockIoStats {
  int64_t reads = 0, bytes_read = 0, writes = 0, bytes_written = 0;
  int64_t max_in_flight = 0;
  double mean_in_flight = 0;  // when an operation was added to them, itself counted
};

// All 0, and no name, for a table that does not lie on disk.
struct DiskStats {
  RowLogStats rows;
  BlockIoStats io;  // of all tables that share the queue
  std::string io_name;
  bool direct = false;  // whether the page cache is bypassed
  int64_t file_bytes = 0, memory_bytes = 0;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_DISK_STATS_H_
