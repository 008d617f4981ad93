#ifndef TESSERA_CLI_SHOW_ERROR_TEXT_H_
#define TESSERA_CLI_SHOW_ERROR_TEXT_H_
// The text of an error as a user reads it.
#include <exception>
#include <string>

namespace tessera::cli {

// The message without the places in our own source ("(embedding/lookup/lookup.cc:41)") that it was
// thrown at.
std::string ErrorText(const std::exception& error);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_ERROR_TEXT_H_
