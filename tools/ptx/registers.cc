// Gives registers slots: nvcc names a register for each value, some thousands in a kernel, of which
// few are alive at a time. Liveness by basic blocks, then a scan over the code in its order.
#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "tools/ptx/module.h"

namespace ptx {
namespace {

// A bit for each register.
using Bits = std::vector<uint64_t>;
bool Test(const Bits& bits, int reg) { return bits[static_cast<size_t>(reg) / 64] >> reg % 64 & 1; }
void Set(Bits& bits, int reg) { bits[static_cast<size_t>(reg) / 64] |= uint64_t{1} << reg % 64; }

struct Uses {
  std::vector<int> reads, writes;
};

template <typename F>
void ForRegisters(Operand& o, F&& f) {
  if (o.reg >= 0) f(o.reg);
  if (o.second >= 0) f(o.second);
  for (Operand& part : o.parts) ForRegisters(part, f);
}

Uses UsesOf(Instruction& i) {
  Uses uses;
  if (i.guard >= 0) uses.reads.push_back(i.guard);
  for (size_t k = 0; k < i.operands.size(); ++k) {
    Operand& o = i.operands[k];
    const bool written = static_cast<int>(k) < Outputs(i) && o.kind != Operand::Kind::kAddress;
    ForRegisters(o, [&](int reg) { (written ? uses.writes : uses.reads).push_back(reg); });
  }
  // Where the guard is false the old value stays. The same holds for lanes that are elsewhere, but
  // those come by with their own values.
  if (i.guard >= 0) uses.reads.insert(uses.reads.end(), uses.writes.begin(), uses.writes.end());
  return uses;
}

bool EndsBlock(const Instruction& i) {
  return i.opcode == "bra" || i.opcode == "brx" || i.opcode == "ret" || i.opcode == "exit" ||
         i.opcode == "trap";
}

struct BasicBlock {
  int begin = 0, end = 0;
  std::vector<int> next;
  Bits used, written;  // used before written
  Bits alive_in, alive_out;
};

class Liveness {
 public:
  Liveness(Function& f, int registers) : code_(f.code), registers_(registers) {
    for (Instruction& i : code_) uses_.push_back(UsesOf(i));
    Cut();
    Connect();
    for (BasicBlock& b : blocks_) Note(b);
    Flow();
  }

  // The first and the last instruction at which each register is alive; last is -1 for none.
  std::vector<std::pair<int, int>> Ranges(const int (&always)[kSpecials]) const {
    const int n = static_cast<int>(code_.size());
    std::vector<std::pair<int, int>> ranges(static_cast<size_t>(registers_), {n, -1});
    const auto touch = [&](int reg, int at) {
      auto& [first, last] = ranges[static_cast<size_t>(reg)];
      first = std::min(first, at);
      last = std::max(last, at);
    };
    for (const BasicBlock& b : blocks_) {
      for (int i = b.begin; i < b.end; ++i)
        for (const auto* regs : {&UsesAt(i).reads, &UsesAt(i).writes})
          for (const int reg : *regs) touch(reg, i);
      for (int reg = 0; reg < registers_; ++reg) {
        if (Test(b.alive_in, reg)) touch(reg, b.begin);
        if (Test(b.alive_out, reg)) touch(reg, b.end - 1);
      }
    }
    for (const int reg : always) {
      if (reg < 0) continue;
      touch(reg, 0);
      touch(reg, n);
    }
    return ranges;
  }

 private:
  const Uses& UsesAt(int i) const { return uses_[static_cast<size_t>(i)]; }

  void Cut() {
    const size_t n = code_.size();
    std::vector<bool> starts(n + 1);
    starts[0] = true;
    for (size_t i = 0; i < n; ++i) {
      if (EndsBlock(code_[i])) starts[i + 1] = true;
      for (const int target : Targets(code_[i])) starts[static_cast<size_t>(target)] = true;
    }
    for (size_t i = 0; i < n; ++i) {
      if (starts[i]) blocks_.push_back({static_cast<int>(i), 0, {}, {}, {}, {}, {}});
      block_of_.push_back(static_cast<int>(blocks_.size()) - 1);
      blocks_.back().end = static_cast<int>(i) + 1;
    }
  }
  static std::vector<int> Targets(const Instruction& i) {
    if (i.opcode == "bra") return {i.operands.at(0).target};
    return i.targets;
  }
  void Connect() {
    for (BasicBlock& b : blocks_) {
      const Instruction& last = code_[static_cast<size_t>(b.end) - 1];
      std::vector<int> places = Targets(last);
      if (!EndsBlock(last) || last.guard >= 0) places.push_back(b.end);
      for (const int place : places)
        if (place < static_cast<int>(code_.size()))
          b.next.push_back(block_of_[static_cast<size_t>(place)]);
    }
  }
  void Note(BasicBlock& b) {
    for (Bits* bits : {&b.used, &b.written, &b.alive_in, &b.alive_out})
      bits->resize(static_cast<size_t>(registers_) / 64 + 1);
    for (int i = b.begin; i < b.end; ++i) {
      for (const int reg : UsesAt(i).reads)
        if (!Test(b.written, reg)) Set(b.used, reg);
      for (const int reg : UsesAt(i).writes) Set(b.written, reg);
    }
  }
  // From the last block to the first until nothing changes.
  void Flow() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto b = blocks_.rbegin(); b != blocks_.rend(); ++b) {
        for (size_t word = 0; word < b->used.size(); ++word) {
          uint64_t out = 0;
          for (const int next : b->next) out |= blocks_[static_cast<size_t>(next)].alive_in[word];
          b->alive_out[word] = out;
          const uint64_t in = b->used[word] | (out & ~b->written[word]);
          changed |= in != b->alive_in[word];
          b->alive_in[word] = in;
        }
      }
    }
  }

  std::vector<Instruction>& code_;
  int registers_;
  std::vector<Uses> uses_;
  std::vector<BasicBlock> blocks_;
  std::vector<int> block_of_;
};

template <typename T>
using MinQueue = std::priority_queue<T, std::vector<T>, std::greater<>>;

}  // namespace

int Outputs(const Instruction& i) {
  static const std::vector<std::string_view> kNone = {
      "st",     "red",   "bra",      "brx",       "ret", "exit",      "trap",    "brkpt",
      "membar", "fence", "prefetch", "prefetchu", "cp",  "nanosleep", "discard", "griddepcontrol"};
  if (i.opcode == "bar" || i.opcode == "barrier") return i.Has("red") ? 1 : 0;
  return std::find(kNone.begin(), kNone.end(), i.opcode) == kNone.end() ? 1 : 0;
}

void AssignSlots(Function& f, int registers) {
  if (f.code.empty()) return;
  const auto ranges = Liveness(f, registers).Ranges(f.special);
  std::vector<int> order;
  for (int reg = 0; reg < registers; ++reg)
    if (ranges[static_cast<size_t>(reg)].second >= 0) order.push_back(reg);
  const auto first = [&](int reg) { return ranges[static_cast<size_t>(reg)].first; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return first(a) < first(b); });

  std::vector<int> slot(static_cast<size_t>(registers), 0);
  MinQueue<std::pair<int, int>> taken;  // until when, which
  MinQueue<int> free;
  f.slots = 0;
  for (const int reg : order) {
    for (; !taken.empty() && taken.top().first < first(reg); taken.pop())
      free.push(taken.top().second);
    int& own = slot[static_cast<size_t>(reg)];
    own = free.empty() ? f.slots++ : free.top();
    if (!free.empty()) free.pop();
    taken.emplace(ranges[static_cast<size_t>(reg)].second, own);
  }
  const auto replace = [&](int& reg) { reg = slot[static_cast<size_t>(reg)]; };
  for (Instruction& i : f.code) {
    if (i.guard >= 0) replace(i.guard);
    for (Operand& o : i.operands) ForRegisters(o, replace);
  }
  for (int& reg : f.special)
    if (reg >= 0) replace(reg);
}

}  // namespace ptx
