#include "runtime/tensor.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/device/capture.h"
#include "runtime/device/dispatch.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/tensor_impl.h"
#include "runtime/tensor_runs.h"

namespace tessera {
namespace {

Shape RowMajorStrides(const Shape& shape) {
  Shape strides = shape;
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    // If one extent is 0, the others may be of any size; nothing reads these strides.
    (void)__builtin_mul_overflow(step, shape[i], &step);
  }
  return strides;
}

// The bytes of a tensor. Every tensor is made with this, so that nbytes() fits 63 bits.
int64_t BytesOf(const Shape& shape, DType dtype) {
  for (int64_t d : shape.dims()) TESSERA_CHECK_GE(d, 0, "shape {}", shape);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.numel(), SizeOf(dtype), &bytes))
    throw Error(Format("shape {} of {}: more bytes than a number of 63 bits", shape, dtype));
  return bytes;
}

}  // namespace

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  TESSERA_CHECK_LE(dims.size(), static_cast<size_t>(kMaxRank), "extents of a shape");
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

int64_t Shape::numel() const {
  int64_t n = 1;
  bool fits = true;
  for (int64_t d : dims()) {
    if (d == 0) return 0;
    fits = !__builtin_mul_overflow(n, d, &n) && fits;
  }
  if (!fits) [[unlikely]]
    throw Error(Format("shape {}: more elements than a number of 63 bits", *this));
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
  Device device;
  Stream stream;                     // that orders it
  std::vector<Stream> also_used_on;  // by RecordStream
  std::shared_ptr<void> owner;
  std::shared_ptr<const internal::PackedPanels> packed_panels;

  Storage() = default;
  // The memory is taken on a stream that may be another than that which orders it.
  Storage(Allocator& from, Device on, const Stream& taken_on, const Stream& ordered_by,
          int64_t size)
      : data(from.Allocate(size, taken_on)),
        bytes(size),
        allocator(&from),
        device(on),
        stream(ordered_by) {}
  ~Storage() {
    if (allocator == nullptr) return;
    if (internal::Capture* capture = RecordingOfIt())
      LeaveTo(*capture);
    else
      GiveBack();
  }
  // That of a stream that orders or uses it, or null.
  internal::Capture* RecordingOfIt() const {
    internal::Capture* capture = stream.capture();
    for (const Stream& other : also_used_on)
      if (capture == nullptr) capture = other.capture();
    return capture;
  }
  void GiveBack() {
    for (const Stream& other : also_used_on) Event::Record(other).HoldBack(stream);
    allocator->Deallocate(data, bytes, stream);
  }
  // A graph that is being recorded may use the memory whenever it runs.
  void LeaveTo(internal::Capture& capture) {
    const std::lock_guard lock(capture.mutex);
    capture.kept.push_back(MakeScratch<Storage>(*this));
  }
};

Tensor::Tensor(std::shared_ptr<Storage> storage, void* data, const Shape& shape, DType dtype)
    : storage_(std::move(storage)),
      data_(data),
      shape_(shape),
      strides_(RowMajorStrides(shape)),
      dtype_(dtype),
      device_(storage_->device) {
  BytesOf(shape, dtype);
}

Tensor Tensor::Allocate(Allocator& allocator, Device device, const Stream& stream,
                        const Shape& shape, DType dtype) {
  const int64_t bytes = BytesOf(shape, dtype);
  internal::Capture* capture = stream.capture();
  std::shared_ptr<Storage> storage =
      capture ? AllocateRecorded(*capture, allocator, device, stream, bytes)
              : MakeScratch<Storage>(allocator, device, stream, stream, bytes);
  void* data = storage->data;
  return Tensor(std::move(storage), data, shape, dtype);
}

// The graph keeps a handle. Device memory that nobody else holds can be used again, since recorded
// work runs in its order; pinned memory must keep what the host wrote.
std::shared_ptr<Tensor::Storage> Tensor::AllocateRecorded(internal::Capture& capture,
                                                          Allocator& allocator, Device device,
                                                          const Stream& stream, int64_t bytes) {
  const std::lock_guard lock(capture.mutex);
  for (const std::shared_ptr<void>& kept : capture.kept) {
    if (device == Device::Cpu() || kept.use_count() > 1) continue;
    const auto storage = std::static_pointer_cast<Storage>(kept);
    if (storage->device == device && storage->bytes == bytes) return storage;
  }
  auto storage = MakeScratch<Storage>(allocator, device, capture.memory_stream, stream, bytes);
  capture.kept.push_back(storage);
  return storage;
}

Tensor Tensor::Empty(Context& ctx, const Shape& shape, DType dtype) {
  return EmptyIn(ctx, ctx.allocator(), shape, dtype);
}

Tensor Tensor::EmptyIn(Context& ctx, Allocator& allocator, const Shape& shape, DType dtype) {
  try {
    return Allocate(allocator, ctx.device(), ctx.stream(), shape, dtype);
  } catch (const Error& error) {
    throw Error(Format("tensor {} of {}: {}", shape, dtype, error.what()));
  }
}

Tensor Tensor::EmptyHost(const Shape& shape, DType dtype) {
  return Allocate(HostAllocator(), Device::Cpu(), {}, shape, dtype);
}

Tensor Tensor::EmptyPinned(Context& ctx, const Shape& shape, DType dtype) {
  Allocator& allocator = ctx.device() == Device::Cpu() ? HostAllocator() : PinnedAllocator();
  return Allocate(allocator, Device::Cpu(), ctx.stream(), shape, dtype);
}

Tensor Tensor::Zeros(Context& ctx, const Shape& shape, DType dtype) {
  Tensor t = Empty(ctx, shape, dtype);
  OnlyOnCuda(ctx.device(),
             [&](auto on) { internal::ZeroBytes(on, ctx.stream(), t.raw_data(), t.nbytes()); });
  if (ctx.device() != Device::Cpu()) return t;
  char* bytes = static_cast<char*>(t.raw_data());
  // The work is split, so that the pages of a large table are touched first by several threads.
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

Tensor Tensor::Borrow(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner,
                      Device device) {
  auto storage = MakeScratch<Storage>();
  storage->data = data;
  storage->device = device;
  storage->owner = std::move(owner);
  return Tensor(std::move(storage), data, shape, dtype);
}

const internal::PackedPanels* Tensor::packed_panels() const {
  return storage_ == nullptr ? nullptr : storage_->packed_panels.get();
}

void Tensor::KeepPackedPanels(std::shared_ptr<const internal::PackedPanels> panels) const {
  storage_->packed_panels = std::move(panels);
}

bool Tensor::is_contiguous() const { return numel() == 0 || internal::Runs(*this).outer_rank == 0; }

int64_t Tensor::row_stride() const {
  TESSERA_CHECK_EQ(rank(), 2, "row stride of a tensor {}", shape_);
  TESSERA_CHECK(shape_[1] <= 1 || strides_[1] == 1, "rows of a tensor {} are not contiguous",
                shape_);
  return strides_[0];
}

int64_t Tensor::NoDim(int i) const {
  TESSERA_CHECK(!defined(), "dimension {} of a tensor {}", i, shape_);
  return 0;
}

Tensor Tensor::Narrow(int dim, int64_t start, int64_t length) const {
  TESSERA_CHECK(dim >= 0 && dim < rank(), "Narrow along dimension {} of a tensor {}", dim, shape_);
  TESSERA_CHECK(start >= 0 && length >= 0 && length <= shape_[dim] && start <= shape_[dim] - length,
                "Narrow of a tensor {} along dimension {}: start {}, length {} do not fit", shape_,
                dim, start, length);
  Tensor view = *this;
  view.shape_[dim] = length;
  view.data_ = static_cast<char*>(data_) + start * strides_[dim] * SizeOf(dtype_);
  return view;
}

Tensor Tensor::Reshape(const Shape& shape) const {
  TESSERA_CHECK(defined(), "Reshape of an undefined tensor to {}", shape);
  TESSERA_CHECK(is_contiguous(), "Reshape of a tensor {} that is not contiguous", shape_);
  Shape full = shape;
  int64_t known = 1;
  int unknown = -1;
  bool fits = true;
  for (int i = 0; i < full.rank(); ++i) {
    if (full[i] == -1 && unknown < 0)
      unknown = i;
    else
      fits = full[i] >= 0 && !__builtin_mul_overflow(known, full[i], &known) && fits;
  }
  TESSERA_CHECK(fits, "Reshape of a tensor {} to {}", shape_, shape);
  if (unknown >= 0) full[unknown] = known == 0 ? 0 : numel() / known;
  TESSERA_CHECK_EQ(full.numel(), numel(), "Reshape of a tensor {} to {}", shape_, shape);
  return Tensor(storage_, data_, full, dtype_);
}

Tensor Tensor::Reinterpret(int64_t offset, const Shape& shape, DType dtype) const {
  if (!defined()) throw Error(Format("Reinterpret of an undefined tensor as {} {}", dtype, shape));
  TESSERA_CHECK(is_contiguous(), "Reinterpret of a tensor {} that is not contiguous", shape_);
  TESSERA_CHECK(offset >= 0 && offset <= nbytes() && BytesOf(shape, dtype) <= nbytes() - offset &&
                    offset % SizeOf(dtype) == 0,
                "Reinterpret of {} bytes from {} on as {} {}", nbytes(), offset, dtype, shape);
  return Tensor(storage_, static_cast<char*>(data_) + offset, shape, dtype);
}

const Stream& Tensor::storage_stream() const { return storage_->stream; }

Tensor Tensor::Recordable(const Stream& stream) const {
  if (stream.capture() == nullptr || device_ != Device::Cpu()) return *this;
  if (storage_->allocator == &PinnedAllocator()) return *this;
  const Tensor copy = Allocate(PinnedAllocator(), Device::Cpu(), stream, shape_, dtype_);
  copy.CopyOnHost(*this);
  return copy;
}

void Tensor::RecordStream(const Context& ctx) const {
  if (!defined()) return;
  // Threads that share the memory may call this at the same time.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::vector<Stream>& others = storage_->also_used_on;
  const auto same = [&](const Stream& other) { return other.handle() == ctx.stream().handle(); };
  if (std::none_of(others.begin(), others.end(), same)) others.push_back(ctx.stream());
}

void Tensor::Fill(Context& ctx, double value) const {
  if (!defined()) throw Error(Format("Fill of an undefined tensor with {}", value));
  if (numel() == 0) return;
  CheckDevice(ctx, "Fill", *this);
  OnlyOnCuda(device_, [&](auto on) { internal::Fill(on, ctx, *this, value); });
  if (device_ != Device::Cpu()) return;
  const internal::Runs runs(*this);
  VisitDType(dtype_, [&]<typename T>() {
    const T element = internal::ConvertElement<T>(value);
    T* data = this->data<T>();
    for (int64_t r = 0; r < runs.count; ++r) {
      T* run = data + runs.Offset(*this, r);
      ParallelFor(ctx, runs.length, internal::kElementGrain,
                  [&](int64_t begin, int64_t end) { std::fill(run + begin, run + end, element); });
    }
  });
}

void internal::CheckDeviceOf(const Context& ctx, const char* op, const Tensor& tensor) {
  TESSERA_CHECK(!tensor.defined() || tensor.device() == ctx.device(),
                "{}: a tensor {} lies on {}, but the context works on {}", op, tensor.shape(),
                tensor.device(), ctx.device());
}

}  // namespace tessera
