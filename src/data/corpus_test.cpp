// Text files, token files, and the loader that reads them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/safetensors.h"
#include "base/test_garbled.h"
#include "data/encode.h"
#include "data/loader.h"
#include "data/test_texts.h"
#include "data/text_encoding.h"
#include "data/text_files.h"
#include "data/token_file.h"
#include "data/tokenizer_training.h"

namespace athanor::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string read_text(const std::filesystem::path& path, const std::string& encoding = {}) {
  TextReader reader(find_text_files({path}), {.encoding = encoding});
  std::string text;
  while (const std::optional<TextPart> part = reader.next()) text += part->text;
  return text;
}

Tokenizer tokenizer_of_bytes() { return train_tokenizer({small_corpus()}, {.vocab_size = 300}); }

/// Documents of the given lengths; token i of the corpus is i.
TokenData counting(const std::vector<int64_t>& lengths) {
  std::vector<uint64_t> offsets{0};
  for (int64_t length : lengths) offsets.push_back(offsets.back() + static_cast<uint64_t>(length));
  std::vector<uint32_t> tokens(offsets.back());
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint32_t>(i);
  return TokenData(tokens, offsets, std::nullopt);
}

TEST(TextFiles, FindsTextsInFoldersAndCountsWhatItSkips) {
  const TestFolder folder("text");
  folder.write("b.txt", "b");
  folder.write("a/deep/c.md", "c");
  folder.write(".hidden", "h");
  folder.write(".git/config", "g");
  folder.write("picture.png", std::string_view("\x89PNG\0\0", 6));
  folder.write("empty.txt", "");
  const TextFiles files = find_text_files({folder.path()});
  EXPECT_THAT(files.paths, ElementsAre(folder / "a/deep/c.md", folder / "b.txt"));
  EXPECT_EQ(files.skipped_text(), "4 files skipped: 1 binary, 2 hidden, 1 empty");
}

TEST(TextFiles, RefusesWhatIsMissingOrEmpty) {
  const TestFolder folder("text");
  EXPECT_THAT(error_of([&] { find_text_files({folder / "none.txt"}); }), HasSubstr("there is no file or folder"));
  EXPECT_THAT(error_of([&] { find_text_files({folder / std::string(300, 'x')}); }), HasSubstr("; check the path"));
#ifndef _WIN32
  const TestFolder links("links");
  std::filesystem::create_symlink(links / "loop", links / "loop");
  EXPECT_THAT(error_of([&] { find_text_files({links / "loop"}); }), HasSubstr("loop: Too many levels"));
#endif
  EXPECT_THAT(error_of([&] { find_text_files({folder.write("e.txt", "")}); }), HasSubstr("e.txt is empty"));
  EXPECT_THAT(error_of([&] { find_text_files({folder.path()}); }), HasSubstr("no text file"));
  EXPECT_THAT(error_of([&] { read_text(folder.write("bom.txt", "\xEF\xBB\xBF")); }), HasSubstr("is empty"));
}

TEST(TextFiles, ReadsByteOrderMarks) {
  const TestFolder folder("text");
  EXPECT_EQ(read_text(folder.write("utf8.txt", "\xEF\xBB\xBFışık")), "ışık");
  EXPECT_EQ(read_text(folder.write("le.txt", std::string_view("\xFF\xFE\x31\x01\x61\x00\x3D\xD8\x4D\xDC", 10))),
            "ıa👍");
  EXPECT_EQ(read_text(folder.write("be.txt", std::string_view("\xFE\xFF\x01\x31\x00\x61", 6))), "ıa");
  EXPECT_THAT(error_of([&] { read_text(folder.write("odd.txt", std::string_view("\xFF\xFE\x31\x01\x61", 5))); }),
              HasSubstr("offset 4 does not convert"));
}

TEST(TextFiles, ConvertsANamedEncoding) {
  const TestFolder folder("text");
  const auto path = folder.write("turkish.txt",
                                 "\xFE"
                                 "i\xFE"
                                 "e");
  EXPECT_EQ(read_text(path, "windows-1254"), "şişe");
  EXPECT_THAT(error_of([&] { read_text(path, "no-such"); }), HasSubstr("\"no-such\" is not known"));
  const std::string text(100000, '\xFE');
  EXPECT_EQ(to_utf8(text, "windows-1254", "x").size(), 200000u);
}

TEST(TextFiles, NamesPlaceAndLikelyEncodingOfBytesThatAreNotUtf8) {
  const TestFolder folder("text");
  const auto refusal = [&](std::string_view bytes) {
    return error_of([&] { read_text(folder.write("t.txt", bytes)); });
  };
  EXPECT_THAT(refusal("g\xFCzel bir \xFE"
                      "ey, \xFDlk g\xFCn, a\xF0"
                      "a\xE7"),
              HasSubstr("t.txt is not UTF-8: bad byte 0xFC at offset 1"));
  EXPECT_THAT(refusal("g\xFCzel bir \xFE"
                      "ey, \xFDlk g\xFCn, a\xF0"
                      "a\xE7"),
              HasSubstr("--encoding windows-1254"));
  EXPECT_THAT(refusal("caf\xE9 na\xEFve \x93quoted\x94"), HasSubstr("windows-1252"));
  EXPECT_THAT(refusal("\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0! \xCA\xE0\xEA \xE4\xE5\xEB\xE0?"),
              HasSubstr("windows-1251"));
  EXPECT_THAT(refusal("\xCC\xEC\xB5\xD8\xD0\xFE\xBB\xC6 \xD3\xEE\xD6\xE6\xBA\xE9\xBB\xC4"), HasSubstr("GB18030"));
  EXPECT_THAT(refusal(std::string_view("\x7f"
                                       "ELF\x02\x01\0\0\xff",
                                       9)),
              HasSubstr("no text at all"));
}

TEST(TokenData, KeepsDocumentsAndEndsEachWithEndOfText) {
  const Tokenizer tokenizer = tokenizer_of_bytes();
  std::vector<std::string> texts{"the king", "of England", small_corpus()};
  const TokenData data = encode_documents(texts, tokenizer, 2);
  ASSERT_EQ(data.num_documents(), 3);
  for (int64_t i = 0; i < 3; ++i) {
    std::vector<uint32_t> tokens(data.documents()[i + 1] - data.documents()[i]);
    data.read(static_cast<int64_t>(data.documents()[i]), tokens);
    EXPECT_EQ(tokens.back(), tokenizer.end_of_text());
    tokens.pop_back();
    EXPECT_EQ(tokenizer.decode(tokens), texts[i]);
  }
}

TEST(TokenFile, IsReadBackAsWritten) {
  const TestFolder folder("tokens");
  const Tokenizer tokenizer = tokenizer_of_bytes();
  const std::vector<uint32_t> tokens = tokenizer.encode(small_corpus());
  const TokenData data(tokens, {0, 10, tokens.size()}, tokenizer);
  write_token_file(folder / "t.safetensors", data);
  ASSERT_TRUE(is_token_file(folder / "t.safetensors"));
  const TokenData back = TokenData::open(folder / "t.safetensors");
  EXPECT_EQ(back.dtype(), DType::U16);
  EXPECT_EQ(back.num_documents(), 2);
  EXPECT_EQ(back.tokenizer()->to_json(), tokenizer.to_json());
  std::vector<uint32_t> read(tokens.size());
  back.read(0, read);
  EXPECT_EQ(read, tokens);
}

TEST(TokenFile, WrittenDocumentByDocumentHoldsItsSourcesAndIsWhatMemoryHolds) {
  const TestFolder folder("tokens");
  const Tokenizer tokenizer = tokenizer_of_bytes();
  {
    TokenFileWriter writer(folder / "t.safetensors", tokenizer, {"plays/", "nothing.jsonl", "a \"b\".txt"});
    writer.append(std::vector<uint32_t>{1, 2});
    writer.append(std::vector<uint32_t>{3});
    writer.end_document(0);
    writer.end_document(0);  // empty: none
    writer.append(std::vector<uint32_t>{4, 0});
    writer.end_document(2);
    EXPECT_THAT(error_of([&] { writer.end_document(1); }), HasSubstr("source 1 was given after one of source 2"));
    writer.commit();
  }
  const TokenData data = TokenData::open(folder / "t.safetensors");
  ASSERT_EQ(data.num_documents(), 2);
  EXPECT_EQ(data.documents()[1], 3u);
  ASSERT_EQ(data.sources().size(), 3u);
  EXPECT_EQ(data.sources()[2].name, "a \"b\".txt");
  EXPECT_EQ(data.sources()[0].documents, 1);
  EXPECT_EQ(data.sources()[1].documents, 0);
  std::vector<uint32_t> tokens(5);
  data.read(0, tokens);
  EXPECT_THAT(tokens, ElementsAre(1, 2, 3, 4, 0));
  EXPECT_EQ(data.document_at(2), 0);
  EXPECT_EQ(data.document_at(3), 1);
  TokenFileWriter nothing(folder / "none.safetensors", tokenizer, {"x"});
  EXPECT_THAT(error_of([&] { nothing.commit(); }), HasSubstr("no tokens"));
}

TEST(TokenFile, LeavesNothingBesideItAndNothingWhenItIsNotCommitted) {
  const TestFolder folder("tokens");
  {
    TokenFileWriter writer(folder / "t.safetensors", tokenizer_of_bytes(), {"x"});
    writer.append(std::vector<uint32_t>{1});
    writer.end_document();
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  write_token_file(folder / "t.safetensors", TokenData(std::vector<uint32_t>{1, 2}, {0, 2}, tokenizer_of_bytes()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(TokenFile, TakesNanogptsRawTokens) {
  const TestFolder folder("tokens");
  const auto path = folder.write("train.bin", std::string_view("\x01\x00\x02\x01", 4));
  ASSERT_TRUE(is_token_file(path));
  const TokenData data = TokenData::open(path);
  std::vector<uint32_t> read(2);
  data.read(0, read);
  EXPECT_THAT(read, ElementsAre(1, 258));
  EXPECT_FALSE(data.tokenizer().has_value());
  EXPECT_THAT(error_of([&] { TokenData::open(folder.write("odd.bin", "abc")); }), HasSubstr("odd number of bytes"));
  EXPECT_FALSE(is_token_file(folder.write("plain.txt", "{\"this\": is text}")));
}

TEST(TokenFile, RefusesFilesThatLie) {
  const TestFolder folder("tokens");
  const Tokenizer tokenizer = tokenizer_of_bytes();
  const auto refusal = [&](std::vector<uint16_t> tokens, std::vector<uint64_t> offsets,
                           std::map<std::string, std::string> metadata) {
    const std::vector<TensorToWrite> tensors{{.name = "tokens",
                                              .dtype = DType::U16,
                                              .shape = {static_cast<int64_t>(tokens.size())},
                                              .bytes = std::as_bytes(std::span(tokens))},
                                             {.name = "documents",
                                              .dtype = DType::U64,
                                              .shape = {static_cast<int64_t>(offsets.size())},
                                              .bytes = std::as_bytes(std::span(offsets))}};
    write_safetensors(folder / "lie.safetensors", tensors, metadata);
    return error_of([&] { TokenData::open(folder / "lie.safetensors"); });
  };
  const std::map<std::string, std::string> good{{"tokenizer", tokenizer.to_json()}};
  EXPECT_EQ(refusal({1, 2, 3}, {0, 1, 3}, good), "no error");
  EXPECT_THAT(refusal({1, 2, 300}, {0, 1, 3}, good), HasSubstr("has the id 300"));
  EXPECT_THAT(refusal({1, 2, 3}, {0, 1, 4}, good), HasSubstr("do not go from 0 to the 3 tokens"));
  EXPECT_THAT(refusal({1, 2, 3}, {0, 5, 3}, good), HasSubstr("document 1 does not begin before it ends"));
  EXPECT_THAT(refusal({1, 2, 3}, {3}, good), HasSubstr("do not go from 0"));
  EXPECT_THAT(refusal({}, {0}, good), HasSubstr("no tokens"));
  EXPECT_THAT(refusal({1, 2, 3}, {0, 3}, {}), HasSubstr("no tokenizer"));
  for (const auto& [sources, says] : std::vector<std::pair<std::string, std::string>>{
           {"{", "no list"},
           {R"([{"name": "a"}])", "no name with a number"},
           {R"([{"name": "a", "documents": 3}])", "more than its 2 documents"},
           {R"([{"name": "a", "documents": -1}])", "more than its 2 documents"},
           {R"([{"name": "a", "documents": 1}])", "1 of 2 documents belong to no source"}}) {
    EXPECT_THAT(refusal({1, 2, 3}, {0, 1, 3}, {{"tokenizer", tokenizer.to_json()}, {"sources", sources}}),
                HasSubstr(says));
  }
  EXPECT_THAT(refusal({1, 2, 3}, {0, 3}, {{"tokenizer", "{"}}), HasSubstr("not JSON"));
}

TEST(TokenFile, GarbledAnywhereIsReadWithoutHarmOrRefusedInWords) {
  const TestFolder folder("tokens");
  const std::filesystem::path path = folder / "garbled.safetensors";
  write_token_file(path, TokenData(std::vector<uint32_t>{1, 2, 0, 40, 41, 0, 7, 0}, {0, 3, 6, 8}, tokenizer_of_bytes(),
                                   {{"one", 2}, {"two", 1}}));
  std::string good;
  {
    const MappedFile file(path);
    good.assign(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  }
  int64_t refused = 0;
  for_each_garbled(good, [&](const Garbled& garbled) {
    folder.write("garbled.safetensors", garbled.content);
    try {
      is_token_file(path);
      const TokenData data = TokenData::open(path);
      std::vector<uint32_t> tokens(static_cast<size_t>(data.num_tokens()));
      data.read(0, tokens);
      const TokenStream all(data, {{0, data.num_tokens()}});
      std::vector<bool> starts(tokens.size());
      all.document_starts(0, starts);
      data.tokenizer()->decode(tokens);
    } catch (const Error& error) {
      ++refused;
      EXPECT_THAT(error.what(), HasSubstr(path.string())) << garbled.change;
    }
  });
  EXPECT_GT(refused, 1000);
}

TEST(Permutation, VisitsEveryNumberOnceInAnOrderOfItsOwn) {
  for (const int64_t size : {1, 2, 3, 7, 64, 1000, 4097}) {
    std::set<int64_t> seen;
    int64_t in_place = 0;
    const Permutation order(size, 1, 0);
    for (int64_t i = 0; i < size; ++i) {
      seen.insert(order(i));
      in_place += order(i) == i;
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), size);
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), size - 1);
    if (size >= 64) {
      EXPECT_LT(in_place, 10);
    }
  }
  EXPECT_NE(Permutation(1000, 1, 0)(5), Permutation(1000, 1, 1)(5));
  EXPECT_NE(Permutation(1000, 1, 0)(5), Permutation(1000, 2, 0)(5));
}

TEST(Loader, CoversEveryWindowOnceAnEpochAndShiftsTargetsByOne) {
  const Loader loader(counting({500, 503}), {.length = 10, .seed = 3, .packing = Packing::Naive});
  ASSERT_EQ(loader.windows_per_epoch(), 99);
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    std::set<uint32_t> begins;
    for (int64_t step = epoch * 33; step < (epoch + 1) * 33; ++step) {
      const Batch batch = loader.batch(step, 3);
      for (int64_t i = 0; i < 30; ++i) {
        EXPECT_EQ(static_cast<uint32_t>(batch.targets[i]), batch.tokens[i] + 1);
        EXPECT_EQ(batch.tokens[i], batch.tokens[i / 10 * 10] + i % 10);
      }
      for (int64_t row = 0; row < 3; ++row) begins.insert(batch.tokens[row * 10]);
    }
    EXPECT_EQ(begins.size(), 99u);
    EXPECT_EQ(*begins.rbegin() - *begins.begin(), 980u);
  }
}

TEST(Loader, GivesTheSameRowsHoweverTheStepIsCut) {
  const Loader loader(counting({1000}), {.length = 16, .seed = 5});
  const Batch whole = loader.batch(7, 6);
  for (int64_t row = 0; row < 6; ++row) {
    const Batch one = loader.batch(7, 6, row, 1);
    EXPECT_TRUE(std::equal(one.tokens.begin(), one.tokens.end(), whole.tokens.begin() + row * 16));
  }
  EXPECT_NE(loader.batch(8, 6).tokens, whole.tokens);
  EXPECT_NE(Loader(counting({1000}), {.length = 16, .seed = 6}).batch(7, 6).tokens, whole.tokens);
}

TEST(Loader, KeepsWholeDocumentsForValidation) {
  const TokenData data = counting(std::vector<int64_t>(20, 50));
  const Loader loader(data, {.length = 8, .seed = 1, .validation_split = 0.1});
  EXPECT_EQ(loader.validation_tokens(), 100);
  EXPECT_EQ(loader.train_tokens(), 900);
  std::set<uint32_t> validation;
  std::vector<uint32_t> all(100);
  loader.validation_stream().read(0, all);
  validation.insert(all.begin(), all.end());
  EXPECT_EQ(validation.size(), 100u);
  std::vector<uint32_t> train(900);
  loader.train_stream().read(0, train);
  for (uint32_t token : train) EXPECT_FALSE(validation.contains(token));
  EXPECT_EQ(loader.validation_blocks(), 12);
  const Batch blocks = loader.validation_batch(0, 12);
  EXPECT_EQ(static_cast<int32_t>(blocks.tokens[8]),
            blocks.targets[7]);  // a block begins where the one before it predicted last
  EXPECT_THROW(loader.validation_batch(12, 1), Error);
}

TEST(Loader, TakesTheEndOfASingleDocumentForValidation) {
  const Loader loader(counting({1000}), {.length = 20, .validation_split = 0.01});
  EXPECT_EQ(loader.validation_tokens(), 21);
  EXPECT_EQ(loader.train_tokens(), 979);
  EXPECT_EQ(loader.validation_batch(0, 1).tokens[0], 979u);
}

TEST(Loader, DoesNotGiveAwayMostOfTheTextForValidation) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Loader loader(counting({10000, 100, 100}), {.length = 8, .seed = seed, .validation_split = 0.01});
    EXPECT_LE(loader.validation_tokens(), 200);
  }
}

TEST(Loader, RefusesTextShorterThanOneBlockWithTheNumbers) {
  EXPECT_THAT(error_of([] { Loader(counting({20}), {.length = 20}); }),
              HasSubstr("has 20 tokens, but one block takes 21"));
  EXPECT_THAT(error_of([] { Loader(counting({40}), {.length = 20, .validation_split = 0.5}); }),
              HasSubstr("a block of 21 tokens each"));
  EXPECT_THAT(error_of([] { Loader(counting({40}), {.length = 20, .validation = counting({20})}); }),
              HasSubstr("validation text has 20"));
  EXPECT_THAT(error_of([] { Loader(counting({40}), {.length = 0}); }), HasSubstr("max_length"));
  EXPECT_EQ(Loader(counting({21}), {.length = 20}).batch(0, 2).tokens.size(), 40u);
}

TEST(UnigramLoss, IsTheEntropyUnderSmoothedCounts) {
  const TokenData train(std::vector<uint32_t>{0, 0, 0, 1}, {0, 4}, std::nullopt);
  const TokenData validation(std::vector<uint32_t>{0, 1, 2}, {0, 3}, std::nullopt);
  const double loss = unigram_loss(TokenStream(train, {{0, 4}}), TokenStream(validation, {{0, 3}}), 3);
  EXPECT_NEAR(loss, -(std::log(4.0 / 7) + std::log(2.0 / 7) + std::log(1.0 / 7)) / 3, 1e-12);
  EXPECT_THROW(unigram_loss(TokenStream(train, {{0, 4}}), TokenStream(validation, {{0, 3}}), 2), Error);
}

}  // namespace
}  // namespace athanor::data
