#include "metrics/state/metric_state.h"

#include <cstring>

namespace tessera {
namespace {

class Packer {
 public:
  void Number(int64_t n) { Bytes(&n, sizeof n); }
  void Bytes(const void* data, size_t count) {
    bytes_.append(static_cast<const char*>(data), count);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(const std::string& bytes) : bytes_(bytes) {}
  int64_t Number() {
    int64_t n = 0;
    Bytes(&n, sizeof n);
    return n;
  }
  void Bytes(void* out, size_t count) {
    TESSERA_CHECK(count <= bytes_.size() - at_, "states of metrics: cut short at byte {}", at_);
    if (count > 0) std::memcpy(out, bytes_.data() + at_, count);
    at_ += count;
  }

 private:
  const std::string& bytes_;
  size_t at_ = 0;
};

// Shapes are not sent: the reader of a state knows its columns.
void Pack(Packer& packer, const std::string& name, const Tensor& tensor) {
  packer.Number(static_cast<int64_t>(name.size()));
  packer.Bytes(name.data(), name.size());
  packer.Number(static_cast<int64_t>(tensor.dtype()));
  packer.Number(tensor.numel());
  packer.Bytes(tensor.raw_data(), static_cast<size_t>(tensor.nbytes()));
}

void Unpack(Unpacker& unpacker, MetricState& state) {
  std::string name(static_cast<size_t>(unpacker.Number()), ' ');
  unpacker.Bytes(name.data(), name.size());
  const auto dtype = static_cast<DType>(unpacker.Number());
  const Tensor tensor = Tensor::EmptyHost({unpacker.Number()}, dtype);
  unpacker.Bytes(tensor.raw_data(), static_cast<size_t>(tensor.nbytes()));
  state[name] = tensor;
}

}  // namespace

std::string PackStates(std::span<const MetricState> states) {
  Packer packer;
  packer.Number(static_cast<int64_t>(states.size()));
  for (const MetricState& state : states) {
    packer.Number(static_cast<int64_t>(state.size()));
    for (const auto& [name, tensor] : state) Pack(packer, name, tensor);
  }
  return packer.Take();
}

std::vector<MetricState> UnpackStates(const std::string& bytes) {
  Unpacker unpacker(bytes);
  std::vector<MetricState> states(static_cast<size_t>(unpacker.Number()));
  for (MetricState& state : states)
    for (int64_t columns = unpacker.Number(); columns > 0; --columns) Unpack(unpacker, state);
  return states;
}

}  // namespace tessera
