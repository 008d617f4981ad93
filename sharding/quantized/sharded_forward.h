#ifndef TESSERA_SHARDING_QUANTIZED_SHARDED_FORWARD_H_
#define TESSERA_SHARDING_QUANTIZED_SHARDED_FORWARD_H_
// One forward of ShardedQuantizedTables.
#include "runtime/context.h"
#include "sharding/quantized/sharded_quantized_state.h"

namespace tessera::internal {

QuantizedOutputs ShardedForward(Context& ctx, ShardedQuantizedState& state,
                                const KeyedJaggedTensor& kjt);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_QUANTIZED_SHARDED_FORWARD_H_
