#ifndef TESSERA_RUNTIME_TENSOR_H_
#define TESSERA_RUNTIME_TENSOR_H_
// An n-dimensional array in the memory of a device: a shape and strides over reference-counted
// storage. Copying a Tensor, or taking a view of it, copies no element: both see the same memory.
// Constness is shallow, as of a pointer.
//
// A device tensor belongs to the stream of the context that made it: work on that stream sees it
// without waiting, and its memory is given back in the order of that stream. On another stream,
// wait first (Context::WaitFor), then tell it by RecordStream. The host sees elements by To,
// ToVector.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/numbers/dtype.h"

namespace tessera {

namespace internal {
struct PackedPanels;
}

// Up to six extents.
class Shape {
 public:
  static constexpr int kMaxRank = 6;
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return dims_[static_cast<size_t>(i)]; }
  // The product of the dims; 1 without any.
  int64_t numel() const;
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<int64_t, kMaxRank> dims_ = {};
  int rank_ = 0;
};
// "[2, 3]".
std::string ToString(const Shape& shape);

class Tensor {
 public:
  Tensor() = default;  // undefined: no storage, used for "none"

  // Not initialised. Shapes with a 0 are fine everywhere.
  static Tensor Empty(Context& ctx, const Shape& shape, DType dtype = DType::kF32);
  static Tensor Zeros(Context& ctx, const Shape& shape, DType dtype = DType::kF32);
  // `value` converted to the dtype.
  static Tensor Full(Context& ctx, const Shape& shape, double value, DType dtype = DType::kF32);
  // A copy of `values`, row-major. REQUIRES: as many values as the shape has elements.
  template <typename T>
  static Tensor From(Context& ctx, const Shape& shape, const std::vector<T>& values);
  template <typename T>
  static Tensor From(Context& ctx, const std::vector<T>& values) {
    return From(ctx, {static_cast<int64_t>(values.size())}, values);
  }
  // A view of memory that somebody else owns, row-major; `owner` is kept alive with it.
  static Tensor Borrow(void* data, const Shape& shape, DType dtype,
                       std::shared_ptr<void> owner = nullptr, Device device = Device::Cpu());
  // A tensor of ctx's device in memory of `allocator`, which that device can use (pinned or managed
  // memory of the host). Not initialised.
  static Tensor EmptyIn(Context& ctx, Allocator& allocator, const Shape& shape,
                        DType dtype = DType::kF32);
  // In host memory, whatever a context's device. Not initialised.
  static Tensor EmptyHost(const Shape& shape, DType dtype = DType::kF32);
  // Makes a host tensor, pinned if ctx is on a GPU: copies between it and the GPU run while the
  // host goes on. Its memory is used again once ctx's stream has passed the point where it was
  // given back.
  static Tensor EmptyPinned(Context& ctx, const Shape& shape, DType dtype = DType::kF32);

  bool defined() const { return storage_ != nullptr; }
  explicit operator bool() const { return defined(); }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }  // in elements
  int rank() const { return shape_.rank(); }
  // The extent of dimension i, counted from the end where i is negative; 0 of an undefined tensor.
  // Throws Error if a defined one has no such dimension.
  int64_t dim(int i) const {
    const int d = i < 0 ? i + rank() : i;
    if (d < 0 || d >= rank()) [[unlikely]]
      return NoDim(i);
    return shape_[d];
  }
  int64_t numel() const { return shape_.numel(); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }
  int64_t nbytes() const { return numel() * SizeOf(dtype_); }
  // Whether the elements lie row-major, without gaps.
  bool is_contiguous() const;
  // Whether no other tensor or view shares the storage.
  bool unique() const { return storage_.use_count() == 1; }

  // The first element. REQUIRES: T is the dtype.
  template <typename T>
  T* data() const {
    TESSERA_CHECK_EQ(dtype_, DTypeOf<T>::value, "data of a tensor {}", shape_);
    return static_cast<T*>(raw_data());
  }
  void* raw_data() const { return data_; }
  // All elements. REQUIRES: T is the dtype, contiguous, in host memory.
  template <typename T>
  std::span<T> span() const {
    TESSERA_CHECK(device_ == Device::Cpu(),
                  "span of a tensor {} on {}: copy it to the host first (To)", shape_, device_);
    TESSERA_CHECK(is_contiguous(), "span of a tensor {} that is not contiguous", shape_);
    return {data<T>(), static_cast<size_t>(numel())};
  }
  // Elements from one row to the next, for a matrix whose rows are contiguous (a column slice is
  // one). REQUIRES: rank 2.
  int64_t row_stride() const;

  // Views. Indices are checked.
  Tensor Narrow(int dim, int64_t start, int64_t length) const;
  Tensor Rows(int64_t begin, int64_t end) const { return Narrow(0, begin, end - begin); }
  // One extent may be -1. REQUIRES: contiguous.
  Tensor Reshape(const Shape& shape) const;
  // The bytes from `offset` on as elements of another type. REQUIRES: contiguous; they lie inside,
  // and are aligned.
  Tensor Reinterpret(int64_t offset, const Shape& shape, DType dtype) const;

  // New storage on ctx's device, row-major, same values; from any device.
  Tensor Clone(Context& ctx) const;
  // Itself if it lies on `device`, else a row-major copy there. To the host: waits. REQUIRES: to a
  // GPU, ctx is on that GPU.
  Tensor To(Context& ctx, Device device) const;
  // The memory is kept until ctx's stream has done what it was given before the last handle goes.
  void RecordStream(const Context& ctx) const;
  // Itself if contiguous, else a clone.
  Tensor Contiguous(Context& ctx) const { return is_contiguous() ? *this : Clone(ctx); }
  // Converted elementwise as static_cast does, f32 to 16 bits by rounding to nearest even, other
  // types to 16 bits by way of f32. Itself if nothing changes.
  Tensor To(Context& ctx, DType dtype) const;
  // Writes the elements of `source`, from any device, here. REQUIRES: same shape and dtype.
  void CopyFrom(Context& ctx, const Tensor& source) const;
  void Fill(Context& ctx, double value) const;
  // Returns the tensor copied to the host on its own stream. REQUIRES: as ToVector.
  Tensor ToHost() const { return defined() ? OnHost(storage_stream()) : *this; }
  // Row-major copy on the host. Waits for the device. REQUIRES: not borrowed memory of a GPU (To
  // takes that, with a context).
  template <typename T>
  std::vector<T> ToVector() const;

  // The panels of this memory that KeepPacked (runtime/ops/gemm.h) made, shared by all its views;
  // null without.
  const internal::PackedPanels* packed_panels() const;
  void KeepPackedPanels(std::shared_ptr<const internal::PackedPanels> panels) const;

 private:
  struct Storage;
  Tensor(std::shared_ptr<Storage> storage, void* data, const Shape& shape, DType dtype);
  static Tensor Allocate(Allocator& allocator, Device device, const Stream& stream,
                         const Shape& shape, DType dtype);
  static std::shared_ptr<Storage> AllocateRecorded(internal::Capture& capture, Allocator& allocator,
                                                   Device device, const Stream& stream,
                                                   int64_t bytes);
  // The answer of dim(i) where there is no such dimension.
  int64_t NoDim(int i) const;
  // Host memory that recorded work may read: this, or a pinned copy.
  Tensor Recordable(const Stream& stream) const;
  const Stream& storage_stream() const;
  // Row-major, by way of `stream` if it lies on a GPU; waits.
  void CopyBytesTo(void* out, const Stream& stream) const;
  void CopyOnHost(const Tensor& source) const;
  Tensor OnHost(const Stream& stream) const;
  friend bool SameBits(const Tensor& a, const Tensor& b);
  static void CopyIn(const Tensor& to, const void* from, int64_t elements);

  std::shared_ptr<Storage> storage_;
  void* data_ = nullptr;
  Shape shape_, strides_;
  DType dtype_ = DType::kF32;
  Device device_;
};

// Throws Error, naming `op`, if a tensor lies elsewhere than ctx works. Undefined ones lie
// anywhere.
template <typename... Tensors>
void CheckDevice(const Context& ctx, const char* op, const Tensors&... tensors);

// The number at `pointer` in the memory of ctx's device. Waits for it.
template <typename T>
T ReadScalarSync(Context& ctx, const T* pointer) {
  return Tensor::Borrow(const_cast<T*>(pointer), {1}, DTypeOf<T>::value, nullptr, ctx.device())
      .To(ctx, Device::Cpu())
      .template data<T>()[0];
}

// Both undefined, or same dtype and shape and bits (NaN equals NaN of the same bits).
bool SameBits(const Tensor& a, const Tensor& b);

// Fills `tensor` (f32) with numbers uniform in [low, high): element i is low + (high − low)·u_i
// with u_i word i mod 4 of counter i div 4 of one new sequence of ctx.random(). REQUIRES:
// contiguous; low and high are finite, and low <= high.
void FillUniform(Context& ctx, const Tensor& tensor, float low, float high);

template <typename T>
Tensor Tensor::From(Context& ctx, const Shape& shape, const std::vector<T>& values) {
  Tensor tensor = Empty(ctx, shape, DTypeOf<T>::value);
  if constexpr (std::same_as<T, bool>) {
    const std::vector<uint8_t> bytes(values.begin(), values.end());
    CopyIn(tensor, bytes.data(), static_cast<int64_t>(bytes.size()));
  } else {
    CopyIn(tensor, values.data(), static_cast<int64_t>(values.size()));
  }
  return tensor;
}

template <typename T>
std::vector<T> Tensor::ToVector() const {
  TESSERA_CHECK(defined(), "ToVector of an undefined tensor");
  TESSERA_CHECK_EQ(dtype_, DTypeOf<T>::value, "ToVector of a tensor {}", shape_);
  std::vector<T> values(static_cast<size_t>(numel()));
  if constexpr (std::same_as<T, bool>) {
    std::vector<uint8_t> bytes(values.size());
    CopyBytesTo(bytes.data(), storage_stream());
    values.assign(bytes.begin(), bytes.end());
  } else {
    CopyBytesTo(values.data(), storage_stream());
  }
  return values;
}

namespace internal {
void CheckDeviceOf(const Context& ctx, const char* op, const Tensor& tensor);
}  // namespace internal

template <typename... Tensors>
void CheckDevice(const Context& ctx, const char* op, const Tensors&... tensors) {
  (internal::CheckDeviceOf(ctx, op, tensors), ...);
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_TENSOR_H_
