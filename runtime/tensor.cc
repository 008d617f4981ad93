#include "runtime/tensor.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tessera {
namespace {

// Elements of a piece in elementwise loops.
constexpr int64_t kGrain = 1 << 16;

Shape RowMajorStrides(const Shape& shape) {
  Shape strides = shape;
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

// The longest run of contiguous elements at the end of the shape, and a walk over the runs of a
// strided tensor.
struct Runs {
  int outer_rank;
  int64_t length = 1, count = 1;

  explicit Runs(const Tensor& t) : outer_rank(t.rank()) {
    while (outer_rank > 0 &&
           (t.strides()[outer_rank - 1] == length || t.shape()[outer_rank - 1] == 1)) {
      length *= t.shape()[outer_rank - 1];
      --outer_rank;
    }
    for (int i = 0; i < outer_rank; ++i) count *= t.shape()[i];
  }
  // Offset in elements of run `index`.
  int64_t Offset(const Tensor& t, int64_t index) const {
    int64_t offset = 0;
    for (int i = outer_rank - 1; i >= 0; --i) {
      offset += index % t.shape()[i] * t.strides()[i];
      index /= t.shape()[i];
    }
    return offset;
  }
};

template <typename To, typename From>
To ConvertElement(From value) {
  constexpr bool kWide = std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>;
  constexpr bool kNarrow = std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>;
  if constexpr (kWide)
    return ConvertElement<To>(static_cast<float>(value));
  else if constexpr (kNarrow)
    return To(static_cast<float>(value));
  else
    return static_cast<To>(value);
}

}  // namespace

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  TESSERA_CHECK_LE(dims.size(), static_cast<size_t>(kMaxRank), "extents of a shape");
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

int64_t Shape::numel() const {
  int64_t n = 1;
  for (int64_t d : dims()) n *= d;
  return n;
}

std::string ToString(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

struct Tensor::Storage {
  void* data = nullptr;
  int64_t bytes = 0;
  Allocator* allocator = nullptr;  // null: borrowed
  std::shared_ptr<void> owner;
  ~Storage() {
    if (allocator != nullptr) allocator->Deallocate(data, bytes);
  }
};

Tensor::Tensor(std::shared_ptr<Storage> storage, void* data, const Shape& shape, DType dtype)
    : storage_(std::move(storage)),
      data_(data),
      shape_(shape),
      strides_(RowMajorStrides(shape)),
      dtype_(dtype) {
  for (int64_t d : shape.dims()) TESSERA_CHECK_GE(d, 0, "shape {}", shape);
}

Tensor Tensor::Empty(Context& ctx, const Shape& shape, DType dtype) {
  for (int64_t d : shape.dims()) TESSERA_CHECK_GE(d, 0, "shape {}", shape);
  auto storage = std::make_shared<Storage>();
  storage->bytes = shape.numel() * SizeOf(dtype);
  storage->data = ctx.allocator().Allocate(storage->bytes);
  storage->allocator = &ctx.allocator();
  void* data = storage->data;
  return Tensor(std::move(storage), data, shape, dtype);
}

Tensor Tensor::Zeros(Context& ctx, const Shape& shape, DType dtype) {
  Tensor t = Empty(ctx, shape, dtype);
  char* bytes = static_cast<char*>(t.raw_data());
  // Split, so that the pages of a large table are touched first by several threads.
  ParallelFor(ctx, t.nbytes(), 1 << 20, [&](int64_t begin, int64_t end) {
    std::memset(bytes + begin, 0, static_cast<size_t>(end - begin));
  });
  return t;
}

Tensor Tensor::Full(Context& ctx, const Shape& shape, double value, DType dtype) {
  Tensor t = Empty(ctx, shape, dtype);
  t.Fill(ctx, value);
  return t;
}

Tensor Tensor::Borrow(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner) {
  auto storage = std::make_shared<Storage>();
  storage->data = data;
  storage->owner = std::move(owner);
  return Tensor(std::move(storage), data, shape, dtype);
}

bool Tensor::is_contiguous() const { return numel() == 0 || Runs(*this).outer_rank == 0; }

int64_t Tensor::row_stride() const {
  TESSERA_CHECK_EQ(rank(), 2, "row stride of a tensor {}", shape_);
  TESSERA_CHECK(shape_[1] <= 1 || strides_[1] == 1, "rows of a tensor {} are not contiguous",
                shape_);
  return strides_[0];
}

Tensor Tensor::Narrow(int dim, int64_t start, int64_t length) const {
  TESSERA_CHECK(dim >= 0 && dim < rank(), "Narrow along dimension {} of a tensor {}", dim, shape_);
  TESSERA_CHECK(start >= 0 && length >= 0 && start + length <= shape_[dim],
                "Narrow of a tensor {} along dimension {}: start {}, length {} do not fit", shape_,
                dim, start, length);
  Tensor view = *this;
  view.shape_[dim] = length;
  view.data_ = static_cast<char*>(data_) + start * strides_[dim] * SizeOf(dtype_);
  return view;
}

Tensor Tensor::Reshape(const Shape& shape) const {
  TESSERA_CHECK(is_contiguous(), "Reshape of a tensor {} that is not contiguous", shape_);
  Shape full = shape;
  int64_t known = 1;
  int unknown = -1;
  for (int i = 0; i < full.rank(); ++i) {
    if (full[i] == -1 && unknown < 0)
      unknown = i;
    else
      known *= full[i];
  }
  if (unknown >= 0) full[unknown] = known == 0 ? 0 : numel() / known;
  TESSERA_CHECK_EQ(full.numel(), numel(), "Reshape of a tensor {} to {}", shape_, shape);
  return Tensor(storage_, data_, full, dtype_);
}

void Tensor::CopyBytesTo(void* out) const {
  if (numel() == 0) return;
  const Runs runs(*this);
  const int64_t size = SizeOf(dtype_), run_bytes = runs.length * size;
  for (int64_t r = 0; r < runs.count; ++r)
    std::memcpy(static_cast<char*>(out) + r * run_bytes,
                static_cast<const char*>(data_) + runs.Offset(*this, r) * size,
                static_cast<size_t>(run_bytes));
}

void Tensor::CopyIn(const Tensor& to, const void* from, int64_t elements) {
  TESSERA_CHECK_EQ(elements, to.numel(), "values for a tensor {}", to.shape());
  if (elements > 0) std::memcpy(to.raw_data(), from, static_cast<size_t>(to.nbytes()));
}

Tensor Tensor::Clone(Context& ctx) const {
  if (!defined()) return {};
  Tensor copy = Empty(ctx, shape_, dtype_);
  CopyBytesTo(copy.raw_data());
  return copy;
}

Tensor Tensor::To(Context& ctx, DType dtype) const {
  if (dtype == dtype_) return *this;
  const Tensor source = Contiguous(ctx);
  Tensor result = Empty(ctx, shape_, dtype);
  VisitDType(dtype_, [&]<typename Source>() {
    VisitDType(dtype, [&]<typename Target>() {
      const Source* in = source.data<Source>();
      Target* out = result.data<Target>();
      ParallelFor(ctx, numel(), kGrain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = ConvertElement<Target>(in[i]);
      });
    });
  });
  return result;
}

void Tensor::CopyFrom(Context&, const Tensor& source) const {
  TESSERA_CHECK_EQ(shape_, source.shape(), "CopyFrom");
  TESSERA_CHECK_EQ(dtype_, source.dtype(), "CopyFrom");
  if (numel() == 0) return;
  const Runs to(*this), from(source);
  const int64_t size = SizeOf(dtype_), length = std::min(to.length, from.length);
  const int64_t to_parts = to.length / length, from_parts = from.length / length;
  for (int64_t i = 0; i < numel() / length; ++i)
    std::memcpy(
        static_cast<char*>(data_) + (to.Offset(*this, i / to_parts) + i % to_parts * length) * size,
        static_cast<const char*>(source.data_) +
            (from.Offset(source, i / from_parts) + i % from_parts * length) * size,
        static_cast<size_t>(length * size));
}

void Tensor::Fill(Context& ctx, double value) const {
  if (numel() == 0) return;
  const Runs runs(*this);
  VisitDType(dtype_, [&]<typename T>() {
    const T element = ConvertElement<T>(value);
    T* data = this->data<T>();
    for (int64_t r = 0; r < runs.count; ++r) {
      T* run = data + runs.Offset(*this, r);
      ParallelFor(ctx, runs.length, kGrain,
                  [&](int64_t begin, int64_t end) { std::fill(run + begin, run + end, element); });
    }
  });
}

bool SameBits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  TESSERA_CHECK(a.is_contiguous() && b.is_contiguous(),
                "SameBits of tensors {} that are not contiguous", a.shape());
  return a.numel() == 0 ||
         std::memcmp(a.raw_data(), b.raw_data(), static_cast<size_t>(a.nbytes())) == 0;
}

void FillUniform(Context& ctx, const Tensor& tensor, float low, float high) {
  TESSERA_CHECK(tensor.is_contiguous(), "FillUniform of a tensor {} that is not contiguous",
                tensor.shape());
  float* data = tensor.data<float>();
  const int64_t n = tensor.numel();
  const uint64_t seed = ctx.random().seed(), sequence = ctx.random().TakeSequence();
  ParallelFor(ctx, (n + 3) / 4, kGrain / 4, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const PhiloxBits bits = Philox(seed, sequence, static_cast<uint64_t>(block));
      for (int64_t i = block * 4; i < std::min(n, block * 4 + 4); ++i)
        data[i] = low + (high - low) * UniformFloat(bits.v[i % 4]);
    }
  });
}

}  // namespace tessera
