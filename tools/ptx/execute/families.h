#ifndef TESSERA_TOOLS_PTX_EXECUTE_FAMILIES_H_
#define TESSERA_TOOLS_PTX_EXECUTE_FAMILIES_H_
// The families of instructions, a file each. A function finds what executes an instruction of its
// family and may set the instruction's choice; null means that the variant is not known.
#include "tools/ptx/module.h"

namespace ptx {

Execute FindInteger(Instruction& i);     // add, sub, mul, mad, div, rem, min, max, abs, neg
Execute FindReal(Instruction& i);        // the same of floats, and fma, sqrt, ex2, …
Execute FindBits(Instruction& i);        // and, or, xor, not, shl, shr, shf, lop3
Execute FindBitFields(Instruction& i);   // bfe, bfi, popc, clz, brev, bfind, bmsk, szext, prmt
Execute FindComparison(Instruction& i);  // setp, set, selp, slct
Execute FindConversion(Instruction& i);  // cvt
Execute FindMove(Instruction& i);        // mov, cvta, isspacep
Execute FindMemory(Instruction& i);      // ld, st, prefetch, and fences
Execute FindAtomic(Instruction& i);      // atom, red
Execute FindAsyncCopy(Instruction& i);   // cp.async
Execute FindExchange(Instruction& i);    // shfl, vote, match, redux, activemask
Execute FindFlow(Instruction& i);        // bra, brx, exit, bar, trap

// Executes an instruction that changes nothing here, as a fence or a prefetch.
inline void Nothing(Warp&, const Instruction&, LaneMask) {}

// The update that an atomic instruction or a reduction makes.
enum class Update : uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange, kSwap, kInc, kDec };
// By the instruction's modifiers; false if none says it.
bool ReadUpdate(Instruction& i);

// A claim is checked as a write is, and writes later.
enum class Access : uint8_t { kRead, kWrite, kUpdate, kClaim };
// Checks the addresses of an operand in these lanes, each of `bytes` bytes, and translates them to
// the CPU's.
void Translate(Warp& warp, const Instruction& i, Space space, const Operand& o, LaneMask lanes,
               int bytes, Access access, char* (&places)[kLanes]);

}  // namespace ptx
#endif  // TESSERA_TOOLS_PTX_EXECUTE_FAMILIES_H_
