#include "runtime/json/json_reader.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

namespace tessera::internal {
namespace {

constexpr size_t kMaxShown = 200;  // bytes of a parser's message, which quotes the text

// Reads a text and tells how far it came: behind a bracket, exactly.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** reached) : at_(at), reached_(reached) {}

  reference operator*() const { return *at_; }
  Cursor& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    const Cursor before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

// "parse error at line 1, column 2: unexpected '}'; expected string literal" of nlohmann's
// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
// object key - unexpected '}'; expected string literal".
std::string FaultText(const std::string& message) {
  constexpr std::string_view kSyntax = ": syntax error ", kWhat = " - ";
  const size_t end = message.starts_with('[') ? message.find("] ") : std::string::npos;
  std::string text = end == std::string::npos ? message : message.substr(end + 2);
  const size_t syntax = text.find(kSyntax), what = text.find(kWhat, syntax);
  if (syntax != std::string::npos && what != std::string::npos)
    text.replace(syntax, what + kWhat.size() - syntax, ": ");
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "…";
  return text;
}

// An object or list that is open, with its children so far. They become a Json only when it closes:
// nlohmann's ordered object looks through all its keys for each that is added.
struct OpenValue {
  explicit OpenValue(bool is_an_object) : is_object(is_an_object) {}
  OpenValue(OpenValue&&) = default;
  ~OpenValue() {
    for (Json& child : children) Dismantle(child);
  }

  bool is_object;
  std::string key;  // of the child that comes
  std::vector<std::string> keys;
  std::vector<Json> children;
};

// Keys are sorted: unlike a hash, this is slow for no keys.
void CheckDistinct(const std::vector<std::string>& keys) {
  std::vector<std::string_view> sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    throw Error(Format("the key {} is given twice",
                       Json(*twice).dump(-1, ' ', false, Json::error_handler_t::replace)));
}

Json Closed(OpenValue open) {
  if (!open.is_object) return Json(std::move(open.children));
  CheckDistinct(open.keys);
  Json object = Json::object();
  Json::object_t::Container& members = object.get_ref<Json::object_t&>();
  members.reserve(open.keys.size());
  for (size_t i = 0; i < open.keys.size(); ++i)
    members.emplace_back(std::move(open.keys[i]), std::move(open.children[i]));
  return object;
}

// The callbacks of nlohmann's parser, under its names; in the end the tree is `root`.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const JsonLimits& limits, const UnreadList& unread)
      : text_(text), limits_(limits), unread_(unread) {}
  ~TreeBuilder() { Dismantle(root); }
  TreeBuilder(const TreeBuilder&) = delete;
  TreeBuilder& operator=(const TreeBuilder&) = delete;

  const char* reached = nullptr;  // by the parser
  Json root;

  bool null() { return Add(nullptr); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(int64_t value) { return Add(value); }
  bool number_unsigned(uint64_t value) { return Add(value); }
  bool number_float(double value, const std::string& written) {
    if (written.size() > limits_.number_bytes)
      throw Error(Format("a number of {} bytes; at most {} are read", written.size(),
                         limits_.number_bytes));
    return Add(value);
  }
  bool string(std::string& value) { return Add(std::move(value)); }
  bool binary(Json::binary_t&) { return Add(nullptr); }

  bool start_object(size_t) { return Open(true); }
  bool start_array(size_t) { return Open(false); }
  bool end_object() { return Close(); }
  bool end_array() { return Close(); }
  bool key(std::string& key) {
    if (key.size() > limits_.key_bytes)
      throw Error(Format("a key of {} bytes; at most {} are read", key.size(), limits_.key_bytes));
    if (!unread_depth_) open_.back().key = std::move(key);
    return true;
  }

  template <typename Exception>
  bool parse_error(size_t, const std::string&, const Exception& error) {
    throw Error(FaultText(error.what()));
  }

 private:
  template <typename T>
  bool Add(T&& value) {
    if (unread_depth_) return true;
    if (++values_ > limits_.values)
      throw Error(Format("more than {} values in one document", limits_.values));
    if (open_.empty()) {
      root = Json(std::forward<T>(value));
      return true;
    }
    OpenValue& parent = open_.back();
    if (parent.is_object) parent.keys.push_back(std::move(parent.key));
    parent.children.emplace_back(std::forward<T>(value));
    return true;
  }

  bool Open(bool is_object) {
    if (++depth_ > limits_.depth)
      throw Error(Format("more than {} levels of nesting", limits_.depth));
    if (unread_depth_) return true;
    if (!is_object && AtUnread()) {
      unread_depth_ = depth_;
      unread_begin_ = Reached() - 1;
    } else {
      open_.emplace_back(is_object);
    }
    return true;
  }

  bool Close() {
    --depth_;
    if (unread_depth_) {
      if (depth_ + 1 > *unread_depth_) return true;
      unread_depth_.reset();
      Json place = Json::array({unread_begin_, Reached()});
      const Dismantled guard(place);
      return Add(std::move(place));
    }
    OpenValue closed = std::move(open_.back());
    open_.pop_back();
    Json value = Closed(std::move(closed));
    const Dismantled guard(value);
    return Add(std::move(value));
  }

  // Whether the value that comes is one to leave unread.
  bool AtUnread() const {
    if (unread_.path.empty() || open_.size() != unread_.path.size()) return false;
    for (size_t i = 0; i < open_.size(); ++i)
      if (open_[i].is_object ? open_[i].key != unread_.path[i] : !unread_.path[i].empty())
        return false;
    return true;
  }

  size_t Reached() const { return static_cast<size_t>(reached - text_.data()); }

  const std::string_view text_;
  const JsonLimits& limits_;
  const UnreadList& unread_;
  std::vector<OpenValue> open_;
  size_t depth_ = 0, values_ = 0, unread_begin_ = 0;
  std::optional<size_t> unread_depth_;  // of the list that is left unread, while inside
};

}  // namespace

void Dismantle(Json& tree) noexcept {
  if (auto* list = tree.get_ptr<Json::array_t*>()) {
    for (Json& element : *list) Dismantle(element);
    list->clear();
  } else if (auto* object = tree.get_ptr<Json::object_t*>()) {
    for (auto& [key, value] : *object) Dismantle(value);
    object->clear();
  }
}

bool IsText(const Json& value, std::string_view text) noexcept {
  const auto* const string = value.get_ptr<const std::string*>();
  return string != nullptr && *string == text;
}

Json ReadJsonText(std::string_view text, const JsonLimits& limits, const UnreadList& unread) {
  TreeBuilder builder(text, limits, unread);
  builder.reached = text.data();
  Json::sax_parse(Cursor(text.data(), &builder.reached),
                  Cursor(text.data() + text.size(), &builder.reached), &builder);
  // nlohmann takes this byte for the end of its input.
  if (builder.reached > text.data() && builder.reached[-1] == '\0')
    throw Error(Format("parse error at byte {}: unexpected NUL; expected end of input",
                       builder.reached - text.data()));
  return std::move(builder.root);
}

}  // namespace tessera::internal
