#include "comm/message_communicator.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "comm/blocks.h"
#include "comm/check_exchange.h"

namespace tessera::internal {
namespace {

// For messages up to this size, the second exchange costs more than the bytes that it saves.
constexpr int64_t kSmallBytes = 8 << 10;

// The elements of each rank's block of n.
std::vector<int64_t> NearEqualBlocks(int64_t n, int64_t ranks) {
  std::vector<int64_t> counts;
  for (int64_t r = 0; r < ranks; ++r) counts.push_back(n * (r + 1) / ranks - n * r / ranks);
  return counts;
}

}  // namespace

class MessageCommunicator::TwoStepAllReduce {
 public:
  // Starts step 1; `second` names step 2.
  TwoStepAllReduce(MessageCommunicator* comm, Context& ctx, const Tensor& send, ReduceOp op,
                   const Call& first, Call second)
      : comm_(comm),
        ctx_(&ctx),
        op_(op),
        second_(std::move(second)),
        shape_(send.shape()),
        counts_(NearEqualBlocks(send.numel(), comm->size())),
        received_(comm->StartExchange(ctx, first, CutFlat(send, counts_),
                                      std::vector<int64_t>(counts_.size(), Mine()))) {}

  int64_t number() const { return second_.number; }
  void StartSecondStep() {
    if (!received_.valid()) return;
    try {
      const Tensor block = ReduceInOrder(*ctx_, received_.Wait(), op_);
      gathered_ =
          comm_->StartExchange(*ctx_, second_, std::vector<Tensor>(counts_.size(), block), counts_);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  Tensor Finish() {
    StartSecondStep();
    if (failure_) std::rethrow_exception(failure_);
    return Join(*ctx_, gathered_.Wait(), shape_);
  }

 private:
  int64_t Mine() const { return counts_[static_cast<size_t>(comm_->rank())]; }

  MessageCommunicator* comm_;
  Context* ctx_;
  ReduceOp op_;
  Call second_;
  Shape shape_;
  std::vector<int64_t> counts_;
  Awaitable<std::vector<Tensor>> received_, gathered_;
  std::exception_ptr failure_;
};

Call MessageCommunicator::NewCall(std::string_view op, std::string_view what) {
  return {next_call_++, false, std::string(op), std::string(what)};
}

void MessageCommunicator::StartSecondStepsBefore(int64_t number) {
  while (!in_first_step_.empty()) {
    const std::shared_ptr<TwoStepAllReduce> oldest = in_first_step_.front().lock();
    if (oldest && oldest->number() >= number) return;
    in_first_step_.pop_front();
    if (oldest) oldest->StartSecondStep();
  }
}

template <typename T>
Awaitable<T> MessageCommunicator::InOrder(int64_t number, Awaitable<T> result) {
  return Awaitable<T>([this, number, result = std::move(result)]() mutable {
    StartSecondStepsBefore(number);
    return result.Wait();
  });
}

Awaitable<std::vector<Tensor>> MessageCommunicator::Exchange(Context& ctx, std::string_view op,
                                                             std::vector<Tensor> send,
                                                             std::vector<int64_t> receive_counts,
                                                             std::string_view what) {
  const Call call = NewCall(op, what);
  CheckExchange(*this, ctx, send, receive_counts, call);
  return InOrder(call.number, StartExchange(ctx, call, std::move(send), std::move(receive_counts)));
}

Awaitable<std::vector<Tensor>> MessageCommunicator::AllToAllV(Context& ctx,
                                                              std::vector<Tensor> send,
                                                              std::vector<int64_t> receive_counts,
                                                              std::string_view what) {
  return Exchange(ctx, "AllToAllV", std::move(send), std::move(receive_counts), what);
}

Awaitable<Tensor> MessageCommunicator::AllReduce(Context& ctx, const Tensor& send, ReduceOp op,
                                                 std::string_view what) {
  if (send.nbytes() <= kSmallBytes || size() == 1)
    return Communicator::AllReduce(ctx, send, op, what);
  CheckReducible(send.dtype(), what);
  CheckDevice(ctx, "AllReduce", send);
  const std::string name = "AllReduce " + ToString(op);
  const Call first = NewCall(name, what), second = NewCall(name, what);
  auto steps = std::make_shared<TwoStepAllReduce>(this, ctx, send, op, first, second);
  in_first_step_.push_back(steps);
  return Awaitable<Tensor>([this, steps] {
    StartSecondStepsBefore(steps->number());
    return steps->Finish();
  });
}

Awaitable<void> MessageCommunicator::Send(Context& ctx, const Tensor& tensor, int to,
                                          std::string_view what) {
  TESSERA_CHECK(to >= 0 && to < size() && to != rank(), "Send {} from rank {} to {} of {}", what,
                rank(), to, size());
  CheckDevice(ctx, "Send", tensor);
  const Call call = {next_sent_[to]++, true, "Send", std::string(what)};
  return InOrder(next_call_, StartSend(ctx, call, Flat(tensor), to));
}

Awaitable<Tensor> MessageCommunicator::Receive(Context& ctx, const Shape& shape, DType dtype,
                                               int from, std::string_view what) {
  TESSERA_CHECK(from >= 0 && from < size() && from != rank(), "Receive {} on rank {} from {} of {}",
                what, rank(), from, size());
  // The call has the sender's name, so that both sides match.
  const Call call = {next_received_[from]++, true, "Send", std::string(what)};
  return InOrder(next_call_, StartReceive(ctx, call, shape.numel(), dtype, from))
      .Then([shape](const Tensor& flat) { return flat.Reshape(shape); });
}

std::vector<std::string> MessageCommunicator::ExchangeBytesOf(std::string_view op,
                                                              std::vector<std::string> send,
                                                              std::string_view what) {
  const Call call = NewCall(op, what);
  StartSecondStepsBefore(call.number);
  return ExchangeBytes(call, std::move(send));
}

std::vector<std::string> MessageCommunicator::GatherStringsSync(const std::string& mine,
                                                                std::string_view what) {
  return ExchangeBytesOf("GatherStringsSync",
                         std::vector<std::string>(static_cast<size_t>(size()), mine), what);
}

std::vector<std::vector<int64_t>> MessageCommunicator::ExchangeNumbersSync(
    const std::vector<std::vector<int64_t>>& send, std::string_view what) {
  TESSERA_CHECK_EQ(static_cast<int>(send.size()), size(), "ExchangeNumbersSync {}: one list a rank",
                   what);
  std::vector<std::string> bytes;
  for (const std::vector<int64_t>& numbers : send)
    bytes.emplace_back(reinterpret_cast<const char*>(numbers.data()),
                       numbers.size() * sizeof(int64_t));
  std::vector<std::vector<int64_t>> received;
  for (const std::string& text : ExchangeBytesOf("ExchangeNumbersSync", std::move(bytes), what)) {
    received.emplace_back(text.size() / sizeof(int64_t));
    if (!text.empty()) std::memcpy(received.back().data(), text.data(), text.size());
  }
  return received;
}

std::vector<int> MessageCommunicator::GroupOf(int color, int key) {
  const std::vector<std::vector<int64_t>> mine(static_cast<size_t>(size()), {color, key});
  const std::vector<std::vector<int64_t>> all = ExchangeNumbersSync(mine, "Split");
  std::vector<std::pair<int64_t, int>> members;  // key, rank
  for (size_t r = 0; r < all.size(); ++r)
    if (color >= 0 && all[r].at(0) == color)
      members.emplace_back(all[r].at(1), static_cast<int>(r));
  std::sort(members.begin(), members.end());
  std::vector<int> ranks;
  for (const auto& [k, r] : members) ranks.push_back(r);
  return ranks;
}

int MessageCommunicator::PlaceIn(const std::vector<int>& members) const {
  return static_cast<int>(std::find(members.begin(), members.end(), rank()) - members.begin());
}

}  // namespace tessera::internal
