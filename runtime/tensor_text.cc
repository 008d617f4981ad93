#include "runtime/tensor_text.h"

#include <cmath>
#include <type_traits>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr int64_t kAllShown = 1000, kEdge = 3;

std::string FloatText(double value) {
  if (std::isnan(value)) return "nan";
  const double size = std::fabs(value);
  const bool scientific = std::isfinite(value) && (size >= 1e8 || (size > 0 && size < 5e-5));
  return scientific ? Format("{:.4e}", value) : Format("{:.4f}", value);
}

template <typename T>
std::string ElementText(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return FloatText(value);
  } else {
    return FloatText(static_cast<double>(static_cast<float>(value)));
  }
}

template <typename T>
class Writer {
 public:
  explicit Writer(const Tensor& tensor) : tensor_(tensor), shortened_(tensor.numel() > kAllShown) {}

  std::string Text() {
    Append(0, tensor_.data<T>());
    return text_;
  }

 private:
  void Append(int dim, const T* data) {
    if (dim == tensor_.rank()) {
      text_ += ElementText(*data);
      return;
    }
    const int64_t extent = tensor_.dim(dim);
    text_ += '[';
    for (int64_t i = 0; i < extent; ++i) {
      if (i > 0) Separate(dim);
      if (shortened_ && extent > 2 * kEdge && i == kEdge) {
        text_ += "...";
        Separate(dim);
        i = extent - kEdge;
      }
      Append(dim + 1, data + i * tensor_.strides()[dim]);
    }
    text_ += ']';
  }

  // Elements of the last dimension follow each other on a line; a matrix begins each row on a new
  // one, and matrices have an empty line between.
  void Separate(int dim) {
    const int inner = tensor_.rank() - 1 - dim;
    text_ += ',';
    if (inner == 0) {
      text_ += ' ';
      return;
    }
    text_.append(static_cast<size_t>(inner), '\n');
    text_.append(static_cast<size_t>(dim + 1), ' ');
  }

  const Tensor& tensor_;
  bool shortened_;
  std::string text_;
};

}  // namespace

std::string ToString(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  const Tensor host = tensor.ToHost();
  return VisitDType(host.dtype(), [&]<typename T>() { return Writer<T>(host).Text(); });
}

}  // namespace tessera
