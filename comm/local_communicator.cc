#include "comm/local_communicator.h"

#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "comm/local_group.h"
#include "comm/message_communicator.h"
#include "runtime/base/size_limits.h"
#include "runtime/base/start_threads.h"
#include "runtime/tensor.h"

namespace tessera {
namespace internal {
namespace {

class LocalCommunicator final : public MessageCommunicator {
 public:
  LocalCommunicator(std::shared_ptr<LocalGroup> group, int rank, int family_rank)
      : MessageCommunicator(rank, group->size()),
        group_(std::move(group)),
        family_rank_(family_rank) {}
  ~LocalCommunicator() override { group_->Leave(rank()); }

  std::string_view backend() const override { return "local"; }

  std::unique_ptr<Communicator> Split(int color, int key) override {
    const std::string name = Format("{}/{}/{}", group_->id(), num_splits_++, color);
    const std::vector<int> members = GroupOf(color, key);
    if (members.empty()) return nullptr;
    auto group = group_->family().JoinGroup(name, static_cast<int>(members.size()));
    return std::make_unique<LocalCommunicator>(std::move(group), PlaceIn(members), family_rank_);
  }

  void Abort(const std::string& reason) noexcept override {
    group_->family().Abort(Format("rank {} aborted: {}", family_rank_, reason));
  }
  std::string abort_reason() const override { return group_->family().reason(); }

 protected:
  Awaitable<std::vector<Tensor>> StartExchange(Context& ctx, const Call& call,
                                               std::vector<Tensor> send,
                                               std::vector<int64_t> receive_counts) override {
    const Event written = Event::Record(ctx.stream());
    for (int r = 0; r < size(); ++r)
      if (r != rank()) PutTensor(call, r, send[static_cast<size_t>(r)], written);
    return Awaitable<std::vector<Tensor>>(
        [this, &ctx, call, counts = std::move(receive_counts),
         own = std::move(send[static_cast<size_t>(rank())])]() mutable {
          auto messages = group_->Take(rank(), call);
          std::vector<Tensor> received;
          for (int r = 0; r < size(); ++r) {
            const auto i = static_cast<size_t>(r);
            const Content expected = {own.dtype(), counts[i]};
            received.push_back(r == rank() ? own : Open(ctx, call, expected, r, *messages[i]));
          }
          return received;
        });
  }

  Awaitable<void> StartSend(Context& ctx, const Call& call, const Tensor& flat, int to) override {
    PutTensor(call, to, flat, Event::Record(ctx.stream()));
    return Awaitable<void>([] {});
  }

  Awaitable<Tensor> StartReceive(Context& ctx, const Call& call, int64_t count, DType dtype,
                                 int from) override {
    return Awaitable<Tensor>([this, &ctx, call, expected = Content{dtype, count}, from] {
      auto messages = group_->Take(rank(), call, from);
      return Open(ctx, call, expected, from, *messages[static_cast<size_t>(from)]);
    });
  }

  std::vector<std::string> ExchangeBytes(const Call& call, std::vector<std::string> send) override {
    const Content bytes = {DType::kU8, 0, false};
    for (int r = 0; r < size(); ++r) {
      if (r == rank()) continue;
      std::string& text = send[static_cast<size_t>(r)];
      CountSent(static_cast<int64_t>(text.size()));
      group_->Put(rank(), r, {call, bytes, {}, {}, std::move(text)});
    }
    auto messages = group_->Take(rank(), call);
    for (int r = 0; r < size(); ++r) {
      if (r == rank()) continue;
      LocalMessage& message = *messages[static_cast<size_t>(r)];
      CheckAgreement(rank(), call, bytes, r, message.call, message.content);
      send[static_cast<size_t>(r)] = std::move(message.bytes);
    }
    return send;
  }

 private:
  void PutTensor(const Call& call, int to, const Tensor& tensor, const Event& written) {
    CountSent(tensor.nbytes());
    group_->Put(rank(), to, {call, {tensor.dtype(), tensor.numel()}, tensor, written, {}});
  }

  // The sender's tensor, for use on ctx's stream from now on.
  Tensor Open(Context& ctx, const Call& call, const Content& expected, int from,
              const LocalMessage& message) {
    CheckAgreement(rank(), call, expected, from, message.call, message.content);
    message.written.HoldBack(ctx.stream());
    const bool here = message.tensor.device() == ctx.device();
    if (!here) message.written.Sync();
    if (ctx.device().type == message.tensor.device().type && ctx.device() != Device::Cpu())
      message.tensor.RecordStream(ctx);
    return here ? message.tensor : message.tensor.Clone(ctx);
  }

  std::shared_ptr<LocalGroup> group_;
  int family_rank_;
  int64_t num_splits_ = 0;
};

}  // namespace
}  // namespace internal

std::vector<std::unique_ptr<Communicator>> MakeLocalCommunicators(int ranks) {
  CheckPositive(ranks, SizeLimits::kRanks, "ranks of a group");
  const auto group = std::make_shared<internal::LocalFamily>()->NewGroup(ranks);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int r = 0; r < ranks; ++r)
    communicators.push_back(std::make_unique<internal::LocalCommunicator>(group, r, r));
  return communicators;
}

void RunLocalRanks(int ranks, const std::function<void(Communicator&)>& fn) {
  std::vector<std::unique_ptr<Communicator>> communicators = MakeLocalCommunicators(ranks);
  std::mutex mutex;
  std::exception_ptr failure;
  const auto fail = [&](Communicator& comm, const std::string& what, const auto& error) {
    {
      const std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::make_exception_ptr(error);
    }
    comm.Abort(what);
  };
  const auto of_rank = [](Communicator& comm, const std::string& what) {
    return Error(Format("rank {}: {}", comm.rank(), what));
  };
  const auto run = [&](std::unique_ptr<Communicator> comm) {
    try {
      fn(*comm);
    } catch (const ErrorOfAllRanks& error) {
      fail(*comm, error.what(), error);
    } catch (const std::exception& error) {
      fail(*comm, error.what(), of_rank(*comm, error.what()));
    } catch (...) {
      constexpr char kUnknown[] = "an exception that is no std::exception";
      fail(*comm, kUnknown, of_rank(*comm, kUnknown));
    }
  };
  std::vector<std::thread> threads;
  StartThreads(threads, ranks, "rank's thread",
               [&](int r) { run(std::move(communicators[static_cast<size_t>(r)])); });
  for (std::thread& thread : threads) thread.join();
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace tessera
