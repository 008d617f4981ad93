#ifndef TESSERA_RUNTIME_BASE_MEMORY_LIMIT_H_
#define TESSERA_RUNTIME_BASE_MEMORY_LIMIT_H_
// How much memory there is, and a sentence instead of the kernel's kill where something would take
// more. Bytes are doubles: estimates of what a configuration asks for may be of any size.
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct MemoryThere {
  double bytes = 0;
  std::string source;  // "available on this machine", say
  // So many of these bytes the processes themselves take, for code, threads and files they opened.
  double processes = 0;

  double left() const { return bytes - processes; }
};

// The least of what the machine has available (MemAvailable) and what each cgroup of this process,
// v1 or v2, leaves below its limit; files in the page cache count as free. `root`: where /proc and
// /sys are looked for. Unknown, and so infinite, where none of it can be read.
MemoryThere AvailableMemory(const std::string& root = "");

// "512M", "12GiB", "1.5T" or bytes: K, M, G and T are 2^10, 2^20, 2^30 and 2^40, with or without
// "iB" or "B". Throws Error for anything else, and for what is not above 0.
double ParseMemorySize(std::string_view text);

// Part of what something takes: "tables", 4e10, "t0 9.6 GiB, t1 9.6 GiB".
struct MemoryPart {
  std::string what;
  double bytes = 0;
  std::string detail = {};
};

double SumOf(const std::vector<MemoryPart>& parts);
// The detail of a part that is made of parts: "t0 9.6 GiB, t1 9.6 GiB and 24 more", the largest
// first.
std::string LargestText(std::vector<MemoryPart> parts);

// Throws Error where the parts and the process itself are together more than there is: what `who`
// takes, part by part, what there is, and `advice`, sentences of what would fit.
void CheckMemory(const std::string& who, std::vector<MemoryPart> parts, const MemoryThere& there,
                 const std::string& advice);

// "38.4 GiB".
std::string BytesText(double bytes);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_BASE_MEMORY_LIMIT_H_
