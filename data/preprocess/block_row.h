#ifndef TESSERA_DATA_PREPROCESS_BLOCK_ROW_H_
#define TESSERA_DATA_PREPROCESS_BLOCK_ROW_H_
// One row of a RowBlock as bytes, on its way through a file, with all its columns: bags with their
// weights, numbers, labels, the weight of the row and its time.
#include <cstdint>
#include <span>
#include <vector>

#include "data/rows/row_block.h"

namespace tessera {

// A block without rows.
RowBlock EmptyBlock(const RowColumns& layout);

// REQUIRES: a block of this layout. The bytes are those of this machine.
std::vector<char> PackRow(const RowBlock& block, const RowColumns& layout, int64_t row);

// Adds the row, whose number is that in the block, to one of the same layout.
void UnpackRow(std::span<const char> packed, const RowColumns& layout, RowBlock& block);

}  // namespace tessera
#endif  // TESSERA_DATA_PREPROCESS_BLOCK_ROW_H_
