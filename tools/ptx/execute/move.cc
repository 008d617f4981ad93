// Moves between registers, and from and to generic addresses. A generic address is the CPU's own:
// of global memory the address itself, of shared, local and parameter memory that of its buffer.
#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

void Move(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = Truncated(i.type, a[l]); });
}
void MovePredicate(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = Truth(i.operands[1], a[l]); });
}

uint64_t LowBits(int bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

// Cuts a value into the parts of a vector, the lowest first.
void Unpack(Warp& warp, const Instruction& i, LaneMask lanes) {
  const std::vector<Operand>& parts = i.operands[0].parts;
  const int bits = i.type.bytes * 8 / static_cast<int>(parts.size());
  uint64_t values[kLanes];  // a part may be the source itself
  const uint64_t* a = Source(warp, i, 1);
  ForLanes(lanes, [&](int l) { values[l] = a[l]; });
  for (size_t k = 0; k < parts.size(); ++k) {
    uint64_t* r = Result(warp, parts[k]);
    ForLanes(lanes, [&](int l) { r[l] = values[l] >> bits * static_cast<int>(k) & LowBits(bits); });
  }
}
void Pack(Warp& warp, const Instruction& i, LaneMask lanes) {
  const std::vector<Operand>& parts = i.operands[1].parts;
  const int bits = i.type.bytes * 8 / static_cast<int>(parts.size());
  uint64_t values[kLanes] = {};
  for (size_t k = 0; k < parts.size(); ++k) {
    const uint64_t* a = Source(warp, parts[k]);
    ForLanes(lanes,
             [&](int l) { values[l] |= (a[l] & LowBits(bits)) << bits * static_cast<int>(k); });
  }
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = values[l]; });
}

// Where a space lies in the CPU's memory, for one lane; no bytes for global memory.
struct Window {
  uint64_t begin = 0, bytes = 0;
};
Window WindowOf(const Warp& warp, Space space, int lane) {
  const Block& block = *warp.block;
  const uint64_t local = block.function.local_bytes;
  switch (space) {
    case Space::kShared:
      return {reinterpret_cast<uint64_t>(block.shared.data()), block.shared_bytes};
    case Space::kLocal:
      return {reinterpret_cast<uint64_t>(warp.local.data()) + static_cast<uint64_t>(lane) * local,
              local};
    case Space::kParam:
      return {reinterpret_cast<uint64_t>(block.params), block.function.param_bytes};
    default:
      return {};
  }
}

void ToGeneric(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = a[l] + WindowOf(warp, i.space, l).begin; });
}
void FromGeneric(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  ForLanes(lanes, [&](int l) { r[l] = a[l] - WindowOf(warp, i.space, l).begin; });
}
void IsIn(Warp& warp, const Instruction& i, LaneMask lanes) {
  const uint64_t* a = Source(warp, i, 1);
  uint64_t* r = Result(warp, i);
  const auto inside = [&](Space space, int l) {
    const Window w = WindowOf(warp, space, l);
    return a[l] - w.begin < w.bytes;
  };
  ForLanes(lanes, [&](int l) {
    r[l] = i.space == Space::kGlobal ? !inside(Space::kShared, l) && !inside(Space::kLocal, l)
                                     : inside(i.space, l);
  });
}

}  // namespace

Execute FindMove(Instruction& i) {
  if (i.opcode == "isspacep") return i.space == Space::kConst ? nullptr : IsIn;
  if (i.opcode == "cvta") return i.Has("to") ? FromGeneric : ToGeneric;
  if (i.type.bytes > 8 || i.operands.size() != 2) return nullptr;
  if (i.operands[0].kind == Operand::Kind::kVector) return Unpack;
  if (i.operands[1].kind == Operand::Kind::kVector) return Pack;
  if (i.operands[1].kind == Operand::Kind::kLabel) return nullptr;  // the address of a function
  return i.type.kind == Kind::kPredicate ? MovePredicate : Move;
}

}  // namespace ptx
