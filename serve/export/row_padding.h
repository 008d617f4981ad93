#ifndef TESSERA_SERVE_EXPORT_ROW_PADDING_H_
#define TESSERA_SERVE_EXPORT_ROW_PADDING_H_
// Tables whose padding takes what the fewer bits of their rows would save.
#include <string>
#include <vector>

#include "serve/model_spec.h"

namespace tessera::serve {

struct WastedPadding {
  RowCodec codec = {};
  int64_t dim = 0, tables = 0;  // tables of this codec and dim
  RowCodec wider = {};          // has more bits, in rows of no more bytes
  RowCodec packed = {};         // the codec with rows padded to 4 bytes, which are smaller
};

// One entry for each codec and dim of the model's tables of which that is so.
std::vector<WastedPadding> FindWastedPadding(const ModelSpec& spec);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_ROW_PADDING_H_
