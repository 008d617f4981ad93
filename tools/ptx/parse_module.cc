// Parses a module: its variables, which get memory at once, and where its functions begin and end.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tools/emulation/memory.h"
#include "tools/ptx/module.h"
#include "tools/ptx/text.h"

namespace ptx {
namespace {

bool Contains(std::string_view s, std::string_view part) { return s.find(part) != s.npos; }

class ModuleParser {
 public:
  explicit ModuleParser(std::string_view text)
      : text_(WithoutComments(text)), module_(std::make_unique<Module>()) {}

  std::unique_ptr<Module> Parse() {
    while (SkipSpace()) {
      const size_t begin = at_;
      if (text_[at_] == '.' && SkipDirective()) continue;
      const bool has_body = FindEnd();
      const std::string_view head(text_.data() + begin, at_ - begin);
      if (has_body) {
        Body(head);
      } else {
        ++at_;
        const bool is_function = Contains(head, ".entry") || Contains(head, ".func");
        if (!is_function && !Contains(head, ".alias") && !Contains(head, ".pragma")) Variable(head);
      }
    }
    return std::move(module_);
  }

 private:
  bool SkipSpace() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() && text_[at_] != '\0';
  }

  // Directives of one line, and sections of debug information.
  bool SkipDirective() {
    const std::string_view rest = std::string_view(text_).substr(at_);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    for (const char* name : {".version", ".target", ".address_size", ".file", ".loc"}) {
      if (!line.starts_with(name)) continue;
      const auto words = Words(line);
      if (words[0] == ".file" && words.size() > 2) File(words);
      at_ += line.size();
      return true;
    }
    if (!line.starts_with(".section")) return false;
    at_ = text_.find('}', at_) + 1;
    return true;
  }

  // Without the folder that Bazel compiles in: its sandbox is gone when somebody reads the name.
  static std::string_view InCheckout(std::string_view name) {
    constexpr std::string_view kFolder = "/execroot/", kHere = "./";
    if (const size_t at = name.find(kFolder); at != name.npos)
      if (const size_t end = name.find('/', at + kFolder.size()); end != name.npos)
        name.remove_prefix(end + 1);
    if (name.starts_with(kHere)) name.remove_prefix(kHere.size());
    return name;
  }

  void File(const std::vector<std::string_view>& words) {
    std::string_view name = words[2];
    if (name.back() == ',') name.remove_suffix(1);
    if (name.size() > 2) name = name.substr(1, name.size() - 2);
    module_->files[static_cast<int>(ParseNumber(words[1]).value_or(0))] = InCheckout(name);
  }

  // Goes to the end of a declaration or of a function's head; true if a body follows.
  bool FindEnd() {
    int depth = 0;
    bool has_value = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      has_value |= c == '=';
      if (depth == 0 && c == ';') return false;
      if (depth == 0 && c == '{' && !has_value) return true;
    }
    throw std::runtime_error("PTX: a declaration without an end");
  }

  void Variable(std::string_view head) {
    const size_t equals = head.find('=');
    const Declaration d = ParseDeclaration(head.substr(0, equals));
    if (Contains(head, ".shared")) {
      if (!d.open) throw std::runtime_error("PTX: shared memory of a module: " + d.name);
      module_->symbols[d.name] = {Space::kShared, 0, 0};
      module_->dynamic_shared = d.name;
      return;
    }
    char* memory = static_cast<char*>(
        cuda_emulation::AllocateDevice(static_cast<int64_t>(std::max<uint64_t>(d.bytes, 16))));
    const cuda_emulation::DeviceAccess access;
    std::memset(memory, 0, d.bytes);
    if (equals != head.npos) Fill(memory, d, Trim(head.substr(equals + 1)));
    module_->memory.push_back(memory);
    module_->symbols[d.name] = {Contains(head, ".const") ? Space::kConst : Space::kGlobal,
                                reinterpret_cast<uint64_t>(memory), d.bytes};
  }

  void Fill(char* to, const Declaration& d, std::string_view values) {
    if (values.starts_with("{")) values = values.substr(1, values.rfind('}') - 1);
    uint64_t place = 0;
    for (const std::string_view value : SplitList(values)) {
      const auto symbol = module_->symbols.find(std::string(value));
      const uint64_t n =
          symbol != module_->symbols.end() ? symbol->second.place : ParseNumber(value).value_or(0);
      if (place + d.type.bytes > d.bytes)
        throw std::runtime_error("PTX: too many values for " + d.name);
      std::memcpy(to + place, &n, d.type.bytes);
      place += d.type.bytes;
    }
  }

  void Body(std::string_view head) {
    const size_t open = at_;
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') at_ = text_.find('"', at_ + 1);
      if (text_[at_] == '{') ++depth;
      if (text_[at_] == '}' && --depth == 0) break;
    }
    ++at_;
    const int line = 1 + static_cast<int>(std::count(
                             text_.begin(), text_.begin() + static_cast<long>(open), '\n'));
    module_->texts[NameOf(head)] = {std::string(head), text_.substr(open + 1, at_ - open - 2),
                                    line};
  }

  // `.visible .entry name(…)`, or `.func (result) name(…)`.
  static std::string NameOf(std::string_view head) {
    const size_t entry = head.find(".entry");
    std::string_view s = Trim(head.substr(entry != head.npos ? entry + 6 : head.find(".func") + 5));
    if (s.starts_with("(")) s = Trim(s.substr(s.find(')') + 1));
    const auto end = std::find_if_not(s.begin(), s.end(), IsNameChar);
    return std::string(s.begin(), end);
  }

  std::string text_;
  size_t at_ = 0;
  std::unique_ptr<Module> module_;
};

}  // namespace

std::unique_ptr<Module> ParseModule(std::string_view text) { return ModuleParser(text).Parse(); }

Module::~Module() {
  for (void* p : memory) cuda_emulation::FreeDevice(p);
}

const Function* Module::Find(const std::string& name) {
  std::unique_ptr<Function>& function = functions[name];
  const auto text = texts.find(name);
  if (!function && text != texts.end()) function = ParseFunction(*this, name, text->second);
  return function.get();
}

std::vector<std::string> Module::Kernels() const {
  std::vector<std::string> names;
  for (const auto& [name, text] : texts)
    if (Contains(text.head, ".entry")) names.push_back(name);
  return names;
}

std::string Function::Where(const SourceLine& line) const {
  const auto file = module->files.find(line.file);
  if (file == module->files.end()) return "";
  const std::string where = file->second + ":" + std::to_string(line.line);
  if (line.caller < 0) return where;
  return where + ", inlined at " + Where(callers[static_cast<size_t>(line.caller)]);
}

bool Instruction::Has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

}  // namespace ptx
