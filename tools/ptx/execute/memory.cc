// Loads and stores, and the checks of what they touch: bounds, alignment, and whether somebody has
// written the shared memory that is read.
#include "tools/emulation/memory.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"
#include "tools/ptx/statistics.h"

namespace ptx {
namespace {

struct Request {
  Warp& warp;
  const Instruction& i;
  int lane, bytes;
  Access access;

  [[noreturn]] void Refuse(const char* what, uint64_t place, const char* of, uint64_t size) const {
    std::ostringstream text;
    text << what << ": " << bytes << " bytes at " << std::hex << "0x" << place << std::dec << " of "
         << of;
    if (size > 0) text << ", which has " << size << " bytes";
    Fail(warp, i, lane, text.str());
  }
};

// The place of an access in a buffer of the block or the lane.
char* Within(const Request& r, char* buffer, uint64_t place, uint64_t size, const char* of) {
  if (place > size || size - place < static_cast<uint64_t>(r.bytes))
    r.Refuse("an access out of bounds", place, of, size);
  if (place % static_cast<uint64_t>(r.bytes) != 0) r.Refuse("a misaligned access", place, of, size);
  return buffer + place;
}

char* InShared(const Request& r, uint64_t place) {
  Block& block = *r.warp.block;
  char* at = Within(r, block.shared.data(), place, block.shared_bytes, "shared memory");
  char* written = block.shared_written.data() + place;
  const bool reads = r.access == Access::kRead || r.access == Access::kUpdate;
  if (reads && std::memchr(written, 0, static_cast<size_t>(r.bytes)) != nullptr)
    r.Refuse("a read of what nobody wrote", place, "shared memory", block.shared_bytes);
  if (r.access == Access::kWrite) std::memset(written, 1, static_cast<size_t>(r.bytes));
  return at;
}

// Lanes' buffers lie behind each other.
char* InLocal(const Request& r, uint64_t place) {
  const uint64_t size = r.warp.block->function.local_bytes;
  char* own = r.warp.local.data() + static_cast<uint64_t>(r.lane) * size;
  return Within(r, own, place, size, "the lane's local memory");
}

char* InParams(const Request& r, uint64_t place) {
  const Block& block = *r.warp.block;
  if (r.access != Access::kRead) r.Refuse("a write", place, "the kernel's parameters", 0);
  return Within(r, const_cast<char*>(block.params), place, block.function.param_bytes,
                "the kernel's parameters");
}

char* InGlobal(const Request& r, uint64_t address) {
  const auto bytes = static_cast<uint64_t>(r.bytes);
  if (address % bytes != 0) r.Refuse("a misaligned access", address, "global memory", 0);
  cuda_emulation::Allocation& hit = r.warp.block->last_hit;
  const auto inside = [&] {
    const auto begin = reinterpret_cast<uint64_t>(hit.begin);
    return address >= begin && address - begin + bytes <= static_cast<uint64_t>(hit.bytes);
  };
  if (!inside()) {
    hit = cuda_emulation::AllocationAt(reinterpret_cast<const void*>(address));
    if (!inside())
      r.Refuse("an access out of bounds", address, "global memory",
               static_cast<uint64_t>(hit.bytes));
  }
  return reinterpret_cast<char*>(address);
}

char* InAnySpace(const Request& r, uint64_t address) {
  const Block& block = *r.warp.block;
  const auto shared = address - reinterpret_cast<uint64_t>(block.shared.data());
  if (shared < block.shared_bytes) return InShared(r, shared);
  const uint64_t own = block.function.local_bytes;
  const auto local = address - reinterpret_cast<uint64_t>(r.warp.local.data());
  if (local / kLanes < own) return InLocal(r, local - static_cast<uint64_t>(r.lane) * own);
  const auto param = address - reinterpret_cast<uint64_t>(block.params);
  if (param < block.function.param_bytes) return InParams(r, param);
  return InGlobal(r, address);
}

char* PlaceOf(const Request& r, Space space, uint64_t address) {
  switch (space) {
    case Space::kShared:
      return InShared(r, static_cast<uint32_t>(address));
    case Space::kLocal:
      return InLocal(r, address);
    case Space::kParam:
      return InParams(r, address);
    case Space::kGeneric:
      return InAnySpace(r, address);
    default:
      return InGlobal(r, address);
  }
}

uint64_t Loaded(Type t, const char* place) {
  uint64_t v = 0;
  std::memcpy(&v, place, t.bytes);
  return Extended(t, v);
}

void Load(Warp& warp, const Instruction& i, LaneMask lanes) {
  const Operand& to = i.operands[0];
  char* places[kLanes];
  Translate(warp, i, i.space, i.operands[1], lanes, i.type.bytes * i.width, Access::kRead, places);
  for (size_t k = 0; k < i.width; ++k) {
    uint64_t* r = Result(warp, to.kind == Operand::Kind::kVector ? to.parts[k] : to);
    ForLanes(lanes, [&](int l) { r[l] = Loaded(i.type, places[l] + k * i.type.bytes); });
  }
}

void Store(Warp& warp, const Instruction& i, LaneMask lanes) {
  const Operand& from = i.operands[1];
  char* places[kLanes];
  Translate(warp, i, i.space, i.operands[0], lanes, i.type.bytes * i.width, Access::kWrite, places);
  for (size_t k = 0; k < i.width; ++k) {
    const uint64_t* v = Source(warp, from.kind == Operand::Kind::kVector ? from.parts[k] : from);
    ForLanes(lanes, [&](int l) { std::memcpy(places[l] + k * i.type.bytes, &v[l], i.type.bytes); });
  }
}

// An access's kind in the statistics.
std::string_view KindOf(const Instruction& i) {
  return i.opcode == "ld"   ? "load"
         : i.opcode == "st" ? "store"
         : i.opcode == "cp" ? "copy"
                            : "atomic";
}

// Shared memory, wherever a generic address leads, and global memory; not local and parameters.
void Count(Statistics& statistics, const Warp& warp, const Instruction& i, LaneMask lanes,
           int bytes, const char* const (&places)[kLanes]) {
  const Block& block = *warp.block;
  const auto place_in = [&](const char* begin, int l) {
    return reinterpret_cast<uint64_t>(places[l]) - reinterpret_cast<uint64_t>(begin);
  };
  uint64_t addresses[kLanes] = {}, offsets[kLanes] = {};
  LaneMask shared = 0, global = 0;
  ForLanes(lanes, [&](int l) {
    addresses[l] = place_in(nullptr, l);
    offsets[l] = place_in(block.shared.data(), l);
    if (offsets[l] < block.shared_bytes)
      shared |= LaneMask{1} << l;
    else if (place_in(warp.local.data(), l) >= warp.local.size())
      global |= LaneMask{1} << l;
  });
  if (shared != 0) statistics.CountShared(shared, offsets, bytes);
  if (global != 0) statistics.CountGlobal(global, addresses, bytes, KindOf(i), i.source);
}

}  // namespace

void Translate(Warp& warp, const Instruction& i, Space space, const Operand& o, LaneMask lanes,
               int bytes, Access access, char* (&places)[kLanes]) {
  const uint64_t* base = o.reg >= 0 ? warp.slot(o.reg) : nullptr;
  ForLanes(lanes, [&](int l) {
    const uint64_t address = (base != nullptr ? base[l] : 0) + static_cast<uint64_t>(o.offset);
    places[l] = PlaceOf({warp, i, l, bytes, access}, space, address);
  });
  if (warp.block->statistics != nullptr && space != Space::kParam)
    Count(*warp.block->statistics, warp, i, lanes, bytes, places);
}

Execute FindMemory(Instruction& i) {
  const std::string& op = i.opcode;
  if (op == "nanosleep") i.flow = Flow::kYield;
  if (op != "ld" && op != "st") return Nothing;  // prefetches, fences
  const bool load = op == "ld";
  if (i.operands.size() != 2 || i.type.bytes > 8 || i.Has("async")) return nullptr;
  // Parameters of a call lie in local memory.
  for (const Operand& o : i.operands)
    if (i.space == Space::kParam && o.local) i.space = Space::kLocal;
  const Operand& value = i.operands[load ? 0 : 1];
  const bool vector = value.kind == Operand::Kind::kVector;
  if (vector != (i.width > 1) || (vector && value.parts.size() != i.width)) return nullptr;
  return load ? Load : Store;
}

}  // namespace ptx
