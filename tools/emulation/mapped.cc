#include "tools/emulation/mapped.h"

#include <sys/mman.h>

#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

namespace cuda_emulation {
namespace {

struct Piece {
  int64_t bytes = 0;
  bool released = false, mapped = false;
};
struct Mapping {
  int64_t bytes = 0;
  uint64_t piece = 0;
  bool accessible = false;
};

struct State {
  std::map<const char*, int64_t> reserved;
  std::map<char*, Mapping> mapped;
  std::map<uint64_t, Piece> pieces;
  uint64_t last_piece = 0;
  int64_t bytes = 0;
  bool open = false;
};
State& Get() {
  static State& state = *new State;
  return state;
}

void Require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("emulated device: ") + what);
}

bool Aligned(int64_t n) { return n > 0 && n % kMappedGranularity == 0; }

// The entry that holds the address, else end().
template <typename Map, typename Pointer>
auto Holding(Map& map, Pointer p) {
  auto after = map.upper_bound(p);
  return after == map.begin() ? map.end() : std::prev(after);
}

void Protect(char* begin, int64_t bytes, bool open) {
  (void)mprotect(begin, static_cast<size_t>(bytes), open ? PROT_READ | PROT_WRITE : PROT_NONE);
}
void ProtectAll(bool open) {
  Get().open = open;
  for (const auto& [begin, mapping] : Get().mapped)
    if (mapping.accessible) Protect(begin, mapping.bytes, open);
}

void DropIfUnused(uint64_t piece) {
  const Piece& p = Get().pieces.at(piece);
  if (!p.released || p.mapped) return;
  Get().bytes -= p.bytes;
  Get().pieces.erase(piece);
}

}  // namespace

char* ReserveAddresses(int64_t bytes) {
  Require(Aligned(bytes), "addresses that are not a multiple of the granularity");
  // Aligned to the granularity, as a driver's are.
  const int64_t all = bytes + kMappedGranularity;
  void* place = mmap(nullptr, static_cast<size_t>(all), PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(place);
  const int64_t before = -reinterpret_cast<intptr_t>(begin) & (kMappedGranularity - 1);
  if (before > 0) (void)munmap(begin, static_cast<size_t>(before));
  begin += before;
  (void)munmap(begin + bytes, static_cast<size_t>(kMappedGranularity - before));
  Get().reserved[begin] = bytes;
  return begin;
}

void FreeAddresses(char* begin, int64_t bytes) {
  const auto found = Get().reserved.find(begin);
  Require(found != Get().reserved.end() && found->second == bytes,
          "other addresses are freed than were reserved");
  const auto next = Get().mapped.lower_bound(begin);
  Require(next == Get().mapped.end() || next->first >= begin + bytes,
          "addresses are freed that have memory");
  (void)munmap(begin, static_cast<size_t>(bytes));
  Get().reserved.erase(found);
}

uint64_t CreatePiece(int64_t bytes) {
  Require(Aligned(bytes), "memory that is not a multiple of the granularity");
  if (DeviceBytesInUse() + bytes > DeviceBytesLimit()) return 0;
  Get().bytes += bytes;
  Get().pieces[++Get().last_piece] = {.bytes = bytes};
  return Get().last_piece;
}

void ReleasePiece(uint64_t piece) {
  Get().pieces.at(piece).released = true;
  DropIfUnused(piece);
}

void MapPiece(char* begin, int64_t bytes, uint64_t piece) {
  const auto home = Holding(Get().reserved, static_cast<const char*>(begin));
  Require(home != Get().reserved.end() && begin + bytes <= home->first + home->second &&
              Aligned(bytes) && (begin - home->first) % kMappedGranularity == 0,
          "memory is mapped to addresses that are not reserved");
  const auto next = Get().mapped.lower_bound(begin);
  const auto before = Holding(Get().mapped, begin);
  Require((next == Get().mapped.end() || next->first >= begin + bytes) &&
              (before == Get().mapped.end() || before->first + before->second.bytes <= begin),
          "memory is mapped over other memory");
  Piece& p = Get().pieces.at(piece);
  Require(p.bytes == bytes && !p.mapped, "a piece of memory is mapped in part or twice");
  p.mapped = true;
  Get().mapped[begin] = {.bytes = bytes, .piece = piece};
}

void UnmapPieces(char* begin, int64_t bytes) {
  for (char* at = begin; at < begin + bytes;) {
    const auto found = Get().mapped.find(at);
    Require(found != Get().mapped.end() && at + found->second.bytes <= begin + bytes,
            "memory is unmapped that is not there");
    const Mapping mapping = found->second;
    (void)madvise(at, static_cast<size_t>(mapping.bytes), MADV_DONTNEED);
    Protect(at, mapping.bytes, false);
    Get().mapped.erase(found);
    Get().pieces.at(mapping.piece).mapped = false;
    DropIfUnused(mapping.piece);
    at += mapping.bytes;
  }
}

void GiveAccess(char* begin, int64_t bytes) {
  for (char* at = begin; at < begin + bytes;) {
    const auto found = Get().mapped.find(at);
    Require(found != Get().mapped.end() && at + found->second.bytes <= begin + bytes,
            "access is given to memory that is not there");
    found->second.accessible = true;
    // Not zeros: nobody may count on what new memory holds.
    Protect(at, found->second.bytes, true);
    FillFresh(at, found->second.bytes);
    Protect(at, found->second.bytes, Get().open);
    at += found->second.bytes;
  }
}

void OpenMapped() { ProtectAll(true); }
void CloseMapped() { ProtectAll(false); }

bool IsReserved(const void* pointer) {
  const char* p = static_cast<const char*>(pointer);
  const auto home = Holding(Get().reserved, p);
  return home != Get().reserved.end() && p < home->first + home->second;
}

Allocation MappedAt(const void* pointer) {
  char* p = const_cast<char*>(static_cast<const char*>(pointer));
  auto found = Holding(Get().mapped, p);
  if (found == Get().mapped.end() || p >= found->first + found->second.bytes) return {};
  while (found != Get().mapped.begin()) {
    const auto before = std::prev(found);
    if (before->first + before->second.bytes != found->first) break;
    found = before;
  }
  const char* begin = found->first;
  const char* end = begin;
  for (; found != Get().mapped.end() && found->first == end && found->second.accessible; ++found)
    end += found->second.bytes;
  return {begin, end - begin};
}

int64_t MappedBytes() { return Get().bytes; }

}  // namespace cuda_emulation
