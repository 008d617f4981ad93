#ifndef TESSERA_CLI_SHOW_ROW_FOLDER_SUMMARY_H_
#define TESSERA_CLI_SHOW_ROW_FOLDER_SUMMARY_H_
// What tessera inspect says of rows that tessera preprocess wrote.
#include <string>

namespace tessera::cli {

// Reads every byte, and throws Error for one that is not what was written.
std::string RowFolderText(const std::string& folder);
std::string RowFolderJson(const std::string& folder);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_ROW_FOLDER_SUMMARY_H_
