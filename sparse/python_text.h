#ifndef TESSERA_SPARSE_PYTHON_TEXT_H_
#define TESSERA_SPARSE_PYTHON_TEXT_H_
// Numbers and tensors as Python prints them, so that a container prints as TorchRec's does. Waits
// for a device.
#include <string>

#include "runtime/tensor.h"

namespace tessera {

// repr(float): the shortest text that reads back as the same double, "1.0", "0.0001", "1e-05",
// "1e+16", "inf", "nan", "-0.0".
std::string PythonFloat(double value);

// tensor.tolist() as text: "[[1, 2], [3, 4]]". Floats are widened to double first, bools are "True"
// and "False".
std::string PythonList(const Tensor& tensor);

// One list a bag: "[[1, 2], []]". Bag b is the lengths[b] rows of `values` after those of the bags
// before it.
std::string PythonBags(const Tensor& values, const Tensor& lengths);

}  // namespace tessera
#endif  // TESSERA_SPARSE_PYTHON_TEXT_H_
