#ifndef TESSERA_SERVE_HTTP_BODY_REQUEST_ELEMENTS_H_
#define TESSERA_SERVE_HTTP_BODY_REQUEST_ELEMENTS_H_
// An input of a request as it lies in the body, and its elements, which are written straight to
// where a model reads them.
#include <optional>
#include <string>
#include <string_view>

#include "runtime/tensor.h"

namespace tessera::serve::internal {

struct RequestInput {
  DType dtype = DType::kF32;  // kF32, kI64 or kI32, as far as elements are read
  Shape shape;
  std::string_view bytes;  // the elements, row-major; or a list, flat or nested, as JSON writes it
  bool json = false;
  std::string where;  // names the list in errors
};

// "FP32", "INT64" or "INT32"; nothing for another text.
std::optional<DType> TypeNamed(std::string_view name);

// Throws Error unless the list has as many elements as the shape says; looks at it only where it is
// too short to be sure.
void CheckCount(const RequestInput& input);
// An integer that an int32_t can't hold, where that was asked for.
struct NotNarrow {};
// All elements, in their order. Throws Error for a list with something else in it, and NotNarrow.
// REQUIRES: room, and the dtype kF32, or one of integers.
void ReadElements(const RequestInput& input, float* out);
void ReadElements(const RequestInput& input, int32_t* out);
void ReadElements(const RequestInput& input, int64_t* out);

}  // namespace tessera::serve::internal
#endif  // TESSERA_SERVE_HTTP_BODY_REQUEST_ELEMENTS_H_
