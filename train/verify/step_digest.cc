#include "train/verify/step_digest.h"

#include <cstring>
#include <string>
#include <type_traits>

#include "runtime/base/check.h"

namespace tessera {
namespace {

static_assert(std::is_trivially_copyable_v<PartDigest>);

std::vector<PartDigest> PartsSync(Communicator* comm, const PartDigest& mine) {
  if (comm == nullptr) return {mine};
  const std::string bytes(reinterpret_cast<const char*>(&mine), sizeof mine);
  std::vector<PartDigest> parts;
  for (const std::string& of_rank : comm->GatherStringsSync(bytes, "digests of --verify")) {
    TESSERA_CHECK_EQ(of_rank.size(), sizeof mine, "digests of --verify: bytes of a rank");
    std::memcpy(&parts.emplace_back(), of_rank.data(), sizeof mine);
  }
  return parts;
}

void AppendNumber(int64_t number, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void AppendList(const char*& from, const char* end, std::vector<int64_t>& list) {
  int64_t count = 0;
  const auto left = [&] { return (end - from) / static_cast<int64_t>(sizeof count); };
  TESSERA_CHECK_GE(left(), 1, "ids of --verify: numbers of a rank");
  std::memcpy(&count, from, sizeof count);
  from += sizeof count;
  TESSERA_CHECK(count >= 0 && count <= left(), "ids of --verify: {} numbers, got {}", count,
                left());
  const size_t before = list.size();
  list.resize(before + static_cast<size_t>(count));
  if (count > 0) std::memcpy(list.data() + before, from, static_cast<size_t>(count) * sizeof count);
  from += count * static_cast<int64_t>(sizeof count);
}

}  // namespace

std::vector<StepDigest> DigestsOfRanksSync(Communicator* comm, const PartDigest& mine) {
  const std::vector<PartDigest> parts = PartsSync(comm, mine);
  LocatedSum batch, rows;
  uint64_t first = 0;
  for (const PartDigest& part : parts) {
    batch.AddAll(part.batch.Shifted(first));
    rows.AddAll(part.rows);
    first += part.examples;
  }
  std::vector<StepDigest> digests;
  for (const PartDigest& part : parts) {
    StepDigest& digest = digests.emplace_back(batch, rows, part.dense);
    digest.rows.AddAll(part.copied_rows);
  }
  return digests;
}

std::vector<std::vector<int64_t>> ListsOfRanksSync(Communicator* comm,
                                                   std::vector<std::vector<int64_t>> mine) {
  if (comm == nullptr || comm->size() == 1) return mine;
  std::string bytes;
  for (const std::vector<int64_t>& list : mine) {
    AppendNumber(std::ssize(list), bytes);
    bytes.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(int64_t));
  }
  std::vector<std::vector<int64_t>> all(mine.size());
  for (const std::string& of_rank : comm->GatherStringsSync(bytes, "ids of --verify")) {
    const char* from = of_rank.data();
    for (std::vector<int64_t>& list : all) AppendList(from, of_rank.data() + of_rank.size(), list);
  }
  return all;
}

}  // namespace tessera
