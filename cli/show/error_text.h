#ifndef TESSERA_CLI_SHOW_ERROR_TEXT_H_
#define TESSERA_CLI_SHOW_ERROR_TEXT_H_
// The text of an error as a user reads it.
#include <cstdint>
#include <exception>
#include <string>

namespace tessera::cli {

// The message without the places in our own source ("(embedding/lookup/lookup.cc:41)") that it was
// thrown at.
std::string ErrorText(const std::exception& error);

// "expected a whole number from 1 to 1024, got 'two'": of a whole number, or of any.
std::string NumberExpected(int64_t low, int64_t high, const std::string& got);
std::string NumberExpected(double low, double high, const std::string& got);

// Says a mistake on the command line, which CLI11 has worded, in a sentence: of a flag that is
// given too often or without its value CLI11 speaks of numbers that are "required".
std::string MistakeText(const std::string& text);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_ERROR_TEXT_H_
