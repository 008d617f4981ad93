#include "runtime/tensor.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "runtime/capture.h"
#include "runtime/dispatch.h"
#include "runtime/fill_uniform.h"
#include "runtime/for_each.h"
#include "runtime/tensor_impl.h"

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

// From the first element in memory to the last.
int64_t CoveredElements(const Tensor& t) {
  if (t.numel() == 0) return 0;
  int64_t last = 0;
  for (int d = 0; d < t.rank(); ++d) last += (t.shape()[d] - 1) * t.strides()[d];
  return last + 1;
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
  Device device;
  Stream stream;                     // that orders it
  std::vector<Stream> also_used_on;  // by RecordStream
  std::shared_ptr<void> owner;

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
    if (internal::Capture* capture = stream.capture())
      LeaveTo(*capture);
    else
      GiveBack();
  }
  void GiveBack() {
    for (const Stream& other : also_used_on) Event::Record(other).HoldBack(stream);
    allocator->Deallocate(data, bytes, stream);
  }
  // What is being recorded may use the memory whenever it runs.
  void LeaveTo(internal::Capture& capture) {
    const std::lock_guard lock(capture.mutex);
    capture.kept.push_back(std::make_shared<Storage>(*this));
  }
};

Tensor::Tensor(std::shared_ptr<Storage> storage, void* data, const Shape& shape, DType dtype)
    : storage_(std::move(storage)),
      data_(data),
      shape_(shape),
      strides_(RowMajorStrides(shape)),
      dtype_(dtype),
      device_(storage_->device) {
  for (int64_t d : shape.dims()) TESSERA_CHECK_GE(d, 0, "shape {}", shape);
}

Tensor Tensor::Allocate(Allocator& allocator, Device device, const Stream& stream,
                        const Shape& shape, DType dtype) {
  for (int64_t d : shape.dims()) TESSERA_CHECK_GE(d, 0, "shape {}", shape);
  const int64_t bytes = shape.numel() * SizeOf(dtype);
  internal::Capture* capture = stream.capture();
  std::shared_ptr<Storage> storage =
      capture ? AllocateRecorded(*capture, allocator, device, stream, bytes)
              : std::make_shared<Storage>(allocator, device, stream, stream, bytes);
  void* data = storage->data;
  return Tensor(std::move(storage), data, shape, dtype);
}

// The graph keeps a handle. Device memory that nobody else holds any more serves again, as recorded
// work runs in its order; what the host wrote into pinned memory has to stay.
std::shared_ptr<Tensor::Storage> Tensor::AllocateRecorded(internal::Capture& capture,
                                                          Allocator& allocator, Device device,
                                                          const Stream& stream, int64_t bytes) {
  const std::lock_guard lock(capture.mutex);
  for (const std::shared_ptr<void>& kept : capture.kept) {
    if (device == Device::Cpu() || kept.use_count() > 1) continue;
    const auto storage = std::static_pointer_cast<Storage>(kept);
    if (storage->device == device && storage->bytes == bytes) return storage;
  }
  auto storage = std::make_shared<Storage>(allocator, device, capture.memory_stream, stream, bytes);
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

Tensor Tensor::Borrow(void* data, const Shape& shape, DType dtype, std::shared_ptr<void> owner,
                      Device device) {
  auto storage = std::make_shared<Storage>();
  storage->data = data;
  storage->device = device;
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

Tensor Tensor::Reinterpret(int64_t offset, const Shape& shape, DType dtype) const {
  TESSERA_CHECK(is_contiguous(), "Reinterpret of a tensor {} that is not contiguous", shape_);
  TESSERA_CHECK(offset >= 0 && offset + shape.numel() * SizeOf(dtype) <= nbytes() &&
                    offset % SizeOf(dtype) == 0,
                "Reinterpret of {} bytes from {} on as {} {}", nbytes(), offset, dtype, shape);
  return Tensor(storage_, static_cast<char*>(data_) + offset, shape, dtype);
}

// A device tensor in host memory, with the same strides: everything between its first and last
// element is copied.
Tensor Tensor::OnHost(const Stream& stream) const {
  if (device_ == Device::Cpu()) return *this;
  TESSERA_CHECK_EQ(stream.device(), device_, "copy of a tensor {} to the host on a stream", shape_);
  stream.CheckNotRecorded();
  const int64_t elements = CoveredElements(*this);
  Tensor host = EmptyHost({elements}, dtype_);
  OnlyOnCuda(device_, [&](auto on) {
    internal::CopyBytes(on, stream, host.raw_data(), data_, host.nbytes());
  });
  stream.Sync();
  host.shape_ = shape_;
  host.strides_ = strides_;
  return host;
}

void Tensor::CopyBytesTo(void* out, const Stream& stream) const {
  if (numel() == 0) return;
  const Tensor host = OnHost(stream);
  const Runs runs(host);
  const int64_t size = SizeOf(dtype_), run_bytes = runs.length * size;
  for (int64_t r = 0; r < runs.count; ++r)
    std::memcpy(static_cast<char*>(out) + r * run_bytes,
                static_cast<const char*>(host.data_) + runs.Offset(host, r) * size,
                static_cast<size_t>(run_bytes));
}

const Stream& Tensor::storage_stream() const { return storage_->stream; }

void Tensor::CopyIn(const Tensor& to, const void* from, int64_t elements) {
  TESSERA_CHECK_EQ(elements, to.numel(), "values for a tensor {}", to.shape());
  if (elements == 0) return;
  if (to.device() == Device::Cpu())
    std::memcpy(to.raw_data(), from, static_cast<size_t>(to.nbytes()));
  OnlyOnCuda(to.device(), [&](auto on) {
    const Tensor source =
        Borrow(const_cast<void*>(from), to.shape(), to.dtype()).Recordable(to.storage_->stream);
    internal::CopyBytes(on, to.storage_->stream, to.raw_data(), source.data_, to.nbytes());
  });
}

Tensor Tensor::Recordable(const Stream& stream) const {
  if (stream.capture() == nullptr || device_ != Device::Cpu()) return *this;
  if (storage_->allocator == &PinnedAllocator()) return *this;
  const Tensor copy = Allocate(PinnedAllocator(), Device::Cpu(), stream, shape_, dtype_);
  copy.CopyOnHost(*this);
  return copy;
}

Tensor Tensor::Clone(Context& ctx) const {
  if (!defined()) return {};
  Tensor copy = Empty(ctx, shape_, dtype_);
  copy.CopyFrom(ctx, *this);
  return copy;
}

Tensor Tensor::To(Context& ctx, Device device) const {
  if (!defined() || device_ == device) return *this;
  if (device == Device::Cpu()) {
    Tensor host = EmptyHost(shape_, dtype_);
    CopyBytesTo(host.raw_data(), ctx.device() == device_ ? ctx.stream() : storage_->stream);
    return host;
  }
  TESSERA_CHECK_EQ(ctx.device(), device, "a tensor {} to another device than its context's",
                   shape_);
  return Clone(ctx);
}

void Tensor::RecordStream(const Context& ctx) const {
  if (!defined()) return;
  // Threads that were handed the same memory tell it at the same time.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::vector<Stream>& others = storage_->also_used_on;
  const auto same = [&](const Stream& other) { return other.handle() == ctx.stream().handle(); };
  if (std::none_of(others.begin(), others.end(), same)) others.push_back(ctx.stream());
}

Tensor Tensor::To(Context& ctx, DType dtype) const {
  if (dtype == dtype_) return *this;
  CheckDevice(ctx, "conversion", *this);
  const Tensor source = Contiguous(ctx);
  Tensor result = Empty(ctx, shape_, dtype);
  DispatchDevice(ctx.device(), [&](auto on) {
    if constexpr (std::is_same_v<decltype(on), OnCuda>)
      internal::Convert(on, ctx, source, result);
    else
      VisitDType(dtype_, [&]<typename Source>() {
        VisitDType(dtype, [&]<typename Target>() {
          internal::ForEach(on, ctx, numel(), kGrain,
                            internal::ConvertElements<Target, Source>{source.data<Source>(),
                                                                      result.data<Target>()});
        });
      });
  });
  return result;
}

void Tensor::CopyFrom(Context& ctx, const Tensor& source) const {
  TESSERA_CHECK_EQ(shape_, source.shape(), "CopyFrom");
  TESSERA_CHECK_EQ(dtype_, source.dtype(), "CopyFrom");
  if (numel() == 0) return;
  if (device_ == Device::Cpu())
    return CopyOnHost(
        source.OnHost(ctx.device() == source.device() ? ctx.stream() : source.storage_stream()));
  CheckDevice(ctx, "CopyFrom", *this);
  const bool whole = is_contiguous() && source.is_contiguous();
  if (whole || source.device() == device_) {
    OnlyOnCuda(device_, [&](auto on) {
      if (whole)
        internal::CopyBytes(on, ctx.stream(), data_, source.Recordable(ctx.stream()).data_,
                            nbytes());
      else
        internal::CopyStrided(on, ctx, *this, source);
    });
    return;
  }
  // Elements that lie apart come over as a block.
  Tensor block = EmptyHost(shape_, dtype_);
  source.CopyBytesTo(block.raw_data(), source.storage_stream());
  CopyFrom(ctx, is_contiguous() ? block : block.Clone(ctx));
}

void Tensor::CopyOnHost(const Tensor& source) const {
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
  CheckDevice(ctx, "Fill", *this);
  OnlyOnCuda(device_, [&](auto on) { internal::Fill(on, ctx, *this, value); });
  if (device_ != Device::Cpu()) return;
  const Runs runs(*this);
  VisitDType(dtype_, [&]<typename T>() {
    const T element = internal::ConvertElement<T>(value);
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
  std::vector<char> bytes[2];
  for (auto& side : bytes) side.resize(static_cast<size_t>(a.nbytes()));
  a.CopyBytesTo(bytes[0].data(), a.storage_stream());
  b.CopyBytesTo(bytes[1].data(), b.storage_stream());
  return bytes[0] == bytes[1];
}

void internal::CheckDeviceOf(const Context& ctx, const char* op, const Tensor& tensor) {
  TESSERA_CHECK(!tensor.defined() || tensor.device() == ctx.device(),
                "{}: a tensor {} lies on {}, but the context works on {}", op, tensor.shape(),
                tensor.device(), ctx.device());
}

void FillUniformFrom(Context& ctx, const Tensor& tensor, float low, float high, uint64_t sequence,
                     int64_t first) {
  TESSERA_CHECK(tensor.is_contiguous(), "FillUniform of a tensor {} that is not contiguous",
                tensor.shape());
  CheckDevice(ctx, "FillUniform", tensor);
  const internal::UniformBlock fill{tensor.data<float>(), first,   tensor.numel(), low, high,
                                    ctx.random().seed(),  sequence};
  DispatchDevice(ctx.device(), [&](auto on) {
    if constexpr (std::is_same_v<decltype(on), OnCuda>)
      internal::FillUniform(on, ctx, fill);
    else
      internal::ForEach(on, ctx, fill.blocks(), kGrain / 4, fill);
  });
}

void FillUniform(Context& ctx, const Tensor& tensor, float low, float high) {
  FillUniformFrom(ctx, tensor, low, high, ctx.random().TakeSequence(), 0);
}

}  // namespace tessera
