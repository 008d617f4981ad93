#ifndef TESSERA_DATA_ROWS_BAD_LINE_H_
#define TESSERA_DATA_ROWS_BAD_LINE_H_
// An error in a line. Texts that are shown are cut at 40 bytes.
#include <stdexcept>
#include <string>
#include <string_view>

namespace tessera {

// Thrown by what reads a line, and caught by what knows its file and number.
class BadLine : public std::runtime_error {
 public:
  // "PLACE: REASON, got …"; `reason` is the same for all lines that are bad in the same way.
  BadLine(std::string_view place, std::string reason, std::string_view got);
  // Without a place.
  explicit BadLine(std::string reason, std::string_view got = {});

  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

// "'text'", cut; never inside a character. A byte of 0, at which an error's text would end, is
// shown as \0.
std::string ShownText(std::string_view text);
// "'…text…'": the part of a long text around the byte `at`.
std::string ShownAround(std::string_view text, size_t at);
// JSON as it is written, without blanks, cut at 60 bytes.
std::string ShownJson(std::string_view json);

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_BAD_LINE_H_
