#include "bench/inputs/pickle.h"

#include <cstring>
#include <map>
#include <utility>

#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

using Kind = PickleValue::Kind;

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : bytes_(bytes) {}

  PickleValue Run() {
    while (true) {
      const auto code = static_cast<unsigned char>(Take(1)[0]);
      if (code == '.') return Pop();
      if (!Constant(code) && !Text(code) && !Memo(code) && !Build(code))
        throw Error(Format("pickle: byte {}: operation {} is not known", at_ - 1, int{code}));
    }
  }

 private:
  std::string_view Take(size_t count) {
    if (count > bytes_.size() - at_) throw Error("pickle: it was cut short");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  // A number of that many bytes, little-endian, with a sign.
  int64_t Signed(size_t count) {
    if (count > 8) throw Error("pickle: a number of more than 64 bits");
    uint64_t number = Unsigned(count);
    if (count > 0 && count < 8 && (number >> (8 * count - 1)) != 0)
      number |= ~uint64_t{0} << (8 * count);
    return static_cast<int64_t>(number);
  }
  uint64_t Unsigned(size_t count) {
    uint64_t number = 0;
    const std::string_view bytes = Take(count);
    for (size_t i = 0; i < count; ++i)
      number |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    return number;
  }
  std::string Line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) throw Error("pickle: it was cut short");
    const std::string line(Take(end - at_));
    Take(1);
    return line;
  }

  void Push(PickleValue value) { stack_.push_back(std::move(value)); }
  PickleValue Pop() {
    if (stack_.empty()) throw Error("pickle: a value is missing");
    PickleValue value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }
  // Takes all that was pushed since the last mark, and the mark.
  std::vector<PickleValue> PopToMark() {
    size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1].kind != Kind::kMark) --mark;
    if (mark == 0) throw Error("pickle: a mark is missing");
    std::vector<PickleValue> items(
        std::make_move_iterator(stack_.begin() + static_cast<long>(mark)),
        std::make_move_iterator(stack_.end()));
    stack_.resize(mark - 1);
    return items;
  }
  void PushLast(size_t count) {
    PickleValue tuple{.kind = Kind::kItems};
    for (size_t i = 0; i < count; ++i) tuple.items.insert(tuple.items.begin(), Pop());
    Push(std::move(tuple));
  }

  bool Constant(unsigned char code) {
    switch (code) {
      case 'N':
        return Push({}), true;
      case 0x88:
      case 0x89:
        return Push({.kind = Kind::kNumber, .number = code == 0x88}), true;
      case 'K':
      case 'M':
        return Push({.kind = Kind::kNumber,
                     .number = static_cast<int64_t>(Unsigned(code == 'K' ? 1 : 2))}),
               true;
      case 'J':
        return Push({.kind = Kind::kNumber, .number = Signed(4)}), true;
      case 0x8a:
        return Push({.kind = Kind::kNumber, .number = Signed(Unsigned(1))}), true;
      case ')':
      case ']':
      case '}':
        return Push({.kind = Kind::kItems}), true;
      case '(':
        return Push({.kind = Kind::kMark}), true;
      case 0x80:  // the protocol
        return Take(1), true;
      case 0x95:  // the length of a frame
        return Take(8), true;
    }
    return false;
  }

  bool Text(unsigned char code) {
    switch (code) {
      case 'X':
      case 0x8c:
        return Push(
                   {.kind = Kind::kText, .text = std::string(Take(Unsigned(code == 'X' ? 4 : 1)))}),
               true;
      case 'c': {
        const std::string module = Line();
        return Push({.kind = Kind::kGlobal, .text = module + " " + Line()}), true;
      }
      case 0x93: {
        const PickleValue name = Pop(), module = Pop();
        return Push({.kind = Kind::kGlobal, .text = module.text + " " + name.text}), true;
      }
    }
    return false;
  }

  bool Memo(unsigned char code) {
    if (code == 0x94) return Remember(memo_.size()), true;
    if (code == 'q' || code == 'r') return Remember(Unsigned(code == 'q' ? 1 : 4)), true;
    if (code != 'h' && code != 'j') return false;
    const auto found = memo_.find(Unsigned(code == 'h' ? 1 : 4));
    if (found == memo_.end()) throw Error("pickle: it names a value that it has not");
    return Push(found->second), true;
  }
  void Remember(uint64_t place) {
    if (stack_.empty()) throw Error("pickle: a value is missing");
    memo_[place] = stack_.back();
  }

  bool Build(unsigned char code) {
    switch (code) {
      case 't':
        return Push({.kind = Kind::kItems, .items = PopToMark()}), true;
      case 0x85:
      case 0x86:
      case 0x87:
        return PushLast(code - 0x84u), true;
      case 'a':
      case 'e': {
        std::vector<PickleValue> items;
        if (code == 'e')
          items = PopToMark();
        else
          items.push_back(Pop());
        PickleValue list = Pop();
        for (PickleValue& item : items) list.items.push_back(std::move(item));
        return Push(std::move(list)), true;
      }
      case 's':  // an entry of a dictionary, or several
        return Pop(), Pop(), true;
      case 'u':
        return PopToMark(), true;
      case 'b':  // an object's state
        return Pop(), true;
      case 'Q':
        return Push({.kind = Kind::kPersistent, .items = {Pop()}}), true;
      case 'R': {
        PickleValue arguments = Pop(), callee = Pop();
        return Push({.kind = Kind::kCall, .items = {std::move(callee), std::move(arguments)}}),
               true;
      }
    }
    return false;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  std::vector<PickleValue> stack_;
  std::map<uint64_t, PickleValue> memo_;
};

}  // namespace

PickleValue ParsePickle(std::string_view bytes) { return Unpickler(bytes).Run(); }

}  // namespace tessera::bench
