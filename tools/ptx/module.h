#ifndef TESSERA_TOOLS_PTX_MODULE_H_
#define TESSERA_TOOLS_PTX_MODULE_H_
// PTX as the interpreter holds it: modules of functions of instructions, whose operands are slots
// of registers, immediates and addresses. The words are those of NVIDIA's "PTX ISA".
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptx {

using LaneMask = uint32_t;  // bit l is lane l of a warp
inline constexpr int kLanes = 32;

enum class Kind : uint8_t { kNone, kPredicate, kBits, kUnsigned, kSigned, kReal, kBfloat };
// The type of a value; a pair is two 16-bit floats in 32 bits (f16x2, bf16x2).
struct Type {
  Kind kind = Kind::kNone;
  uint8_t bytes = 0;
  bool pair = false;

  bool is_signed() const { return kind == Kind::kSigned; }
  bool is_real() const { return kind == Kind::kReal || kind == Kind::kBfloat; }
  bool Is(Kind k, int b) const { return kind == k && bytes == b && !pair; }
};
// The type of that name without its dot, or one of kind kNone.
Type TypeNamed(std::string_view name);

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kParam, kConst };

struct Operand {
  enum class Kind : uint8_t { kSink, kRegister, kImmediate, kLabel, kVector, kAddress };
  Kind kind = Kind::kSink;
  bool negated = false;                   // a predicate behind !
  int reg = -1;                           // its number, later its slot; of an address, its base
  int second = -1;                        // the second predicate of p|q
  int target = -1;                        // the instruction that a label stands before
  int64_t offset = 0;                     // of an address
  std::shared_ptr<uint64_t[]> immediate;  // once for each lane
  bool local = false;                     // of an address: its symbol lies in local memory
  std::vector<Operand> parts;             // of a vector
  std::string name;                       // the label or the symbol
};

// Changes registers and memory for the lanes of a warp.
struct Warp;
struct Instruction;
using Execute = void (*)(Warp&, const Instruction&, LaneMask);

// How an instruction decides which one is next.
enum class Flow : uint8_t { kNext, kYield, kBranch, kTable, kExit, kBlockBarrier, kMeeting };

enum class Rounding : uint8_t { kNearest, kZero, kDown, kUp };

// A place in a source, as nvcc's -lineinfo notes it.
struct SourceLine {
  int file = 0, line = 0;
  int caller = -1;  // in Function::callers: where the function that it is in was inlined, or -1

  auto operator<=>(const SourceLine&) const = default;
};

struct Instruction {
  Execute execute = nullptr;  // null: the interpreter does not know the instruction
  Flow flow = Flow::kNext;
  uint8_t choice = 0;  // which of its variants, by the code of its family
  int guard = -1;      // a predicate
  bool guard_negated = false;
  Type type, type2;  // in the order of the name
  Space space = Space::kGeneric;
  uint8_t width = 1;  // elements of a vector access
  Rounding rounding = Rounding::kNearest;
  bool saturate = false, flush = false;
  std::vector<Operand> operands;
  std::vector<int> targets;  // instructions that a table of branches names
  std::string opcode;        // such as "ld"
  std::vector<std::string> modifiers;
  std::string text;
  int line = 0;  // of the PTX
  SourceLine source;

  bool Has(std::string_view modifier) const;
};

// A place in a space: an address in global and constant memory, an offset elsewhere.
struct Symbol {
  Space space = Space::kGlobal;
  uint64_t place = 0, bytes = 0;
};

// The special registers that are known, in the order of the names in parse_function.cc.
inline constexpr int kSpecials = 24;

// A kernel's name as C++ has it, and the same without "void" and parameters: "a::Sum<4>".
std::string Demangled(const std::string& name);
std::string PlainName(const std::string& name);

struct Module;
struct Function {
  // "file:line, inlined at file:line", or "".
  std::string Where(const SourceLine& line) const;

  std::string name;
  bool is_kernel = false;
  const Module* module = nullptr;
  std::vector<Instruction> code;
  int slots = 0;                                      // registers of 64 bits a lane
  std::vector<std::pair<uint64_t, uint64_t>> params;  // offset and bytes of each
  uint64_t param_bytes = 0, shared_bytes = 0, local_bytes = 0;
  uint64_t dynamic_shared = 0;  // where that begins
  int max_threads = 1024;
  std::map<std::string, Symbol> symbols;
  int special[kSpecials];  // slots, or -1
  std::vector<SourceLine> callers;
};

// The text of a function, parsed when it is first asked for.
struct FunctionText {
  std::string head, body;
  int line = 0;
};

// Owns the memory of its variables.
struct Module {
  ~Module();
  // The function of this name, or null. Throws std::runtime_error for what is not understood.
  const Function* Find(const std::string& name);
  std::vector<std::string> Kernels() const;

  std::map<std::string, Symbol> symbols;
  std::string dynamic_shared;  // the name of the array without a size
  std::map<std::string, FunctionText> texts;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::map<int, std::string> files;
  std::vector<void*> memory;
};
std::unique_ptr<Module> ParseModule(std::string_view text);

// Parses a function's text.
std::unique_ptr<Function> ParseFunction(const Module& module, const std::string& name,
                                        const FunctionText& text);
// Gives registers whose values are needed at different times the same slot.
void AssignSlots(Function& function, int registers);
// The number of operands, from the first on, that an instruction writes.
int Outputs(const Instruction& instruction);
// Finds what executes an instruction.
void Bind(Instruction& instruction);

}  // namespace ptx
#endif  // TESSERA_TOOLS_PTX_MODULE_H_
