#ifndef TESSERA_CLI_SHOW_ROW_FOLDER_SUMMARY_H_
#define TESSERA_CLI_SHOW_ROW_FOLDER_SUMMARY_H_
// Summary of rows that tessera preprocess wrote, as tessera inspect shows it.
#include <string>

namespace tessera::cli {

// Reads every byte, and throws Error for one that is not what was written.
std::string RowFolderText(const std::string& folder);
std::string RowFolderJson(const std::string& folder);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_ROW_FOLDER_SUMMARY_H_
