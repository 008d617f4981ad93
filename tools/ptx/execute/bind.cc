// Finds what executes an instruction, by its opcode.
#include <map>
#include <set>
#include <string_view>

#include "tools/ptx/execute/families.h"
#include "tools/ptx/execute/lanes.h"

namespace ptx {
namespace {

void Trap(Warp& warp, const Instruction& i, LaneMask lanes) {
  Fail(warp, i, std::countr_zero(lanes), "the kernel stopped itself");
}

using Finder = Execute (*)(Instruction&);

Execute FindArithmetic(Instruction& i) { return i.type.is_real() ? FindReal(i) : FindInteger(i); }

const std::map<std::string_view, Finder>& Finders() {
  static const auto& finders = *new std::map<std::string_view, Finder>([] {
    std::map<std::string_view, Finder> all;
    const auto add = [&](Finder finder, std::initializer_list<std::string_view> opcodes) {
      for (const std::string_view opcode : opcodes) all[opcode] = finder;
    };
    add(FindArithmetic, {"add", "sub", "mul", "mad", "div", "min", "max", "abs", "neg"});
    add(FindInteger, {"addc", "subc", "madc", "rem"});
    add(FindReal,
        {"fma", "sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh", "copysign", "testp"});
    add(FindBits, {"and", "or", "xor", "not", "shl", "shr", "shf", "lop3"});
    add(FindBitFields, {"bfe", "bfi", "popc", "clz", "brev", "bfind", "bmsk", "szext", "prmt"});
    add(FindComparison, {"setp", "set", "selp", "slct"});
    add(FindConversion, {"cvt"});
    add(FindMove, {"mov", "cvta", "isspacep"});
    add(FindMemory, {"ld", "st", "prefetch", "prefetchu", "membar", "fence", "nanosleep"});
    add(FindAtomic, {"atom", "red"});
    add(FindAsyncCopy, {"cp"});
    add(FindExchange, {"shfl", "vote", "match", "redux", "activemask"});
    add(FindFlow, {"bra", "brx", "ret", "exit", "bar", "barrier", "trap", "brkpt"});
    return all;
  }());
  return finders;
}

// Modifiers that a family reads, or that change nothing here: hints of caches, and orders and
// scopes of memory, of which there is the strongest anyway.
bool KnownModifier(std::string_view m) {
  static const auto& known = *new std::set<std::string_view>{
      "rn",         "rz",       "rm",      "rp",       "rni",         "rzi",         "rmi",
      "rpi",        "sat",      "ftz",     "relu",     "approx",      "full",        "NaN",
      "lo",         "hi",       "wide",    "cc",       "eq",          "ne",          "lt",
      "le",         "gt",       "ge",      "equ",      "neu",         "ltu",         "leu",
      "gtu",        "geu",      "num",     "nan",      "ls",          "hs",          "and",
      "or",         "xor",      "add",     "min",      "max",         "inc",         "dec",
      "exch",       "cas",      "global",  "shared",   "local",       "param",       "const",
      "to",         "v2",       "v4",      "v8",       "nc",          "volatile",    "weak",
      "relaxed",    "acquire",  "release", "acq_rel",  "sc",          "cta",         "gpu",
      "sys",        "gl",       "ca",      "cg",       "cs",          "lu",          "cv",
      "wb",         "wt",       "sync",    "aligned",  "warp",        "red",         "popc",
      "all",        "any",      "ballot",  "uni",      "bfly",        "idx",         "up",
      "down",       "wrap",     "clamp",   "l",        "r",           "async",       "commit_group",
      "wait_group", "wait_all", "finite",  "infinite", "number",      "notanumber",  "normal",
      "subnormal",  "shiftamt", "L1",      "L2",       "shared::cta", "param::entry"};
  const bool hint = m.starts_with("L1::") || m.starts_with("L2::");
  return hint ? m != "L2::cache_hint" : known.count(m) > 0;
}

}  // namespace

Execute FindFlow(Instruction& i) {
  const std::string& op = i.opcode;
  if (op == "trap" || op == "brkpt") return Trap;
  if (op == "bra") i.flow = Flow::kBranch;
  if (op == "brx") i.flow = Flow::kTable;
  if (op == "ret" || op == "exit") i.flow = Flow::kExit;
  if (op != "bar" && op != "barrier") return Nothing;
  if (i.Has("cluster") || i.Has("arrive")) return nullptr;
  i.flow = i.Has("warp") ? Flow::kMeeting : Flow::kBlockBarrier;
  return Nothing;
}

void Bind(Instruction& i) {
  for (const std::string& m : i.modifiers)
    if (!KnownModifier(m)) return;
  const auto found = Finders().find(i.opcode);
  if (found != Finders().end()) i.execute = found->second(i);
}

}  // namespace ptx
