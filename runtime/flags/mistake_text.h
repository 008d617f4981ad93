#ifndef TESSERA_RUNTIME_FLAGS_MISTAKE_TEXT_H_
#define TESSERA_RUNTIME_FLAGS_MISTAKE_TEXT_H_
// CLI11's texts about mistakes on a command line and about options, in our form.
#include <string>

namespace tessera::internal {

// Returns CLI11's text as a sentence: of a flag that is given too often or without its value CLI11
// speaks of numbers that are "required".
std::string MistakeText(const std::string& text);

// Returns what CLI11's help says behind an option's name, where the option has this default, or ""
// for none: " N=3", as its 2.1 says it; its 2.4 has " N [3] ".
std::string OptionText(std::string text, const std::string& default_value);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_FLAGS_MISTAKE_TEXT_H_
