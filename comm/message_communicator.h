#ifndef TESSERA_COMM_MESSAGE_COMMUNICATOR_H_
#define TESSERA_COMM_MESSAGE_COMMUNICATOR_H_
// The base of the backends `local` and `mpi`, in which ranks exchange messages that bear the name
// and the number of their call. Numbers are given when a call is made, so results may be waited for
// in any order.
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/call.h"
#include "comm/communicator.h"
#include "runtime/tensor.h"

namespace tessera::internal {

class MessageCommunicator : public Communicator {
 public:
  Awaitable<std::vector<Tensor>> AllToAllV(Context& ctx, std::vector<Tensor> send,
                                           std::vector<int64_t> receive_counts,
                                           std::string_view what) final;
  // Small tensors go whole to every rank, which sums all. Larger ones take two exchanges: a rank
  // sums one block and sends it to all. The bits are the same.
  Awaitable<Tensor> AllReduce(Context& ctx, const Tensor& send, ReduceOp op,
                              std::string_view what) final;
  Awaitable<void> Send(Context& ctx, const Tensor& tensor, int to, std::string_view what) final;
  Awaitable<Tensor> Receive(Context& ctx, const Shape& shape, DType dtype, int from,
                            std::string_view what) final;
  std::vector<std::string> GatherStringsSync(const std::string& mine, std::string_view what) final;
  std::vector<std::vector<int64_t>> ExchangeNumbersSync(
      const std::vector<std::vector<int64_t>>& send, std::string_view what) final;

 protected:
  using Communicator::Communicator;

  // Sends send[r] to rank r; the result's [r] came from rank r. send[rank()] is handed back.
  virtual Awaitable<std::vector<Tensor>> StartExchange(Context& ctx, const Call& call,
                                                       std::vector<Tensor> send,
                                                       std::vector<int64_t> receive_counts) = 0;
  virtual Awaitable<void> StartSend(Context& ctx, const Call& call, const Tensor& flat, int to) = 0;
  virtual Awaitable<Tensor> StartReceive(Context& ctx, const Call& call, int64_t count, DType dtype,
                                         int from) = 0;
  // Bytes of the host, whose number the receiver does not know. Waits.
  virtual std::vector<std::string> ExchangeBytes(const Call& call,
                                                 std::vector<std::string> send) = 0;

  // For Split: the members of this rank's new group by their rank here, in the new order; empty for
  // a negative color.
  std::vector<int> GroupOf(int color, int key);
  // Returns this rank's place among the members.
  int PlaceIn(const std::vector<int>& members) const;
  Call NewCall(std::string_view op, std::string_view what);

 private:
  class TwoStepAllReduce;
  Awaitable<std::vector<Tensor>> Exchange(Context& ctx, std::string_view op,
                                          std::vector<Tensor> send,
                                          std::vector<int64_t> receive_counts,
                                          std::string_view what) final;
  std::vector<std::string> ExchangeBytesOf(std::string_view op, std::vector<std::string> send,
                                           std::string_view what);
  // Starts the second step of all-reduces made before call `number`: another rank may wait for
  // them, and start what this rank waits for only then.
  void StartSecondStepsBefore(int64_t number);
  // Returns `result`, whose Wait first starts those second steps.
  template <typename T>
  Awaitable<T> InOrder(int64_t number, Awaitable<T> result);

  int64_t next_call_ = 0;
  std::map<int, int64_t> next_sent_, next_received_;  // by the other rank
  std::deque<std::weak_ptr<TwoStepAllReduce>> in_first_step_;
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_MESSAGE_COMMUNICATOR_H_
