#include "comm/leader.h"
#include "comm/nccl/nccl_id.h"
#include "runtime/base/check.h"

namespace tessera::internal {
namespace {

std::string NewId() {
  NcclUniqueId id;
  const int status = Nccl().get_unique_id(&id);
  TESSERA_CHECK(status == 0, "ncclGetUniqueId: {}", Nccl().get_error_string(status));
  return std::string(id.bytes, sizeof id.bytes);
}

// NCCL's version, or "no: " and why there is none.
std::string VersionOrReason() {
  try {
    int version = 0;
    (void)Nccl().get_version(&version);
    return std::to_string(version);
  } catch (const Error& error) {
    return Format("no: {}", error.what());
  }
}

// Throws on every rank unless all have the same NCCL.
void CheckVersions(Communicator& host) {
  const std::vector<std::string> versions =
      host.GatherStringsSync(VersionOrReason(), "NCCL's version");
  for (size_t r = 0; r < versions.size(); ++r)
    TESSERA_CHECK(!versions[r].starts_with("no: "), "rank {}: {}", r, versions[r].substr(4));
  for (size_t r = 0; r < versions.size(); ++r)
    TESSERA_CHECK(versions[r] == versions[0],
                  "NCCL's version is not the same on all ranks: {} on rank 0, {} on rank {}",
                  versions[0], versions[r], r);
}

}  // namespace

NcclUniqueId AgreeOnNcclId(Communicator& host) {
  CheckVersions(host);
  const std::string bytes = InvokeOnRankAndBroadcastBytes(host, 0, "NCCL's id", NewId);
  NcclUniqueId id;
  TESSERA_CHECK_EQ(bytes.copy(id.bytes, sizeof id.bytes), sizeof id.bytes, "NCCL's id");
  return id;
}

}  // namespace tessera::internal
