#include "comm/mpi/mpi_transfer.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/base/hash.h"

namespace tessera::internal {
namespace {

// A payload up to this size comes with its head.
constexpr int64_t kWithHead = 8 << 10;
constexpr size_t kMaxText = 400;

std::string TextOf(const Call& call) { return call.op + '\0' + call.what; }

// The smallest bound that MPI may have for tags is 32767; every implementation has a larger one.
int TagOf(const Call& call, MPI_Comm comm) {
  void* bound = nullptr;
  int found = 0;
  TESSERA_MPI_CHECK(MPI_Comm_get_attr(comm, MPI_TAG_UB, &bound, &found));
  const int64_t tags = found ? int64_t{*static_cast<int*>(bound)} + 1 : 32768;
  return static_cast<int>((2 * call.number + call.two_ranks) % (tags / 2 * 2));
}

}  // namespace

struct MpiTransfer::Head {
  int64_t number, count;
  uint64_t text_hash;
  int32_t text_bytes;
  DType dtype;
  bool sized, two_ranks;

  // The sender's call; only its beginning if it is long and not `mine`.
  Call ReadCall(const char* text, const Call& mine, uint64_t my_hash) const {
    if (text_hash == my_hash) return mine;
    const std::string both(text, static_cast<size_t>(text_bytes));
    const size_t end = std::min(both.find('\0'), both.size());
    return {number, two_ranks, both.substr(0, end), both.substr(std::min(end + 1, both.size()))};
  }
};

MpiTransfer::MpiTransfer(const MpiGroup& group, const MpiOptions& options, Call call,
                         std::vector<MpiOutgoing> out, std::vector<MpiIncoming> in)
    : MpiTask(std::move(call)),
      group_(group),
      chunk_bytes_(options.chunk_bytes),
      text_(TextOf(this->call())),
      text_hash_(HashOf(text_)),
      out_(std::move(out)),
      in_(std::move(in)),
      received_heads_(in_.size()),
      pieces_ahead_(in_.size(), 1) {
  text_.resize(std::min(text_.size(), kMaxText));
  sent_heads_.reserve(out_.size());
}

MPI_Request* MpiTransfer::NewRequest(Kind kind, size_t peer) {
  ++(kind == Kind::kSend ? sending_ : receiving_);
  pending_.push_back({kind, peer});
  return &requests_.emplace_back(MPI_REQUEST_NULL);
}

template <typename Fn>
void MpiTransfer::ForPieces(const Tensor& payload, Fn fn) const {
  char* bytes = static_cast<char*>(payload.raw_data());
  for (int64_t begin = 0; begin < payload.nbytes(); begin += chunk_bytes_)
    fn(bytes + begin, static_cast<int>(std::min(chunk_bytes_, payload.nbytes() - begin)));
}

void MpiTransfer::Start() {
  tag_ = TagOf(call(), group_.comm);
  for (size_t peer = 0; peer < in_.size(); ++peer) PostReceive(peer);
  for (const MpiOutgoing& out : out_) PostSend(out);
}

void MpiTransfer::PostReceive(size_t peer) {
  static_assert(std::is_trivially_copyable_v<Head>);
  std::string& head = received_heads_[peer];
  head.resize(sizeof(Head) + kMaxText + kWithHead);
  TESSERA_MPI_CHECK(MPI_Irecv(head.data(), static_cast<int>(head.size()), MPI_BYTE, in_[peer].from,
                              tag_, group_.comm, NewRequest(Kind::kHead, peer)));
}

void MpiTransfer::PostPieces(size_t peer) {
  ForPieces(in_[peer].payload, [&](char* bytes, int count) {
    ++pieces_ahead_[peer];
    TESSERA_MPI_CHECK(MPI_Irecv(bytes, count, MPI_BYTE, in_[peer].from, tag_, group_.comm,
                                NewRequest(Kind::kPiece, peer)));
  });
}

void MpiTransfer::PostSend(const MpiOutgoing& out) {
  const Tensor& payload = out.host_copy ? out.host_copy->Wait() : out.payload;
  const Head head = {
      call().number,     out.content.count, text_hash_,      static_cast<int32_t>(text_.size()),
      out.content.dtype, out.content.sized, call().two_ranks};
  const bool with_head = payload.nbytes() <= kWithHead;
  std::string& first = sent_heads_.emplace_back(reinterpret_cast<const char*>(&head), sizeof head);
  first += text_;
  if (with_head)
    first.append(static_cast<const char*>(payload.raw_data()),
                 static_cast<size_t>(payload.nbytes()));
  TESSERA_MPI_CHECK(MPI_Isend(first.data(), static_cast<int>(first.size()), MPI_BYTE, out.to, tag_,
                              group_.comm, NewRequest(Kind::kSend)));
  if (with_head) return;
  ForPieces(payload, [&](char* bytes, int count) {
    TESSERA_MPI_CHECK(
        MPI_Isend(bytes, count, MPI_BYTE, out.to, tag_, group_.comm, NewRequest(Kind::kSend)));
  });
}

MpiTask::State MpiTransfer::Advance() {
  done_.resize(requests_.size());
  int num_done = 0;
  TESSERA_MPI_CHECK(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &num_done,
                                 done_.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < num_done; ++i)  // MPI_UNDEFINED, if nothing is pending, is below 0
    Complete(pending_[static_cast<size_t>(done_[static_cast<size_t>(i)])]);
  if (receiving_ > 0) return peers_moving_ > 0 ? State::kMoving : State::kWaiting;
  return sending_ > 0 ? State::kHasResult : State::kFinished;
}

void MpiTransfer::Complete(Pending pending) {
  --(pending.kind == Kind::kSend ? sending_ : receiving_);
  if (pending.kind == Kind::kSend) return;
  if (pending.kind == Kind::kHead) {
    ++peers_moving_;
    ReadHead(pending.peer);
  }
  if (--pieces_ahead_[pending.peer] == 0) --peers_moving_;
}

void MpiTransfer::ReadHead(size_t peer) {
  MpiIncoming& in = in_[peer];
  const char* at = received_heads_[peer].data();
  Head head;
  std::memcpy(&head, at, sizeof head);
  at += sizeof head;
  CheckAgreement(group_.rank, call(), in.content, in.from, head.ReadCall(at, call(), text_hash_),
                 {head.dtype, head.count, head.sized});
  if (!in.content.sized) in.payload = Tensor::EmptyHost({head.count}, DType::kU8);
  // Only a payload of the right size is received: Open MPI 4.1 writes behind the end of one that is
  // too short.
  if (in.payload.nbytes() > kWithHead)
    PostPieces(peer);
  else if (in.payload.nbytes() > 0)
    std::memcpy(in.payload.raw_data(), at + head.text_bytes,
                static_cast<size_t>(in.payload.nbytes()));
}

void MpiTransfer::Cancel() noexcept {
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (pending_[i].kind == Kind::kSend || requests_[i] == MPI_REQUEST_NULL) continue;
    if (MPI_Cancel(&requests_[i]) == MPI_SUCCESS) MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
  }
  receiving_ = 0;
}

std::vector<int> MpiTransfer::Missing() const {
  std::vector<int> missing;
  for (size_t peer = 0; peer < in_.size(); ++peer)
    if (pieces_ahead_[peer] > 0)
      missing.push_back(group_.job_ranks[static_cast<size_t>(in_[peer].from)]);
  return missing;
}

}  // namespace tessera::internal
