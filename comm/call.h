#ifndef TESSERA_COMM_CALL_H_
#define TESSERA_COMM_CALL_H_
// The name that a rank gives to each call, so that ranks that make different calls get an error
// instead of taking one message for another.
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/numbers/dtype.h"

namespace tessera::internal {

struct Call {
  int64_t number = 0;  // among the group's collectives, or the messages from one rank to another
  bool two_ranks = false;  // Send and Receive, which are numbered apart
  std::string op, what;
  friend bool operator==(const Call&, const Call&) = default;
};
// `AllReduce sum "dense gradients" (call 5)`.
std::string ToString(const Call& call);

// A message of `count` elements. If it is not `sized`, it is bytes, and the receiver does not know
// how many will come.
struct Content {
  DType dtype = DType::kU8;
  int64_t count = 0;
  bool sized = true;
  friend bool operator==(const Content&, const Content&) = default;
};
std::string ToString(const Content& content);

// Throws Error that names both, unless rank `from` sent to `rank` what was expected of it. Contents
// that are not `sized` agree whatever their counts.
void CheckAgreement(int rank, const Call& mine, const Content& expected, int from,
                    const Call& theirs, const Content& sent);

}  // namespace tessera::internal
#endif  // TESSERA_COMM_CALL_H_
