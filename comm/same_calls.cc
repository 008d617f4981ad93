#include "comm/same_calls.h"

#include <cstring>

namespace tessera::internal {
namespace {

// A call and the sizes that a rank sends: numbers, then both names, each ended by a zero byte.
struct Header {
  Call call;
  DType dtype;
  std::vector<int64_t> sent;
};

std::string ToBytes(const Header& header) {
  std::vector<int64_t> numbers = {header.call.number, static_cast<int64_t>(header.dtype)};
  numbers.insert(numbers.end(), header.sent.begin(), header.sent.end());
  std::string bytes(reinterpret_cast<const char*>(numbers.data()),
                    numbers.size() * sizeof(int64_t));
  for (const std::string& name : {header.call.op, header.call.what}) bytes += name + '\0';
  return bytes;
}

Header FromBytes(const std::string& bytes, int ranks) {
  std::vector<int64_t> numbers(2 + static_cast<size_t>(ranks));
  const size_t names = numbers.size() * sizeof(int64_t);
  TESSERA_CHECK_GT(bytes.size(), names, "a call's header");
  std::memcpy(numbers.data(), bytes.data(), names);
  Header header;
  header.call.number = numbers[0];
  header.dtype = static_cast<DType>(numbers[1]);
  header.sent.assign(numbers.begin() + 2, numbers.end());
  header.call.op = bytes.c_str() + names;
  header.call.what = bytes.c_str() + names + header.call.op.size() + 1;
  return header;
}

}  // namespace

void CheckSameCalls(Communicator& host, const Call& call, DType dtype,
                    const std::vector<int64_t>& sent, const std::vector<int64_t>& expected) {
  const std::vector<std::string> headers =
      host.GatherStringsSync(ToBytes({call, dtype, sent}), "the call that comes");
  const auto mine = static_cast<size_t>(host.rank());
  for (size_t r = 0; r < headers.size(); ++r) {
    if (r == mine) continue;
    const Header theirs = FromBytes(headers[r], host.size());
    CheckAgreement(host.rank(), call, {dtype, expected[r]}, static_cast<int>(r), theirs.call,
                   {theirs.dtype, theirs.sent[mine]});
  }
}

}  // namespace tessera::internal
