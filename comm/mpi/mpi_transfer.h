#ifndef TESSERA_COMM_MPI_MPI_TRANSFER_H_
#define TESSERA_COMM_MPI_MPI_TRANSFER_H_
// The messages of one call, to and from any number of ranks.
//
// A message is a head {numbers, type, count, hash and text of op and what}, behind it in the same
// MPI message the payload if that is small, else the payload in pieces of chunk_bytes. All bear the
// tag 2·(number of the call) + (whether of two ranks), so calls under way don't meet.
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi/mpi_engine.h"
#include "runtime/staging.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// A group as MPI knows it, and the rank in the job of each member.
struct MpiGroup {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  std::vector<int> job_ranks;
};

struct MpiOutgoing {
  int to;
  Content content;
  Tensor payload;
  std::optional<HostCopy> host_copy;  // of a payload that lies on a GPU
};

struct MpiIncoming {
  int from;
  Content content;
  Tensor payload;  // in host memory, of content.count elements; made on arrival if not sized
};

class MpiTransfer final : public MpiTask {
 public:
  MpiTransfer(const MpiGroup& group, const MpiOptions& options, Call call,
              std::vector<MpiOutgoing> out, std::vector<MpiIncoming> in);

  const std::vector<MpiOutgoing>& out() const { return out_; }
  // REQUIRES: waited for.
  const std::vector<MpiIncoming>& in() const { return in_; }

  void Start() override;
  State Advance() override;
  void Cancel() noexcept override;
  std::vector<int> Missing() const override;

 private:
  struct Head;
  enum class Kind { kHead, kPiece, kSend };
  struct Pending {
    Kind kind;
    size_t peer;  // of in_, for kHead and kPiece
  };
  MPI_Request* NewRequest(Kind kind, size_t peer = 0);
  void PostReceive(size_t peer);
  void PostPieces(size_t peer);
  void PostSend(const MpiOutgoing& out);
  void Complete(Pending pending);  // a copy: more may be added to pending_
  void ReadHead(size_t peer);
  // fn(bytes, count) for each piece of the payload.
  template <typename Fn>
  void ForPieces(const Tensor& payload, Fn fn) const;

  const MpiGroup group_;
  int64_t chunk_bytes_;
  int tag_ = 0;
  std::string text_;  // of the call, cut where it is long
  uint64_t text_hash_;
  std::vector<MpiOutgoing> out_;
  std::vector<MpiIncoming> in_;
  std::vector<std::string> sent_heads_, received_heads_;
  std::vector<MPI_Request> requests_;
  std::vector<int> done_;
  std::vector<Pending> pending_;       // of the same place in requests_
  std::vector<int64_t> pieces_ahead_;  // by peer: heads and pieces that have not come
  int64_t receiving_ = 0, sending_ = 0, peers_moving_ = 0;
};

}  // namespace tessera::internal
#endif  // TESSERA_COMM_MPI_MPI_TRANSFER_H_
