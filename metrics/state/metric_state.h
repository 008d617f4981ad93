#ifndef TESSERA_METRICS_STATE_METRIC_STATE_H_
#define TESSERA_METRICS_STATE_METRIC_STATE_H_
// State of a metric, as host tensors by name: for a checkpoint, and to be sent to other ranks.
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

using MetricState = std::map<std::string, Tensor>;

// Prefix of all metrics' state in a checkpoint.
inline constexpr char kMetricsPrefix[] = "metrics.";

// A tensor of the host with these elements.
template <typename T>
Tensor HostTensor(std::span<const T> values, const Shape& shape) {
  const Tensor tensor = Tensor::EmptyHost(shape, DTypeOf<T>::value);
  TESSERA_CHECK_EQ(tensor.numel(), static_cast<int64_t>(values.size()), "elements of {}", shape);
  std::copy(values.begin(), values.end(), tensor.span<T>().begin());
  return tensor;
}
template <typename T>
Tensor HostTensor(const std::vector<T>& values) {
  return HostTensor(std::span<const T>(values), {static_cast<int64_t>(values.size())});
}

// The tensor of that name. Throws Error where it is missing or of another type than T.
template <typename T>
std::span<const T> ColumnOf(const MetricState& state, const std::string& name) {
  const auto found = state.find(name);
  TESSERA_CHECK(found != state.end(), "state of a metric: there is no '{}'", name);
  TESSERA_CHECK_EQ(found->second.dtype(), DTypeOf<T>::value, "state '{}' of a metric", name);
  return found->second.span<T>();
}

// States as bytes, for ranks of one build of the library, and back. Throws Error for bytes cut
// short.
std::string PackStates(std::span<const MetricState> states);
std::vector<MetricState> UnpackStates(const std::string& bytes);

}  // namespace tessera
#endif  // TESSERA_METRICS_STATE_METRIC_STATE_H_
