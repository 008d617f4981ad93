// The obvious loop over stored rows: a row is decoded into a buffer, then added; and the same loop
// asking for rows some ids ahead. Both take every codec and every shape.
#include <algorithm>
#include <cstring>
#include <vector>

#include "bench/lab/variant.h"
#include "embedding/quantized/quantized_lookup.h"
#include "quant/affine_row.h"
#include "quant/hfp8.h"
#include "quant/mx4.h"
#include "quant/ocp_fp8.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

template <typename T>
T Load(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void ReadFloats(const uint8_t* row, std::vector<float>& to) {
  for (size_t d = 0; d < to.size(); ++d) to[d] = static_cast<float>(Load<T>(row + d * sizeof(T)));
}

template <int kBits>
void ReadAffine(const uint8_t* row, const RowLayout& layout, std::vector<float>& to) {
  const uint8_t *params = row + layout.params_at, *codes = row + layout.codes_at;
  AffineRow affine = {0, 0, 0};  // the inverse is for encoding
  affine.scale = layout.f32_params ? Load<float>(params) : float{Load<Half>(params)};
  affine.bias = layout.f32_params ? Load<float>(params + 4) : float{Load<Half>(params + 2)};
  constexpr size_t kOfByte = 8 / kBits;
  for (size_t d = 0; d < to.size(); ++d)
    to[d] = affine.Value(codes[d / kOfByte] >> (d % kOfByte * kBits) & ((1 << kBits) - 1));
}

void ReadMx4(const uint8_t* row, std::vector<float>& to) {
  constexpr size_t kGroup = 32;
  for (size_t begin = 0; begin < to.size(); begin += kGroup, row += kGroup / 2 + 1) {
    const size_t count = std::min(kGroup, to.size() - begin);
    const uint8_t exponent = row[(count + 1) / 2];
    for (size_t i = 0; i < count; ++i)
      to[begin + i] = Mx4Decode(row[i / 2] >> (i % 2 * 4) & 15, exponent);
  }
}

void ReadRow(const uint8_t* row, const RowLayout& layout, std::vector<float>& to) {
  const auto bytes = [&](const auto& decode) {
    for (size_t d = 0; d < to.size(); ++d) to[d] = decode(row[d]);
  };
  switch (layout.reading) {
    case RowReading::kF32:
      return ReadFloats<float>(row, to);
    case RowReading::kF16:
      return ReadFloats<Half>(row, to);
    case RowReading::kBF16:
      return ReadFloats<BFloat16>(row, to);
    case RowReading::kHfp8:
      return bytes([](uint8_t code) { return Hfp8{4, 7, 240.0f}.Decode(code); });
    case RowReading::kE4M3:
      return bytes(E4M3::Decode);
    case RowReading::kE5M2:
      return bytes(E5M2::Decode);
    case RowReading::kAffine8:
      return ReadAffine<8>(row, layout, to);
    case RowReading::kAffine4:
      return ReadAffine<4>(row, layout, to);
    case RowReading::kAffine2:
      return ReadAffine<2>(row, layout, to);
    case RowReading::kMx4:
      return ReadMx4(row, to);
  }
}

void StoreNumbers(const std::vector<float>& numbers, const LookupFeature& f, int64_t output) {
  const auto store = [&]<typename Out>() {
    Out* to = f.OutputAt<Out>(output);
    for (const float x : numbers) *to++ = static_cast<Out>(x);
  };
  if (f.output_type == DType::kF16) return store.template operator()<Half>();
  if (f.output_type == DType::kBF16) return store.template operator()<BFloat16>();
  store.template operator()<float>();
}

// Bags of one feature. ahead: ids ahead that rows are asked for; 0: none is.
class BagLoop {
 public:
  BagLoop(const QuantizedLookupArgs& args, const QuantizedLookupFeature& f, int64_t ahead)
      : args_(args),
        f_(f),
        ahead_(ahead),
        last_(args.offsets[f.first_bag + f.num_bags] - 1),
        row_(static_cast<size_t>(f.dim)),
        sum_(row_.size()) {}

  void Run(int64_t begin, int64_t end) {
    for (int64_t bag = begin; bag < end; ++bag)
      f_.pooling == PoolingType::kNone ? CopyRows(bag) : SumBag(bag);
  }

 private:
  const uint8_t* RowAt(int64_t id) const {
    return static_cast<const uint8_t*>(f_.rows) + id * f_.layout.row_bytes;
  }
  // Decodes the row of id number i; false if it names none.
  bool Read(int64_t i) {
    if (ahead_ > 0) Ask(f_.ids[std::min(i + ahead_, last_)]);
    if (!IsRow(f_.ids[i], f_.num_rows)) return false;
    ReadRow(RowAt(f_.ids[i]), f_.layout, row_);
    return true;
  }
  void Ask(int64_t id) const {
    if (!IsRow(id, f_.num_rows)) return;
    const uint8_t* row = RowAt(id);
    for (int64_t at = 0; at < f_.layout.used_bytes; at += 64) __builtin_prefetch(row + at);
    __builtin_prefetch(row + f_.layout.used_bytes - 1);
  }
  void CopyRows(int64_t bag) {
    for (int64_t i = First(bag); i < First(bag + 1); ++i) {
      if (!Read(i)) std::fill(row_.begin(), row_.end(), 0.0f);
      StoreNumbers(row_, f_, i - First(0));
    }
  }
  void SumBag(int64_t bag) {
    std::fill(sum_.begin(), sum_.end(), 0.0f);
    const int64_t begin = First(bag), end = First(bag + 1);
    for (int64_t i = begin; i < end; ++i) {
      if (!Read(i)) continue;
      const float weight = args_.weights != nullptr ? args_.weights[i] : 1.0f;
      for (size_t d = 0; d < sum_.size(); ++d) sum_[d] += weight * row_[d];
    }
    if (f_.pooling == PoolingType::kMean && end > begin)
      for (float& x : sum_) x /= static_cast<float>(end - begin);
    StoreNumbers(sum_, f_, bag);
  }
  int64_t First(int64_t bag) const { return args_.offsets[f_.first_bag + bag]; }

  const QuantizedLookupArgs& args_;
  const QuantizedLookupFeature& f_;
  int64_t ahead_, last_;
  std::vector<float> row_, sum_;
};

void LookupBags(Context& ctx, const QuantizedLookupArgs& args, int64_t ahead) {
  for (const QuantizedLookupFeature& f : args.features)
    ParallelFor(ctx, f.num_bags, 256,
                [&](int64_t begin, int64_t end) { BagLoop(args, f, ahead).Run(begin, end); });
}

KernelFunction<QuantizedLookupArgs> AskAhead(const Point& point) {
  return [ahead = point.Int("ahead")](Context& ctx, const QuantizedLookupArgs& args) {
    LookupBags(ctx, args, ahead);
  };
}

const RegisterVariant<QuantizedLookupArgs> kPlain(
    {.name = "plain", .about = "the obvious loop", .takes = kTakesAll},
    [](Context& ctx, const QuantizedLookupArgs& args) { LookupBags(ctx, args, 0); });

const RegisterVariant<QuantizedLookupArgs> kAhead(
    {.name = "ask_ahead",
     .about = "the obvious loop, which asks for rows ahead",
     .takes = kTakesAll,
     .parameters = {{"ahead", {"64"}, "ids ahead that rows are asked for", WholeFrom(0, 1 << 20)}}},
    AskAhead);

}  // namespace
}  // namespace tessera::bench
