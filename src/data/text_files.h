// Text files named one by one or found in folders. Each file is one document, but a .jsonl file (text_reader.h) has one a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace athanor::data {

/// The files that one input on the command line stands for.
struct TextInput {
  std::string name;
  size_t num_files = 0;
};

struct TextFiles {
  std::vector<std::filesystem::path> paths;  // those of a folder sorted by bytes
  std::vector<TextInput> inputs;             // as given; their files lie in paths one after the other
  int64_t skipped_binary = 0;
  int64_t skipped_hidden = 0;  // hidden files, and hidden folders as one each
  int64_t skipped_empty = 0;   // also those of a byte-order mark alone
  int64_t skipped_runs = 0;    // folders that hold a training run: its logs are no text

  /// "3 files skipped: 1 binary, 2 hidden; 1 folder skipped: it holds a training run"; empty when none was.
  std::string skipped_text() const;
  /// What training will read: of packed files what they hold unpacked, which takes reading them.
  int64_t text_bytes() const;
};

/// Finds the files: a named file always, in a folder and its folders all but hidden, binary and empty ones and folders that hold a
/// training run. A file packed by gzip or zstd is judged by what is in it. Links to folders are not followed. Throws Error for a path that
/// is missing, an empty named file, and when nothing is left.
TextFiles find_text_files(const std::vector<std::filesystem::path>& inputs);

}  // namespace athanor::data
