#ifndef TESSERA_EMBEDDING_CACHE_ROW_PARTS_H_
#define TESSERA_EMBEDDING_CACHE_ROW_PARTS_H_
// A cached row is its weights and its rule's states, each an array of its own, once whole (the
// table) and once for the slots of the cache. (Of a table on disk: some staged records, which lie
// at a stride, instead of the table.) A GPU moves rows by pieces of at most 16 bytes, neighbours by
// neighbours, so that threads join theirs into whole sectors of the bus; of a CPU a piece is the
// row of a part.
#include <cstdint>

#include "runtime/base/host_device.h"

namespace tessera::internal {

inline constexpr int kMaxRowParts = 8;

struct alignas(16) Bytes16 {
  uint64_t low, high;
};

struct RowPart {
  char *table, *slots;
  int64_t row_bytes;
  int64_t table_stride;  // from row to row of the table
  int piece_bytes;       // row_bytes; or 16, 8, 4, 2 or 1, which divides it and all addresses
  int64_t first_piece;   // of those of the whole row
};

struct RowParts {
  RowPart part[kMaxRowParts];
  int count = 0;
  int64_t pieces = 0;    // of a row
  bool on_disk = false;  // `table` is some staged records of it (disk_side.h), or nothing

  struct Piece {
    char *table, *slots;  // of row 0, slot 0
    int64_t row_bytes, table_stride;
    int bytes;
    TESSERA_HD char* InTable(int64_t row) const { return table + row * table_stride; }
    TESSERA_HD char* InSlot(int64_t slot) const { return slots + slot * row_bytes; }
    TESSERA_HD void Copy(char* to, const char* from) const {
#if !defined(__CUDA_ARCH__)
      if (bytes == row_bytes) {
        __builtin_memcpy(to, from, static_cast<size_t>(bytes));
        return;
      }
#endif
      switch (bytes) {
        case 16:
          *reinterpret_cast<Bytes16*>(to) = *reinterpret_cast<const Bytes16*>(from);
          return;
        case 8:
          *reinterpret_cast<uint64_t*>(to) = *reinterpret_cast<const uint64_t*>(from);
          return;
        case 4:
          *reinterpret_cast<uint32_t*>(to) = *reinterpret_cast<const uint32_t*>(from);
          return;
        case 2:
          *reinterpret_cast<uint16_t*>(to) = *reinterpret_cast<const uint16_t*>(from);
          return;
        default:
          *to = *from;
      }
    }
  };
  // Piece `index` of any row.
  TESSERA_HD Piece At(int64_t index) const {
    int p = 0;
    while (p + 1 < count && index >= part[p + 1].first_piece) ++p;
    const int64_t offset = (index - part[p].first_piece) * part[p].piece_bytes;
    return {part[p].table + offset, part[p].slots + offset, part[p].row_bytes, part[p].table_stride,
            part[p].piece_bytes};
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_CACHE_ROW_PARTS_H_
