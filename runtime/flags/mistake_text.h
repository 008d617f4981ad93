#ifndef TESSERA_RUNTIME_FLAGS_MISTAKE_TEXT_H_
#define TESSERA_RUNTIME_FLAGS_MISTAKE_TEXT_H_
// Sentences for mistakes on a command line that CLI11 has worded.
#include <string>

namespace tessera::internal {

// Returns CLI11's text as a sentence: of a flag that is given too often or without its value CLI11
// speaks of numbers that are "required".
std::string MistakeText(const std::string& text);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_FLAGS_MISTAKE_TEXT_H_
