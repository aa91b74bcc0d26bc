// Text files named one by one or found in folders. Each file is one document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/tokenizer_training.h"

namespace athanor::data {

struct TextFiles {
  std::vector<std::filesystem::path> paths;  // those of a folder sorted by bytes
  int64_t skipped_binary = 0;
  int64_t skipped_hidden = 0;  // hidden files, and hidden folders as one each
  int64_t skipped_empty = 0;

  /// "3 files skipped: 1 binary, 2 hidden"; empty when none was.
  std::string skipped_text() const;
};

/// Finds the files: a named file always, in a folder and its folders all but hidden, binary and empty ones. Links to folders are not
/// followed. Throws Error for a path that is missing, an empty named file, and when nothing is left.
TextFiles find_text_files(const std::vector<std::filesystem::path>& inputs);

/// The file's text as UTF-8. An empty `encoding` means UTF-8 or what a byte-order mark says. Throws Error as to_utf8 does, and for a
/// file without text.
std::string read_text(const std::filesystem::path& path, const std::string& encoding = {});

/// The documents one after the other, for train_tokenizer. The files must outlive it.
DocumentSource document_source(const TextFiles& files, const std::string& encoding = {});

}  // namespace athanor::data
