#include "comm/slow_communicator.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/tensor.h"

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

class Link {
 public:
  explicit Link(const SlowLink& speed) : speed_(speed) {
    TESSERA_CHECK(speed.latency_s >= 0 && speed.bytes_per_s >= 0,
                  "a link of latency {} s and {} bytes/s", speed.latency_s, speed.bytes_per_s);
  }
  // The time at which a call of `bytes` that is made now has its result.
  Clock::time_point Take(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const double seconds =
        speed_.bytes_per_s > 0 ? static_cast<double>(bytes) / speed_.bytes_per_s : 0;
    free_ = std::max(free_, Clock::now()) + Seconds(seconds);
    return free_ + Seconds(speed_.latency_s);
  }

 private:
  static Clock::duration Seconds(double seconds) {
    return std::chrono::ceil<Clock::duration>(std::chrono::duration<double>(seconds));
  }
  const SlowLink speed_;
  std::mutex mutex_;
  Clock::time_point free_;
};

class SlowCommunicator final : public Communicator {
 public:
  SlowCommunicator(std::unique_ptr<Communicator> inner, std::shared_ptr<Link> link)
      : Communicator(inner->rank(), inner->size()),
        inner_(std::move(inner)),
        link_(std::move(link)) {}

  std::string_view backend() const override { return inner_->backend(); }
  std::unique_ptr<Communicator> Split(int color, int key) override {
    auto group = inner_->Split(color, key);
    if (!group) return nullptr;
    return std::make_unique<SlowCommunicator>(std::move(group), link_);
  }
  void Abort(const std::string& reason) noexcept override { inner_->Abort(reason); }
  std::string abort_reason() const override { return inner_->abort_reason(); }

  Awaitable<std::vector<Tensor>> AllToAllV(Context& ctx, std::vector<Tensor> send,
                                           std::vector<int64_t> receive_counts,
                                           std::string_view what) override {
    int64_t sent = 0, received = 0;
    for (int r = 0; r < size(); ++r) {
      const auto i = static_cast<size_t>(r);
      if (r == rank() || i >= send.size() || i >= receive_counts.size()) continue;
      sent += send[i].nbytes();
      received += receive_counts[i] * SizeOf(send[i].dtype());
    }
    return Slow(std::max(sent, received),
                inner_->AllToAllV(ctx, std::move(send), std::move(receive_counts), what));
  }
  Awaitable<Tensor> AllGather(Context& ctx, const Tensor& send, std::string_view what) override {
    return Slow(others() * send.nbytes(), inner_->AllGather(ctx, send, what));
  }
  Awaitable<Tensor> ReduceScatter(Context& ctx, const Tensor& send,
                                  std::string_view what) override {
    return Slow(others() * send.nbytes() / size(), inner_->ReduceScatter(ctx, send, what));
  }
  Awaitable<Tensor> AllReduce(Context& ctx, const Tensor& send, ReduceOp op,
                              std::string_view what) override {
    return Slow(2 * others() * send.nbytes() / size(), inner_->AllReduce(ctx, send, op, what));
  }
  Awaitable<Tensor> Broadcast(Context& ctx, const Tensor& tensor, int root,
                              std::string_view what) override {
    return Slow(size() > 1 ? tensor.nbytes() : 0, inner_->Broadcast(ctx, tensor, root, what));
  }
  Awaitable<void> Barrier(Context& ctx, std::string_view what) override {
    return Slow(0, inner_->Barrier(ctx, what));
  }
  Awaitable<void> Send(Context& ctx, const Tensor& tensor, int to, std::string_view what) override {
    return Slow(tensor.nbytes(), inner_->Send(ctx, tensor, to, what));
  }
  Awaitable<Tensor> Receive(Context& ctx, const Shape& shape, DType dtype, int from,
                            std::string_view what) override {
    return Slow(shape.numel() * SizeOf(dtype), inner_->Receive(ctx, shape, dtype, from, what));
  }
  std::vector<std::string> GatherStringsSync(const std::string& mine,
                                             std::string_view what) override {
    const auto ready = link_->Take(others() * static_cast<int64_t>(mine.size()));
    return At(ready, inner_->GatherStringsSync(mine, what));
  }
  std::vector<std::vector<int64_t>> ExchangeNumbersSync(
      const std::vector<std::vector<int64_t>>& send, std::string_view what) override {
    int64_t numbers = 0;
    for (const auto& list : send) numbers += static_cast<int64_t>(list.size());
    const auto ready = link_->Take(numbers * static_cast<int64_t>(sizeof(int64_t)));
    return At(ready, inner_->ExchangeNumbersSync(send, what));
  }

 private:
  int64_t others() const { return size() - 1; }

  template <typename T>
  T At(Clock::time_point ready, T result) {
    std::this_thread::sleep_until(ready);
    CountInner();
    return result;
  }

  template <typename T>
  Awaitable<T> Slow(int64_t bytes, Awaitable<T> result) {
    CountInner();
    const auto wait = [this, ready = link_->Take(bytes)] {
      std::this_thread::sleep_until(ready);
      CountInner();
    };
    if constexpr (std::is_void_v<T>) {
      return result.Then(wait);
    } else {
      return result.Then([wait](T value) {
        wait();
        return value;
      });
    }
  }
  void CountInner() { CountSent(inner_->bytes_sent() - bytes_sent()); }

  std::unique_ptr<Communicator> inner_;
  std::shared_ptr<Link> link_;
};

}  // namespace

std::unique_ptr<Communicator> MakeSlowCommunicator(std::unique_ptr<Communicator> inner,
                                                   const SlowLink& link) {
  return std::make_unique<SlowCommunicator>(std::move(inner), std::make_shared<Link>(link));
}

}  // namespace tessera
