#ifndef TESSERA_RUNTIME_TENSOR_TEXT_H_
#define TESSERA_RUNTIME_TENSOR_TEXT_H_
// A tensor for people to read, laid out as NumPy and PyTorch do:
//
//   [[0.8823, 0.9150],
//    [0.3904, 0.6009]]
//
// Floats have four digits behind the point; those of 1e8 and more, and those that would have none
// left, are in scientific notation. Of tensors with more than 1,000 elements the first and last
// three along each dimension are shown, with "..." between.
#include <string>

#include "runtime/tensor.h"

namespace tessera {

// Waits for a device. "undefined" for no tensor.
std::string ToString(const Tensor& tensor);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_TENSOR_TEXT_H_
