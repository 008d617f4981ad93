#ifndef TESSERA_SERVE_PREDICT_REQUEST_H_
#define TESSERA_SERVE_PREDICT_REQUEST_H_
// One caller's request: B examples, in host memory.
#include <cstdint>

#include "runtime/tensor.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera::serve {

struct PredictRequest {
  Tensor dense;  // [B, dense_in] f32
  // A key for each feature of the model, in any order; ids i32 or i64; of a weighted model with
  // weights, f32.
  KeyedJaggedTensor features;
  bool strict = false;  // whether an id out of range (id_ranges.h) is an Error
  // Whether its ids are counted (TableCounter). Requests that are computed together agree in it.
  bool counted = true;
  // RawRows::reading of the rows that it was made of; 0: of none. A model that reads rows otherwise
  // refuses it.
  uint64_t reading = 0;

  int64_t size() const { return dense.dim(0); }
};

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_PREDICT_REQUEST_H_
