// Tensors to other memory, devices and types.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "runtime/tensor.h"
#include "runtime/tensor_impl.h"
#include "runtime/tensor_runs.h"

namespace tessera {
namespace {

using internal::Runs;

// The number of elements from the first in memory to the last.
int64_t CoveredElements(const Tensor& t) {
  if (t.numel() == 0) return 0;
  int64_t last = 0;
  for (int d = 0; d < t.rank(); ++d) last += (t.shape()[d] - 1) * t.strides()[d];
  return last + 1;
}

// Copies a megabyte by a thread at a time: less is not worth waking one.
void CopyInPieces(Context& ctx, void* to, const void* from, int64_t bytes) {
  ParallelFor(ctx, bytes, 1 << 20, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

}  // namespace

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

void Tensor::CopyIn(const Tensor& to, const void* from, int64_t elements) {
  TESSERA_CHECK_EQ(elements, to.numel(), "values for a tensor {}", to.shape());
  if (elements == 0) return;
  if (to.device() == Device::Cpu())
    std::memcpy(to.raw_data(), from, static_cast<size_t>(to.nbytes()));
  OnlyOnCuda(to.device(), [&](auto on) {
    const Tensor source =
        Borrow(const_cast<void*>(from), to.shape(), to.dtype()).Recordable(to.storage_stream());
    internal::CopyBytes(on, to.storage_stream(), to.raw_data(), source.data_, to.nbytes());
  });
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
    CopyBytesTo(host.raw_data(), ctx.device() == device_ ? ctx.stream() : storage_stream());
    return host;
  }
  TESSERA_CHECK_EQ(ctx.device(), device, "a tensor {} to another device than its context's",
                   shape_);
  return Clone(ctx);
}

Tensor Tensor::To(Context& ctx, DType dtype) const {
  if (dtype == dtype_) return *this;
  TESSERA_CHECK(defined(), "conversion of an undefined tensor to {}", dtype);
  CheckDevice(ctx, "conversion", *this);
  const Tensor source = Contiguous(ctx);
  Tensor result = Empty(ctx, shape_, dtype);
  DispatchDevice(ctx.device(), [&](auto on) {
    if constexpr (std::is_same_v<decltype(on), OnCuda>)
      internal::Convert(on, ctx, source, result);
    else
      VisitDType(dtype_, [&]<typename Source>() {
        VisitDType(dtype, [&]<typename Target>() {
          internal::ForEach(on, ctx, numel(), internal::kElementGrain,
                            internal::ConvertElements<Target, Source>{source.data<Source>(),
                                                                      result.data<Target>()});
        });
      });
  });
  return result;
}

void Tensor::CopyFrom(Context& ctx, const Tensor& source) const {
  TESSERA_CHECK_EQ(source.shape(), shape_, "CopyFrom");
  TESSERA_CHECK_EQ(source.dtype(), dtype_, "CopyFrom");
  if (numel() == 0) return;
  if (device_ == Device::Cpu()) {
    const Tensor host =
        source.OnHost(ctx.device() == source.device() ? ctx.stream() : source.storage_stream());
    if (!is_contiguous() || !host.is_contiguous()) return CopyOnHost(host);
    return CopyInPieces(ctx, raw_data(), host.raw_data(), nbytes());
  }
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

}  // namespace tessera
