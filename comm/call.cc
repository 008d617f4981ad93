#include "comm/call.h"

#include "runtime/base/check.h"

namespace tessera::internal {

std::string ToString(const Call& call) {
  return Format("{} \"{}\" ({} {})", call.op, call.what, call.two_ranks ? "message" : "call",
                call.number);
}

std::string ToString(const Content& content) {
  if (!content.sized) return "bytes";
  return Format("{} elements of {}", content.count, content.dtype);
}

void CheckAgreement(int rank, const Call& mine, const Content& expected, int from,
                    const Call& theirs, const Content& sent) {
  TESSERA_CHECK(mine.op == theirs.op && mine.what == theirs.what,
                "ranks made different calls: rank {} made {}, rank {} made {}", rank, mine, from,
                theirs);
  const bool agree = expected.sized ? expected == sent : !sent.sized;
  TESSERA_CHECK(agree, "{}: rank {} expected {} from rank {}, which sent {}", mine, rank, expected,
                from, sent);
}

}  // namespace tessera::internal
