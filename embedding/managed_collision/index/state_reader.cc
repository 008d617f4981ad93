#include "embedding/managed_collision/index/state_reader.h"

#include <utility>

namespace tessera::internal {
namespace {

bool Fits(const Shape& shape, const Shape& expected) {
  if (shape.rank() != expected.rank()) return false;
  for (int i = 0; i < shape.rank(); ++i)
    if (expected[i] != -1 && shape[i] != expected[i]) return false;
  return true;
}

// "[n, 3]" where the first extent may be any.
std::string TextOf(const Shape& expected) {
  std::string text = ToString(expected);
  for (size_t at = text.find("-1"); at != std::string::npos; at = text.find("-1", at))
    text.replace(at, 2, "n");
  return text;
}

}  // namespace

StateReader::StateReader(Context& ctx, std::string module, const std::vector<NamedTensor>& tensors)
    : ctx_(ctx), module_(std::move(module)) {
  for (const NamedTensor& t : tensors)
    TESSERA_CHECK(left_.emplace(t.name, t.tensor).second, "state of {}: {} is given twice", module_,
                  t.name);
}

std::optional<Tensor> StateReader::Remove(const std::string& name) {
  const auto found = left_.extract(name);
  return found.empty() ? std::nullopt : std::optional(found.mapped());
}

Tensor StateReader::Take(const std::string& name, DType dtype, const Shape& shape) {
  const Tensor tensor = TakeIfThere(name, dtype, shape);
  TESSERA_CHECK(tensor.defined(), "state of {}: {} is missing", module_, name);
  return tensor;
}

Tensor StateReader::TakeIfThere(const std::string& name, DType dtype, const Shape& shape) {
  const std::optional<Tensor> removed = Remove(name);
  if (!removed) return {};
  const Tensor& tensor = *removed;
  TESSERA_CHECK(tensor.dtype() == dtype && Fits(tensor.shape(), shape),
                "state of {}: {} is {} {}; expected {} {}", module_, name, tensor.dtype(),
                tensor.shape(), dtype, TextOf(shape));
  return tensor.To(ctx_, Device::Cpu()).Contiguous(ctx_);
}

std::vector<int64_t> StateReader::TakeNumbers(const std::string& name) {
  const Tensor tensor = TakeIfThere(name, DType::kI64, {-1});
  return tensor.defined() ? tensor.ToVector<int64_t>() : std::vector<int64_t>();
}

std::vector<int64_t> StateReader::TakeRows(const std::string& name, int64_t rows) {
  std::vector<int64_t> taken = TakeNumbers(name);
  for (const int64_t row : taken)
    TESSERA_CHECK(row >= 0 && row < rows, "state of {}: {} names row {}, but there are {}", module_,
                  name, row, rows);
  return taken;
}

std::optional<int64_t> StateReader::TakeNumber(const std::string& name) {
  const std::optional<Tensor> removed = Remove(name);
  if (!removed) return {};
  const Tensor& tensor = *removed;
  TESSERA_CHECK(
      (tensor.dtype() == DType::kI32 || tensor.dtype() == DType::kI64) && tensor.numel() == 1,
      "state of {}: {} is {} {}; expected one i32 or i64", module_, name, tensor.dtype(),
      tensor.shape());
  const Tensor host = tensor.To(ctx_, Device::Cpu());  // from any device
  return host.dtype() == DType::kI32 ? host.ToVector<int32_t>().front()
                                     : host.ToVector<int64_t>().front();
}

void StateReader::Finish() const {
  TESSERA_CHECK(left_.empty(), "state of {}: there is no {}", module_, left_.begin()->first);
}

}  // namespace tessera::internal
