#ifndef TESSERA_BENCH_INPUTS_PICKLE_H_
#define TESSERA_BENCH_INPUTS_PICKLE_H_
// The values of a Python pickle (protocols 2 to 4) as far as files of tensors need them.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::bench {

struct PickleValue {
  enum class Kind {
    kNone,
    kNumber,      // number; booleans are 0 and 1
    kText,        // text
    kGlobal,      // text: "module name"
    kItems,       // items: of a tuple or list
    kPersistent,  // items[0]: the id that the program gave it
    kCall,        // items[0] called with items[1], a tuple
    kMark,
  };
  Kind kind = Kind::kNone;
  int64_t number = 0;
  std::string text = {};
  std::vector<PickleValue> items = {};
};

// Dictionaries come without their entries. Throws Error for what it does not know.
PickleValue ParsePickle(std::string_view bytes);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_PICKLE_H_
