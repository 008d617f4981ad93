#ifndef TESSERA_COMM_COMMUNICATOR_H_
#define TESSERA_COMM_COMMUNICATOR_H_
// A group of ranks that exchange tensors. Three kinds: threads of one process
// (local_communicator.h), processes under mpirun (mpi_communicator.h), GPUs (nccl_communicator.h).
// These rules hold for all three.
//
// Collectives: every rank of the group makes the same calls in the same order, each from one thread
// at a time. A call starts the exchange and returns; Awaitable::Wait gives the result. Results may
// be waited for in any order, each before its communicator and context are destroyed. Do not change
// a tensor that you passed in before every rank has waited for its result; one passed to AllToAllV,
// Send or Broadcast, never: with `local`, their receiver sees the sender's memory. Do not change
// what these three return either. The results of the others (AllToAll, AllGather, AllGatherV, and
// sums) are memory of their own. An input of AllReduce is free once this rank has its result.
//
// Sums are in the order of the ranks, so every run gives the same bits, and `local` the same as
// `mpi`. (NCCL has an order of its own, the same for the same machine.)
//
// `what` says what a call is for ("output_dist of t0, t1"). Errors name it, and the rank, where
// ranks made different calls or one failed. A rank that fails must call Abort; every waiting call
// of every rank then throws CommunicatorAborted with the reason.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/awaitable.h"
#include "comm/reduce.h"
#include "runtime/tensor.h"

namespace tessera {

// Another rank failed, or this call can't be finished.
class CommunicatorAborted : public Error {
 public:
  using Error::Error;
};

// An error that every rank that was started throws alike: whoever runs the ranks reports it once,
// and not as an error of one of them.
class ErrorOfAllRanks : public Error {
 public:
  using Error::Error;
};

class Communicator {
 public:
  virtual ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual std::string_view backend() const = 0;  // "local", "mpi", "nccl"
  int rank() const { return rank_; }
  int size() const { return size_; }

  // ---- groups (every rank calls)

  // The ranks with the same color, ordered by key, then by rank here. A negative color takes part
  // in no group: null.
  virtual std::unique_ptr<Communicator> Split(int color, int key) = 0;
  // Ranks [n·k, n·k + n) of node k, for n = local_size; and the ranks that have the same place on
  // every node. REQUIRES: local_size divides size().
  std::unique_ptr<Communicator> SplitLocal(int local_size);
  std::unique_ptr<Communicator> SplitCrossNode(int local_size);
  // Returns a second communicator of all ranks, for the calls of a second thread, which have an
  // order of their own. The first call with a name makes it; it lives as long as this one, so a
  // rank that fails leaves neither before the others have heard of it.
  Communicator& Companion(const std::string& name);
  // The groups of SplitLocal and SplitCrossNode, kept as a companion is.
  Communicator& LocalCompanion(int local_size);
  Communicator& CrossNodeCompanion(int local_size);

  // ---- exchanges. Tensors are contiguous, on ctx's device, of any type.

  // send[r] goes to rank r; the result's [r] came from rank r, and has receive_counts[r] elements.
  // All tensors are one-dimensional, of one type; those sent may be views of one buffer. Throws
  // Error if a rank sends another number than was expected.
  virtual Awaitable<std::vector<Tensor>> AllToAllV(Context& ctx, std::vector<Tensor> send,
                                                   std::vector<int64_t> receive_counts,
                                                   std::string_view what) = 0;
  // send [R, …]: block r goes to rank r. Result: same shape, block r came from rank r.
  Awaitable<Tensor> AllToAll(Context& ctx, const Tensor& send, std::string_view what);
  // The rows of all ranks, in rank order: send [n, …] -> [Σ counts, …]; rank r sends counts[r].
  // Throws Error unless counts has one number a rank, and that of this rank is n.
  Awaitable<Tensor> AllGatherV(Context& ctx, const Tensor& send, std::vector<int64_t> counts,
                               std::string_view what);
  // AllGatherV of one block a rank: send of any shape S, the same on all ranks -> [R, S].
  virtual Awaitable<Tensor> AllGather(Context& ctx, const Tensor& send, std::string_view what);
  // send [Σ counts, …] of f32, f64, i32 or i64 -> [counts[rank()], …]: the sum over ranks of the
  // rows that are this rank's.
  Awaitable<Tensor> ReduceScatterV(Context& ctx, const Tensor& send, std::vector<int64_t> counts,
                                   std::string_view what);
  // send [R, S] -> S.
  virtual Awaitable<Tensor> ReduceScatter(Context& ctx, const Tensor& send, std::string_view what);
  // f32, f64, i32 or i64, any shape; a new tensor of the same shape.
  virtual Awaitable<Tensor> AllReduce(Context& ctx, const Tensor& send, ReduceOp op,
                                      std::string_view what);
  // Copies `tensor` of rank `root` to every rank. The other ranks give a tensor of the same shape
  // and type, whose values are not read.
  virtual Awaitable<Tensor> Broadcast(Context& ctx, const Tensor& tensor, int root,
                                      std::string_view what);
  // Its result is there once every rank has called.
  virtual Awaitable<void> Barrier(Context& ctx, std::string_view what);

  // ---- two ranks. Messages between the same two ranks arrive in the order they were sent.

  // Sends a tensor, of any shape, to rank `to`, which calls Receive with this rank, its shape and
  // its dtype.
  virtual Awaitable<void> Send(Context& ctx, const Tensor& tensor, int to,
                               std::string_view what) = 0;
  virtual Awaitable<Tensor> Receive(Context& ctx, const Shape& shape, DType dtype, int from,
                                    std::string_view what) = 0;

  // ---- small things of the host, whatever the tensors' device; these wait

  // Every rank's bytes, in rank order.
  virtual std::vector<std::string> GatherStringsSync(const std::string& mine,
                                                     std::string_view what) = 0;
  // send[r] goes to rank r; what came from rank r.
  virtual std::vector<std::vector<int64_t>> ExchangeNumbersSync(
      const std::vector<std::vector<int64_t>>& send, std::string_view what) = 0;

  // ---- failure

  // Ends the group, and every group split from it or that it was split from: calls that wait, on
  // any rank, throw CommunicatorAborted with `reason` and this rank. May be called from any thread,
  // and again. Does not throw.
  virtual void Abort(const std::string& reason) noexcept = 0;
  // Why the group was ended; empty while it goes on. Always empty where Abort ends the process. May
  // be called from any thread.
  virtual std::string abort_reason() const { return {}; }

  // Payload bytes that this rank's calls have sent to other ranks so far.
  int64_t bytes_sent() const { return bytes_sent_; }

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}
  // AllToAllV for a collective that is made of it; a backend that checks what others called tells
  // it by the name `op`.
  virtual Awaitable<std::vector<Tensor>> Exchange(Context& ctx, std::string_view op,
                                                  std::vector<Tensor> send,
                                                  std::vector<int64_t> receive_counts,
                                                  std::string_view what);
  // Sends all to every rank, or block r to rank r; counts: elements from, or for, each rank.
  Awaitable<Tensor> GatherRows(Context& ctx, std::string_view op, const Tensor& send,
                               const std::vector<int64_t>& counts, const Shape& shape,
                               std::string_view what);
  Awaitable<Tensor> ReduceRows(Context& ctx, std::string_view op, const Tensor& send,
                               const std::vector<int64_t>& counts, const Shape& shape,
                               std::string_view what);
  void CountSent(int64_t bytes) { bytes_sent_ += bytes; }

 private:
  using MakeGroup = std::function<std::unique_ptr<Communicator>()>;
  Communicator& CompanionOf(const std::string& name, const MakeGroup& make);

  int rank_, size_;
  int64_t bytes_sent_ = 0;
  std::map<std::string, std::unique_ptr<Communicator>> companions_;
};

// Whether this rank speaks for the group.
inline bool IsLeader(const Communicator& comm) { return comm.rank() == 0; }

}  // namespace tessera
#endif  // TESSERA_COMM_COMMUNICATOR_H_
