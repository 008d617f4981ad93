#include "comm/slow_communicator.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "comm/exchange_time.h"
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

// Bytes of a call over one link. A link that it does not use costs no time.
struct Load {
  int64_t sent = 0, received = 0;
  bool used = false;
};

// A rank's links, which its groups share.
class Links {
 public:
  explicit Links(const SlowNodes& nodes)
      : between_(nodes.between), inside_(nodes.inside), traffic_(nodes.traffic) {}

  Clock::time_point Take(const Load& between, const Load& inside) {
    if (traffic_ != nullptr) {
      traffic_->between += between.sent;
      traffic_->inside += inside.sent;
    }
    Clock::time_point ready = Clock::now();
    if (between.used) ready = between_.Take(std::max(between.sent, between.received));
    if (inside.used) ready = std::max(ready, inside_.Take(std::max(inside.sent, inside.received)));
    return ready;
  }

 private:
  Link between_, inside_;
  LinkTraffic* traffic_;
};

class SlowCommunicator final : public Communicator {
 public:
  // nodes: the node of each rank of `inner`.
  SlowCommunicator(std::unique_ptr<Communicator> inner, std::shared_ptr<Links> links,
                   std::vector<int> nodes)
      : Communicator(inner->rank(), inner->size()),
        inner_(std::move(inner)),
        links_(std::move(links)),
        nodes_(std::move(nodes)) {}

  std::string_view backend() const override { return inner_->backend(); }
  std::unique_ptr<Communicator> Split(int color, int key) override {
    auto group = inner_->Split(color, key);
    if (!group) return nullptr;
    std::vector<int> nodes;
    for (const std::string& node : group->GatherStringsSync(std::to_string(MyNode()), "nodes"))
      nodes.push_back(std::stoi(node));
    return std::make_unique<SlowCommunicator>(std::move(group), links_, std::move(nodes));
  }
  void Abort(const std::string& reason) noexcept override { inner_->Abort(reason); }
  std::string abort_reason() const override { return inner_->abort_reason(); }

  Awaitable<std::vector<Tensor>> AllToAllV(Context& ctx, std::vector<Tensor> send,
                                           std::vector<int64_t> receive_counts,
                                           std::string_view what) override {
    const auto ready = Take([&](size_t r) -> std::pair<int64_t, int64_t> {
      if (r >= send.size() || r >= receive_counts.size()) return {0, 0};
      return {send[r].nbytes(), receive_counts[r] * SizeOf(send[r].dtype())};
    });
    return Slow(ready, inner_->AllToAllV(ctx, std::move(send), std::move(receive_counts), what));
  }
  Awaitable<Tensor> AllGather(Context& ctx, const Tensor& send, std::string_view what) override {
    return Slow(TakeEach(send.nbytes()), inner_->AllGather(ctx, send, what));
  }
  Awaitable<Tensor> ReduceScatter(Context& ctx, const Tensor& send,
                                  std::string_view what) override {
    return Slow(TakeEach(send.nbytes() / size()), inner_->ReduceScatter(ctx, send, what));
  }
  Awaitable<Tensor> AllReduce(Context& ctx, const Tensor& send, ReduceOp op,
                              std::string_view what) override {
    return Slow(TakeEach(2 * send.nbytes() / size()), inner_->AllReduce(ctx, send, op, what));
  }
  Awaitable<Tensor> Broadcast(Context& ctx, const Tensor& tensor, int root,
                              std::string_view what) override {
    const auto from_root = [&](size_t r) {
      const bool mine = rank() == root, its = static_cast<int>(r) == root;
      return std::pair<int64_t, int64_t>(mine ? tensor.nbytes() / std::max(1, size() - 1) : 0,
                                         its ? tensor.nbytes() : 0);
    };
    return Slow(Take(from_root), inner_->Broadcast(ctx, tensor, root, what));
  }
  Awaitable<void> Barrier(Context& ctx, std::string_view what) override {
    return Slow(TakeEach(0), inner_->Barrier(ctx, what));
  }
  Awaitable<void> Send(Context& ctx, const Tensor& tensor, int to, std::string_view what) override {
    return Slow(TakeOne(to, tensor.nbytes(), 0), inner_->Send(ctx, tensor, to, what));
  }
  Awaitable<Tensor> Receive(Context& ctx, const Shape& shape, DType dtype, int from,
                            std::string_view what) override {
    return Slow(TakeOne(from, 0, shape.numel() * SizeOf(dtype)),
                inner_->Receive(ctx, shape, dtype, from, what));
  }
  std::vector<std::string> GatherStringsSync(const std::string& mine,
                                             std::string_view what) override {
    const auto ready = TakeEach(static_cast<int64_t>(mine.size()));
    return At(ready, inner_->GatherStringsSync(mine, what));
  }
  std::vector<std::vector<int64_t>> ExchangeNumbersSync(
      const std::vector<std::vector<int64_t>>& send, std::string_view what) override {
    const auto ready = Take([&](size_t r) -> std::pair<int64_t, int64_t> {
      if (r >= send.size()) return {0, 0};
      return {static_cast<int64_t>(send[r].size() * sizeof(int64_t)), 0};
    });
    return At(ready, inner_->ExchangeNumbersSync(send, what));
  }

 private:
  int MyNode() const { return nodes_[static_cast<size_t>(rank())]; }

  // bytes(r): those that a call sends to rank r, and receives from it.
  template <typename Bytes>
  Clock::time_point Take(const Bytes& bytes) {
    Load between, inside;
    for (size_t r = 0; r < nodes_.size(); ++r) {
      if (static_cast<int>(r) == rank()) continue;
      Load& load = nodes_[r] == MyNode() ? inside : between;
      const auto [sent, received] = bytes(r);
      load.sent += sent;
      load.received += received;
      load.used = true;
    }
    return links_->Take(between, inside);
  }
  // A call that sends as many to each other rank as it receives from it.
  Clock::time_point TakeEach(int64_t bytes) {
    return Take([bytes](size_t) { return std::pair(bytes, bytes); });
  }
  Clock::time_point TakeOne(int other, int64_t sent, int64_t received) {
    const Load load{sent, received, true}, none;
    const bool here = nodes_[static_cast<size_t>(other)] == MyNode();
    return links_->Take(here ? none : load, here ? load : none);
  }

  template <typename T>
  T At(Clock::time_point ready, T result) {
    std::this_thread::sleep_until(ready);
    CountInner();
    return result;
  }

  template <typename T>
  Awaitable<T> Slow(Clock::time_point ready, Awaitable<T> result) {
    CountInner();
    const auto wait = [this, ready] {
      const internal::ExchangeTime time;
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
  std::shared_ptr<Links> links_;
  std::vector<int> nodes_;
};

}  // namespace

std::unique_ptr<Communicator> MakeSlowCommunicator(std::unique_ptr<Communicator> inner,
                                                   const SlowNodes& nodes) {
  TESSERA_CHECK(nodes.local_size > 0 && inner->size() % nodes.local_size == 0,
                "slow links: {} ranks are no nodes of {}", inner->size(), nodes.local_size);
  std::vector<int> node_of;
  for (int r = 0; r < inner->size(); ++r) node_of.push_back(r / nodes.local_size);
  return std::make_unique<SlowCommunicator>(std::move(inner), std::make_shared<Links>(nodes),
                                            std::move(node_of));
}

std::unique_ptr<Communicator> MakeSlowCommunicator(std::unique_ptr<Communicator> inner,
                                                   const SlowLink& link) {
  return MakeSlowCommunicator(std::move(inner), SlowNodes{.between = link});
}

}  // namespace tessera
