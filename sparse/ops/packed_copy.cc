#include "sparse/ops/packed_copy.h"

namespace tessera {
namespace {

constexpr int64_t kAlignment = 256;

// The place where each tensor begins in the block, and the block's end.
std::vector<int64_t> Places(const std::vector<Tensor>& tensors) {
  std::vector<int64_t> places = {0};
  for (const Tensor& t : tensors) {
    const int64_t bytes = t.defined() ? t.nbytes() : 0;
    places.push_back(places.back() + (bytes + kAlignment - 1) / kAlignment * kAlignment);
  }
  return places;
}

// The block as the tensors that lie in it.
std::vector<Tensor> Unpacked(const Tensor& block, const std::vector<Tensor>& like,
                             const std::vector<int64_t>& places) {
  std::vector<Tensor> parts;
  for (size_t i = 0; i < like.size(); ++i)
    parts.push_back(like[i].defined()
                        ? block.Reinterpret(places[i], like[i].shape(), like[i].dtype())
                        : Tensor());
  return parts;
}

}  // namespace

std::vector<Tensor> MovedTogether(Context& ctx, const std::vector<Tensor>& tensors, Device device) {
  const std::vector<int64_t> places = Places(tensors);
  const Shape shape = {places.back()};
  const bool to_host = device == Device::Cpu();
  for (const Tensor& t : tensors)
    TESSERA_CHECK(!t.defined() || t.device() == (to_host ? ctx.device() : Device::Cpu()),
                  "a tensor {} on {} cannot go to {} by a context on {}", t.shape(), t.device(),
                  device, ctx.device());
  const Tensor packed =
      to_host ? Tensor::Empty(ctx, shape, DType::kU8) : Tensor::EmptyPinned(ctx, shape, DType::kU8);
  const std::vector<Tensor> slots = Unpacked(packed, tensors, places);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].defined()) slots[i].CopyFrom(ctx, tensors[i]);
  return Unpacked(packed.To(ctx, device), tensors, places);
}

}  // namespace tessera
