#include "embedding/config/placement.h"

#include <array>

#include "runtime/base/size_limits.h"

namespace tessera {
namespace {

// The value whose name in `names` is `text`; the values count from 0.
template <typename Value, size_t kCount>
Value Parse(const std::array<const char*, kCount>& names, const std::string& text,
            const char* what) {
  std::string known;
  for (size_t i = 0; i < kCount; ++i) {
    if (text == names[i]) return static_cast<Value>(i);
    known += std::string(i > 0 ? ", " : "") + names[i];
  }
  TESSERA_FAIL("{} \"{}\": expected one of {}", what, text, known);
}

constexpr std::array kLocations = {"DEVICE", "HOST", "MANAGED", "MANAGED_CACHING", "DISK"};
constexpr std::array kPolicies = {"LRU", "LFU"};

}  // namespace

std::string ToString(EmbeddingLocation location) {
  return kLocations.at(static_cast<size_t>(location));
}
EmbeddingLocation ParseEmbeddingLocation(const std::string& text) {
  return Parse<EmbeddingLocation>(kLocations, text, "location of a table");
}

std::string ToString(CachePolicy policy) { return kPolicies.at(static_cast<size_t>(policy)); }
CachePolicy ParseCachePolicy(const std::string& text) {
  return Parse<CachePolicy>(kPolicies, text, "policy of a cache");
}

void CheckCacheConfig(const CacheConfig& config) {
  TESSERA_CHECK(config.ways >= 1 && config.ways <= SizeLimits::kWays,
                "row cache: sets of {} ways; expected 1 to {}", config.ways, SizeLimits::kWays);
  TESSERA_CHECK(config.bytes > 0 || (config.load_factor > 0 && config.load_factor <= 1),
                "row cache: load factor {}; expected more than 0, at most 1", config.load_factor);
  TESSERA_CHECK(config.bytes >= 0 && config.scratch_rows >= 0,
                "row cache: {} bytes and {} rows of scratch", config.bytes, config.scratch_rows);
  CheckCount(config.bytes, SizeLimits::kBytes, "row cache: bytes");
  CheckCount(config.scratch_rows, SizeLimits::kRows, "row cache: scratch_rows");
}

void CheckCacheBytes(const CacheConfig& config, int64_t line_bytes) {
  if (config.bytes == 0 || config.bytes / line_bytes >= config.ways) return;
  throw Error(
      Format("a cache of {} bytes has no room for one set: {} ways, each a row of {} bytes with "
             "its states, take {} bytes: give as many, or fewer ways",
             config.bytes, config.ways, line_bytes, line_bytes * config.ways));
}

Tensor EmptyAt(Context& ctx, EmbeddingLocation location, const Shape& shape, DType dtype) {
  if (ctx.device() == Device::Cpu() || location == EmbeddingLocation::kDevice)
    return Tensor::Empty(ctx, shape, dtype);
  Allocator& allocator =
      location == EmbeddingLocation::kManaged ? ManagedAllocator(ctx.device()) : PinnedAllocator();
  return Tensor::EmptyIn(ctx, allocator, shape, dtype);
}

Tensor ZerosAt(Context& ctx, EmbeddingLocation location, const Shape& shape, DType dtype) {
  if (location == EmbeddingLocation::kDevice) return Tensor::Zeros(ctx, shape, dtype);
  Tensor tensor = EmptyAt(ctx, location, shape, dtype);
  tensor.Fill(ctx, 0);
  return tensor;
}

Tensor ShapeOnly(const Context& ctx, const Shape& shape, DType dtype) {
  return Tensor::Borrow(nullptr, shape, dtype, nullptr, ctx.device());
}

}  // namespace tessera
