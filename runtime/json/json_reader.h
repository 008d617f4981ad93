#ifndef TESSERA_RUNTIME_JSON_JSON_READER_H_
#define TESSERA_RUNTIME_JSON_JSON_READER_H_
// Text to a Json, in time and memory proportional to the text, within limits: what a stranger sends
// costs no more than what it holds.
//
// For .cc files and private headers: public ones include no JSON.
#include <string>
#include <string_view>
#include <vector>

#include "runtime/json/json_object.h"

namespace tessera::internal {

struct JsonLimits {
  size_t depth = 64;        // objects and lists in one another: what reads a document calls itself
  size_t values = 4 << 20;  // of all kinds, in the whole document
  size_t key_bytes = 4096;  // of one key
  size_t number_bytes = 1024;  // of one number, as it is written
};

// Empties a tree from its leaves on. The destructor of a tree asks for memory, and ends the process
// where there is none; that of an emptied one does not. Asks for none itself.
void Dismantle(Json& tree) noexcept;

// Dismantles a tree when a scope ends, however it ends: what was made of a request goes so.
class Dismantled {
 public:
  explicit Dismantled(Json& tree) : tree_(tree) {}
  ~Dismantled() { Dismantle(tree_); }
  Dismantled(const Dismantled&) = delete;
  Dismantled& operator=(const Dismantled&) = delete;

 private:
  Json& tree_;
};

// Whether it is this string. (To compare a tree with a string asks for memory, and ends the process
// where there is none.)
bool IsText(const Json& value, std::string_view text) noexcept;

// A list that ReadJsonText leaves unread: it is checked to be JSON, and its place in the text
// stands in the document instead, as [begin, end). It counts as one value.
struct UnreadList {
  // The keys that lead there; "" is any element of a list: {"inputs", "", "data"}.
  std::vector<std::string> path;
};

// Throws Error, with the place, for what is no JSON, a key given twice, and what is beyond a limit.
// Memory may run out at any point of it.
Json ReadJsonText(std::string_view text, const JsonLimits& limits = {},
                  const UnreadList& unread = {});

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_JSON_JSON_READER_H_
