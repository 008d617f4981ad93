// Parses the body of a function into instructions.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tools/ptx/module.h"
#include "tools/ptx/text.h"

namespace ptx {
namespace {

// Block::SetSpecials gives them values, in this order.
constexpr std::string_view kSpecialNames[kSpecials] = {
    "%tid.x",       "%tid.y",       "%tid.z",       "%ntid.x",      "%ntid.y",
    "%ntid.z",      "%ctaid.x",     "%ctaid.y",     "%ctaid.z",     "%nctaid.x",
    "%nctaid.y",    "%nctaid.z",    "%laneid",      "%warpid",      "%lanemask_eq",
    "%lanemask_lt", "%lanemask_le", "%lanemask_gt", "%lanemask_ge", "%dynamic_smem_size",
    "%clock64",     "%clock",       "%globaltimer", "%smid"};

std::vector<std::string> SplitDots(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

void ReadModifier(const std::string& m, Instruction& i) {
  if (m == "global") i.space = Space::kGlobal;
  if (m == "shared" || m == "shared::cta") i.space = Space::kShared;
  if (m == "local") i.space = Space::kLocal;
  if (m == "param" || m == "param::entry") i.space = Space::kParam;
  if (m == "const") i.space = Space::kConst;
  if (m == "v2") i.width = 2;
  if (m == "v4") i.width = 4;
  if (m == "v8") i.width = 8;
  if (m == "sat") i.saturate = true;
  if (m == "ftz") i.flush = true;
  if (m == "rz" || m == "rzi") i.rounding = Rounding::kZero;
  if (m == "rm" || m == "rmi") i.rounding = Rounding::kDown;
  if (m == "rp" || m == "rpi") i.rounding = Rounding::kUp;
}

void SetImmediate(Operand& o, uint64_t value) {
  o.kind = Operand::Kind::kImmediate;
  o.immediate = std::shared_ptr<uint64_t[]>(new uint64_t[kLanes]);
  std::fill_n(o.immediate.get(), kLanes, value);
}

class FunctionParser {
 public:
  FunctionParser(const Module& module, const std::string& name, const FunctionText& text)
      : module_(module), text_(text.body), line_(text.line), function_(new Function) {
    function_->name = name;
    function_->module = &module;
    std::fill_n(function_->special, kSpecials, -1);
    ReadHead(text.head);
  }

  std::unique_ptr<Function> Parse() {
    while (SkipSpace()) Statement();
    AddInstruction("exit");  // for code whose end is never reached
    function_->dynamic_shared = RoundUp(function_->shared_bytes, 16);
    function_->local_bytes = RoundUp(function_->local_bytes, 16);
    for (Instruction& i : function_->code) Resolve(i);
    AssignSlots(*function_, registers_);
    for (Instruction& i : function_->code) Bind(i);
    return std::move(function_);
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw std::runtime_error("PTX of " + PlainName(function_->name) + ", line " +
                             std::to_string(line_) + ": " + what);
  }

  void ReadHead(std::string_view head) {
    function_->is_kernel = head.find(".entry") != head.npos;
    const size_t open = head.find('('), close = head.rfind(')');
    if (function_->is_kernel && open != head.npos) {
      for (const std::string_view p : SplitList(head.substr(open + 1, close - open - 1))) {
        const Declaration d = ParseDeclaration(p);
        const uint64_t place = RoundUp(function_->param_bytes, d.align);
        function_->symbols[d.name] = {Space::kParam, place, d.bytes};
        function_->params.emplace_back(place, d.bytes);
        function_->param_bytes = place + d.bytes;
      }
    }
    const size_t most = head.find(".maxntid");
    if (most == head.npos) return;
    uint64_t threads = 1;  // up to three factors
    for (const std::string_view n : SplitList(Words(head.substr(most + 8)).front()))
      threads *= ParseNumber(n).value_or(1);
    function_->max_threads = static_cast<int>(threads);
  }

  bool SkipSpace() {
    for (; at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])); ++at_)
      line_ += text_[at_] == '\n';
    return at_ < text_.size();
  }
  std::string_view Take(size_t end) {
    const std::string_view s = std::string_view(text_).substr(at_, end - at_);
    line_ += static_cast<int>(std::count(s.begin(), s.end(), '\n'));
    at_ = std::min(end + 1, text_.size());
    return Trim(s);
  }

  void Statement() {
    const char c = text_[at_];
    if (c == '{') scopes_.emplace_back();
    if (c == '}') scopes_.pop_back();
    if (c == '{' || c == '}' || c == ';') {
      ++at_;
      return;
    }
    const std::string_view rest = std::string_view(text_).substr(at_);
    if (rest.starts_with(".loc") && std::isspace(static_cast<unsigned char>(rest[4]))) {
      Location(Words(rest.substr(0, rest.find('\n'))));
      at_ += rest.find('\n');
      return;
    }
    if (Label(rest)) return;
    const std::string_view s = Take(text_.find(';', at_));
    if (s.starts_with(".pragma")) return;
    if (s.front() == '.')
      Declare(s);
    else
      AddInstruction(s);
  }

  // ".loc FILE LINE COLUMN", and perhaps "function_name NAME, inlined_at FILE LINE COLUMN", which
  // the .loc of the call stands before.
  void Location(const std::vector<std::string_view>& words) {
    constexpr size_t kInlined = 7;
    const auto place = [&](size_t first) {
      std::array<int, 3> numbers = {};
      for (size_t k = 0; k < 3 && first + k < words.size(); ++k) {
        const std::string_view word = words[first + k];
        numbers[k] = static_cast<int>(ParseNumber(word.substr(0, word.find(','))).value_or(0));
      }
      return numbers;
    };
    const auto [file, line, column] = place(1);
    const bool inlined = words.size() > kInlined && words[kInlined - 1] == "inlined_at";
    const int caller = inlined ? CallerAt(place(kInlined)) : -1;
    source_ = {file, line, caller};
    caller_of_[{file, line, column}] = caller;
  }

  int CallerAt(const std::array<int, 3>& place) {
    const auto known = caller_of_.find(place);
    const SourceLine at = {place[0], place[1], known == caller_of_.end() ? -1 : known->second};
    auto& callers = function_->callers;
    const auto found = std::find(callers.begin(), callers.end(), at);
    if (found != callers.end()) return static_cast<int>(found - callers.begin());
    callers.push_back(at);
    return static_cast<int>(callers.size()) - 1;
  }

  bool Label(std::string_view rest) {
    const auto end = std::find_if_not(rest.begin(), rest.end(), IsNameChar);
    size_t colon = static_cast<size_t>(end - rest.begin());
    const std::string name(rest.substr(0, colon));
    colon = rest.find_first_not_of(" \t", colon);
    if (name.empty() || colon == rest.npos || rest[colon] != ':' || rest[colon + 1] == ':')
      return false;
    at_ += colon + 1;
    SkipSpace();
    constexpr std::string_view kTable = ".branchtargets";
    if (std::string_view(text_).substr(at_).starts_with(kTable)) {
      for (const std::string_view l : SplitList(Take(text_.find(';', at_)).substr(kTable.size())))
        tables_[name].emplace_back(l);
    } else {
      labels_[name] = static_cast<int>(function_->code.size());
    }
    return true;
  }

  void Declare(std::string_view s) {
    if (s.starts_with(".reg")) return DeclareRegisters(s);
    const Declaration d = ParseDeclaration(s);
    const bool shared = s.starts_with(".shared");
    if (!shared && !s.starts_with(".local") && !s.starts_with(".param"))
      Fail("an unknown declaration: " + std::string(s));
    uint64_t& bytes = shared ? function_->shared_bytes : function_->local_bytes;
    bytes = RoundUp(bytes, d.align);
    function_->symbols[d.name] = {shared ? Space::kShared : Space::kLocal, bytes, d.bytes};
    bytes += d.bytes;
  }

  // `.reg .b32 %r<99>` or `.reg .pred p, q`.
  void DeclareRegisters(std::string_view s) {
    const size_t type = s.find('.', 1);
    const std::string_view names = s.substr(s.find_first_of(" \t", type));
    for (const std::string_view name : SplitList(names)) {
      const size_t bracket = name.find('<');
      if (bracket == name.npos) {
        scopes_.back()[std::string(name)] = registers_++;
        continue;
      }
      const std::string_view count = name.substr(bracket + 1, name.find('>') - bracket - 1);
      const uint64_t n = ParseNumber(count).value_or(0);
      ranges_.push_back({std::string(name.substr(0, bracket)), registers_, n});
      registers_ += static_cast<int>(n);
    }
  }

  int FindRegister(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(std::string(name)); found != scope->end())
        return found->second;
    const size_t digits = name.find_last_not_of("0123456789") + 1;
    if (digits == 0 || digits == name.size()) return -1;
    const uint64_t n = ParseNumber(name.substr(digits)).value_or(0);
    for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range)
      if (range->prefix == name.substr(0, digits) && n < range->count)
        return range->first + static_cast<int>(n);
    return -1;
  }
  int FindSpecial(std::string_view name) {
    const auto found = std::find(kSpecialNames, kSpecialNames + kSpecials, name);
    if (found == kSpecialNames + kSpecials) return -1;
    int& reg = function_->special[found - kSpecialNames];
    if (reg < 0) reg = registers_++;
    return reg;
  }
  const Symbol* FindSymbol(std::string_view name) const {
    for (const auto* symbols : {&std::as_const(function_->symbols), &module_.symbols})
      if (const auto found = symbols->find(std::string(name)); found != symbols->end())
        return &found->second;
    return nullptr;
  }

  Operand ParseOperand(std::string_view s) {
    Operand o;
    if (s.empty()) Fail("an empty operand");
    if (s == "_") return o;
    if (s.front() == '{') {
      o.kind = Operand::Kind::kVector;
      for (const std::string_view part : SplitList(s.substr(1, s.rfind('}') - 1)))
        o.parts.push_back(ParseOperand(part));
      return o;
    }
    if (s.front() == '[') return ParseAddress(Trim(s.substr(1, s.rfind(']') - 1)));
    if (s.front() == '!') {
      o = ParseOperand(s.substr(1));
      o.negated = true;
      return o;
    }
    if (const size_t bar = s.find('|'); bar != s.npos) {
      o = ParseOperand(Trim(s.substr(0, bar)));
      o.second = FindRegister(Trim(s.substr(bar + 1)));
      return o;
    }
    return ParsePlain(s);
  }

  Operand ParsePlain(std::string_view s) {
    Operand o;
    o.reg = FindRegister(s);
    if (o.reg < 0) o.reg = FindSpecial(s);
    if (o.reg >= 0) {
      o.kind = Operand::Kind::kRegister;
    } else if (const auto number = s == "WARP_SZ" ? kLanes : ParseNumber(s)) {
      SetImmediate(o, *number);
    } else {
      o.name = s;
      if (const Symbol* symbol = FindSymbol(s))
        SetImmediate(o, symbol->place);
      else
        o.kind = Operand::Kind::kLabel;
    }
    return o;
  }

  Operand ParseAddress(std::string_view s) {
    Operand o;
    o.kind = Operand::Kind::kAddress;
    const size_t plus = s.find('+');
    const std::string_view base = Trim(s.substr(0, plus));
    if (plus != s.npos)
      o.offset = static_cast<int64_t>(ParseNumber(Trim(s.substr(plus + 1))).value_or(0));
    o.reg = FindRegister(base);
    if (o.reg >= 0) return o;
    if (const auto number = ParseNumber(base)) {
      o.offset += static_cast<int64_t>(*number);
      return o;
    }
    const Symbol* symbol = FindSymbol(base);
    if (symbol == nullptr) Fail("an unknown symbol: " + std::string(base));
    o.name = base;
    o.local = symbol->space == Space::kLocal;
    o.offset += static_cast<int64_t>(symbol->place);
    return o;
  }

  void AddInstruction(std::string_view s) {
    Instruction i;
    i.text = s;
    i.line = line_;
    i.source = source_;
    if (s.front() == '@') {
      const size_t end = s.find_first_of(" \t");
      i.guard_negated = s[1] == '!';
      i.guard = FindRegister(s.substr(i.guard_negated ? 2 : 1, end - (i.guard_negated ? 2 : 1)));
      if (i.guard < 0) Fail("an unknown guard: " + std::string(s));
      s = Trim(s.substr(end));
    }
    const std::string_view name = s.substr(0, s.find_first_of(" \t\n"));
    const std::vector<std::string> parts = SplitDots(name);
    i.opcode = parts.front();
    for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
      const Type t = TypeNamed(*part);
      if (t.kind != Kind::kNone)
        (i.type.kind == Kind::kNone ? i.type : i.type2) = t;
      else
        i.modifiers.push_back(*part);
      ReadModifier(*part, i);
    }
    for (const std::string_view operand : SplitList(s.substr(name.size())))
      i.operands.push_back(ParseOperand(operand));
    function_->code.push_back(std::move(i));
  }

  // Once all labels and the size of static shared memory are known.
  void Resolve(Instruction& i) {
    for (Operand& o : i.operands) {
      if (!o.name.empty() && o.name == module_.dynamic_shared) {
        if (o.kind == Operand::Kind::kImmediate) SetImmediate(o, function_->dynamic_shared);
        if (o.kind == Operand::Kind::kAddress)
          o.offset += static_cast<int64_t>(function_->dynamic_shared);
      }
      if (o.kind == Operand::Kind::kLabel && labels_.count(o.name)) o.target = labels_.at(o.name);
    }
    if (i.opcode != "brx") return;
    for (const std::string& label : tables_.at(i.operands.at(1).name))
      i.targets.push_back(labels_.at(label));
  }

  struct Range {
    std::string prefix;
    int first;
    uint64_t count;
  };
  const Module& module_;
  const std::string& text_;
  size_t at_ = 0;
  int line_;
  SourceLine source_;
  std::map<std::array<int, 3>, int> caller_of_;  // by file, line and column
  std::unique_ptr<Function> function_;
  int registers_ = 0;
  std::vector<std::map<std::string, int>> scopes_{1};
  std::vector<Range> ranges_;
  std::map<std::string, int> labels_;
  std::map<std::string, std::vector<std::string>> tables_;
};

}  // namespace

std::unique_ptr<Function> ParseFunction(const Module& module, const std::string& name,
                                        const FunctionText& text) {
  return FunctionParser(module, name, text).Parse();
}

}  // namespace ptx
