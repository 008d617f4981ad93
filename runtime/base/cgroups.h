#ifndef TESSERA_RUNTIME_BASE_CGROUPS_H_
#define TESSERA_RUNTIME_BASE_CGROUPS_H_
// The control groups of this process, v1 or v2, by which a container's runtime limits it.
#include <functional>
#include <string>

namespace tessera {

// fn(folder, is_v2) for each cgroup of this process that `controller` ("memory", "cpu", …) may
// limit, and for those that it lies in. In a container its path may be the host's, of which only
// the end is mounted: the mount itself always comes last, and folders may not be there. `root`:
// where /proc and /sys are looked for.
void ForEachCgroup(const std::string& root, const std::string& controller,
                   const std::function<void(const std::string& folder, bool is_v2)>& fn);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_CGROUPS_H_
