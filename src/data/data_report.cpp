// One entry a document, sorted, so that copies are neighbours.
#include "data/data_report.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/hash.h"

namespace athanor::data {

namespace {

struct Document {
  uint64_t hash = 0;
  int64_t tokens = 0;

  bool operator==(const Document&) const = default;
};

}  // namespace

DataReport examine(const TokenData& data) {
  DataReport report{.documents = data.num_documents(), .tokens = data.num_tokens()};
  const auto size = static_cast<size_t>(size_of(data.dtype()));
  std::vector<Document> documents(static_cast<size_t>(report.documents));
  for (int64_t i = 0; i < report.documents; ++i) {
    const uint64_t begin = data.documents()[i];
    const uint64_t count = data.documents()[i + 1] - begin;
    documents[static_cast<size_t>(i)] = {hash_u64(data.bytes().subspan(begin * size, count * size)),
                                         static_cast<int64_t>(count)};
  }
  std::sort(documents.begin(), documents.end(), [](const Document& a, const Document& b) {
    return std::tie(a.tokens, a.hash) < std::tie(b.tokens, b.hash);
  });
  report.shortest = documents.front().tokens;
  report.median = documents[documents.size() / 2].tokens;
  report.longest = documents.back().tokens;
  for (size_t i = 1; i < documents.size(); ++i) {
    if (documents[i] != documents[i - 1]) continue;
    ++report.copies;
    report.copied_tokens += documents[i].tokens;
  }
  return report;
}

}  // namespace athanor::data
