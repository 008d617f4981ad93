#ifndef TESSERA_SPARSE_SEQUENCE_POSITIONS_H_
#define TESSERA_SPARSE_SEQUENCE_POSITIONS_H_
// Sequences as features of their own, one for each position, so that a table that pools bags hands
// out the rows of a sequence one by one:
//
//   "hist"  [7 8] [] [9]      becomes, for 3 positions,
//   "hist[0]"  [7] [] [9]     "hist[1]"  [8] [] []     "hist[2]"  [] [] []
#include <cstdint>
#include <map>
#include <string>

#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

// "hist[2]".
std::string PositionKey(const std::string& key, int64_t position);

// Each key of `positions` split into so many, in its place; ids keep their weights, and all else
// stays. Features that are split already stay as they are. On a GPU the host waits, as the ids are
// brought to it and back. Throws Error for a key that is missing, a bag with more ids than
// positions, a variable batch, and weights that need a gradient.
KeyedJaggedTensor SplitIntoPositions(Context& ctx, const KeyedJaggedTensor& features,
                                     const std::map<std::string, int64_t>& positions);

}  // namespace tessera
#endif  // TESSERA_SPARSE_SEQUENCE_POSITIONS_H_
