// The tokenizer as its users meet it: training, encoding, files. tests/tokenizer_judge.py compares it with the tokenizers package.
#include "data/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "base/test_garbled.h"
#include "data/byte_alphabet.h"
#include "data/test_texts.h"
#include "data/tokenizer_training.h"
#include "data/utf8.h"

namespace athanor::data {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Tokenizer trained(Split split = Split::Tekken, int64_t vocab_size = 400) {
  return train_tokenizer({small_corpus()}, {.vocab_size = vocab_size, .split = split});
}

std::vector<std::string> pieces_of(Split split, std::string_view text) {
  const Splitter splitter(split);
  Splitter::Scratch scratch(splitter);
  std::vector<std::string> pieces;
  splitter.split(text, scratch, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

/// Processor time, which other programs on the machine do not change.
double seconds(const std::function<void()>& action) {
  const std::clock_t begin = std::clock();
  action();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

TEST(Splitter, CutsAsTheThreeExpressionsSay) {
  using Pieces = std::vector<std::string>;
  EXPECT_EQ(pieces_of(Split::Tekken, "Ankara'dan 123"), (Pieces{"Ankara", "'dan", " ", "1", "2", "3"}));
  EXPECT_EQ(pieces_of(Split::Tekken, "HelloWorld a/b\n\n"), (Pieces{"Hello", "World", " a", "/b", "\n\n"}));
  EXPECT_EQ(pieces_of(Split::Gpt2, "I'll go  on 1234"), (Pieces{"I", "'ll", " go", " ", " on", " 1234"}));
  EXPECT_EQ(pieces_of(Split::Llama3, "I'LL go\n\n 1234"), (Pieces{"I", "'LL", " go", "\n\n", " ", "123", "4"}));
}

TEST(Splitter, KeepsAllBytesOfAnyText) {
  for (const Split split : {Split::Tekken, Split::Gpt2, Split::Llama3}) {
    for (const std::string& text : difficult_texts()) {
      std::string joined;
      for (const std::string& piece : pieces_of(split, text)) joined += piece;
      EXPECT_EQ(joined, text);
    }
  }
}

TEST(Splitter, GivesBytesThatAreNotUtf8APieceOfTheirOwn) {
  EXPECT_EQ(pieces_of(Split::Tekken, "ab\xff\xff cd"), (std::vector<std::string>{"ab", "\xff\xff", " cd"}));
}

TEST(Splitter, KnowsLettersNewerThanTheLibrarysTables) {
  // U+31350 (Unicode 15) is a letter, so it joins another one.
  EXPECT_EQ(pieces_of(Split::Gpt2, "a\U00031350").size(), 1u);
}

TEST(Splitter, CutsSafelyOnlyWhereThePiecesStayTheSame) {
  const std::string scripts =
      "He said\n\n  \"no\".\r\nA LINE\rЧто он\n сказал, ΑΒΓ αβγ\u3000天地玄黄,宇宙洪荒。日月，盈昃\n\n辰宿列张。 "
      "ひらがな、カタカナ "
      "한국어 문장\n ağız 'dan don't 12 a/b\n/c ";
  for (const Split split : {Split::Tekken, Split::Gpt2, Split::Llama3}) {
    for (const std::string& text : {small_corpus().substr(0, 5000), scripts}) {
      const std::vector<std::string> whole = pieces_of(split, text);
      for (size_t from = 1; from < text.size(); from += 1 + text.size() / 80) {
        const size_t cut = Splitter::safe_cut(text, from);
        ASSERT_GE(cut, from);
        std::vector<std::string> parts = pieces_of(split, text.substr(0, cut));
        for (const std::string& piece : pieces_of(split, text.substr(cut))) parts.push_back(piece);
        ASSERT_EQ(parts, whole) << from;
      }
    }
  }
}

TEST(Splitter, FindsAPlaceToCutInScriptsWithoutSpaces) {
  const std::string chinese = "天地玄黄宇宙洪荒。日月盈昃";
  EXPECT_EQ(Splitter::safe_cut(chinese, 1), std::string("天地玄黄宇宙洪荒").size());
  EXPECT_EQ(Splitter::safe_cut("abc\ndef", 1), 3u);
  EXPECT_EQ(Splitter::safe_cut("...\n...", 1), 7u);
}

TEST(Tokenizer, GivesBackAnyBytesWithEverySplit) {
  for (const Split split : {Split::Tekken, Split::Gpt2, Split::Llama3}) {
    const Tokenizer tokenizer = trained(split);
    for (const std::string& text : difficult_texts()) EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

TEST(Tokenizer, MergesAsTheRanksSayInShortAndLongPieces) {
  TokenizerParts parts;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    parts.tokens.emplace_back(1, static_cast<char>(byte));
    parts.byte_tokens[byte] = byte;
  }
  for (const char* token : {"bc", "ab", "abc", "abcabc"}) parts.tokens.emplace_back(token);
  parts.merges = {{'b', 'c', 256}, {'a', 'b', 257}, {'a', 256, 258}, {258, 258, 259}};
  const Tokenizer tokenizer(parts);
  EXPECT_EQ(tokenizer.encode("abc"), (std::vector<uint32_t>{258}));
  EXPECT_EQ(tokenizer.encode("abab"), (std::vector<uint32_t>{257, 257}));
  std::string piece;
  std::vector<uint32_t> expected;
  for (int i = 0; i < 500; ++i) {
    piece += "abcabc";
    expected.push_back(259);
  }
  piece += "ab";
  expected.push_back(257);
  EXPECT_EQ(tokenizer.encode(piece), expected);
}

TEST(Tokenizer, TreatsSpelledSpecialTokensAsTextUnlessAsked) {
  const Tokenizer tokenizer = trained();
  const uint32_t end = tokenizer.end_of_text();
  EXPECT_THAT(tokenizer.encode("a<|endoftext|>b"), ::testing::Not(::testing::Contains(end)));
  const std::vector<uint32_t> parsed = tokenizer.encode("a<|endoftext|>b<|endoftext|>", {.parse_special = true});
  EXPECT_EQ(std::count(parsed.begin(), parsed.end(), end), 2);
  EXPECT_EQ(tokenizer.decode(parsed), "a<|endoftext|>b<|endoftext|>");
}

TEST(Tokenizer, EncodesTheSameOnAnyNumberOfThreads) {
  const Tokenizer tokenizer = trained();
  std::string text;
  while (text.size() < (3u << 20)) text += small_corpus();
  const std::vector<uint32_t> one = tokenizer.encode(text);
  EXPECT_EQ(tokenizer.encode(text, {.threads = 4}), one);
  std::vector<std::vector<uint32_t>> results(4);
  {
    std::vector<std::jthread> threads;
    for (std::vector<uint32_t>& result : results) threads.emplace_back([&] { result = tokenizer.encode(text); });
  }
  for (const std::vector<uint32_t>& result : results) EXPECT_EQ(result, one);
}

// The sanitizers' own cost is not the tokenizer's; what takes quadratic time is above either.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kMostSeconds = 60;
#else
constexpr double kMostSeconds = 2;
#endif

TEST(Tokenizer, TakesMegabytesWithoutAPlaceToSplitInUnderTwoSeconds) {
  std::string letters, spaces, han, capitals, noise;
  std::mt19937 random(3);
  while (letters.size() < (1 << 20))
    letters += 'x', spaces += ' ', capitals += 'A', noise += static_cast<char>('a' + random() % 26);
  while (han.size() < (1 << 20)) han += "日";
  for (const Split split : {Split::Tekken, Split::Gpt2, Split::Llama3}) {
    for (const std::string& text : {letters, spaces, han, capitals, noise}) {
      Tokenizer tokenizer = trained();
      EXPECT_LT(seconds([&] { tokenizer = train_tokenizer({text}, {.vocab_size = 300, .split = split}); }),
                kMostSeconds);
      std::vector<uint32_t> tokens;
      EXPECT_LT(seconds([&] { tokens = tokenizer.encode(text); }), kMostSeconds);
      EXPECT_EQ(tokenizer.decode(tokens), text);
    }
  }
}

TEST(Tokenizer, WritesAFileThatItReadsBackTheSame) {
  for (const Split split : {Split::Tekken, Split::Gpt2, Split::Llama3}) {
    const Tokenizer first = trained(split);
    const Tokenizer second = Tokenizer::from_json(first.to_json(), "test");
    EXPECT_EQ(second.split(), split);
    EXPECT_EQ(second.vocab_size(), first.vocab_size());
    EXPECT_EQ(second.to_json(), first.to_json());
    for (const std::string& text : difficult_texts()) EXPECT_EQ(second.encode(text), first.encode(text));
  }
}

TEST(Tokenizer, ReadsMergesAsPairsAndByteLevelWithItsOwnExpression) {
  const Tokenizer first = trained(Split::Gpt2);
  nlohmann::json file = nlohmann::json::parse(first.to_json());
  file["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  for (nlohmann::json& merge : file["model"]["merges"]) {
    const auto text = merge.get<std::string>();
    const size_t space = text.find(' ');
    merge = {text.substr(0, space), text.substr(space + 1)};
  }
  const Tokenizer second = Tokenizer::from_json(file.dump(), "test");
  EXPECT_EQ(second.split(), Split::Gpt2);
  EXPECT_EQ(second.encode(small_corpus()), first.encode(small_corpus()));
}

TEST(Tokenizer, TakesWholePiecesFirstWhenMergesAreIgnored) {
  nlohmann::json file = nlohmann::json::parse(trained().to_json());
  file["model"]["vocab"]["zqj"] = 400;
  EXPECT_EQ(Tokenizer::from_json(file.dump(), "test").encode("zqj").size(), 3u);
  file["model"]["ignore_merges"] = true;
  EXPECT_EQ(Tokenizer::from_json(file.dump(), "test").encode("zqj"), (std::vector<uint32_t>{400}));
  EXPECT_GT(Tokenizer::from_json(file.dump(), "test").encode("<|endoftext|>").size(), 1u);
}

TEST(Tokenizer, FindsAddedTokensThatAreNotSpecialAlways) {
  nlohmann::json file = nlohmann::json::parse(trained().to_json());
  file["added_tokens"].push_back({{"id", 400}, {"content", "<tool>"}, {"special", false}});
  file["added_tokens"].push_back({{"id", 401}, {"content", "<tool>s"}, {"special", false}});
  const Tokenizer tokenizer = Tokenizer::from_json(file.dump(), "test");
  EXPECT_EQ(tokenizer.encode("<tool><tool>s"), (std::vector<uint32_t>{400, 401}));
}

TEST(Tokenizer, RefusesFilesThatItWouldNotEncodeExactly) {
  const nlohmann::json good = nlohmann::json::parse(trained().to_json());
  const auto refusal = [&](const std::function<void(nlohmann::json&)>& change) {
    nlohmann::json file = good;
    change(file);
    return error_of([&] { Tokenizer::from_json(file.dump(), "some/tokenizer.json"); });
  };
  using nlohmann::json;
  EXPECT_THAT(refusal([](json& f) { f["model"]["type"] = "Unigram"; }),
              HasSubstr("some/tokenizer.json: a model of type Unigram"));
  EXPECT_THAT(refusal([](json& f) { f["normalizer"] = {{"type", "NFKC"}}; }), HasSubstr("normalizer NFKC"));
  EXPECT_THAT(refusal([](json& f) { f["pre_tokenizer"] = {{"type", "Metaspace"}}; }),
              HasSubstr("pre-tokenizer Metaspace"));
  EXPECT_THAT(refusal([](json& f) { f["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "\\w+"; }),
              HasSubstr("splitting expression"));
  EXPECT_THAT(refusal([](json& f) { f.erase("pre_tokenizer"); }), HasSubstr("without pre-tokenizer"));
  EXPECT_THAT(refusal([](json& f) { f["model"]["dropout"] = 0.1; }), HasSubstr("dropout"));
  EXPECT_THAT(refusal([](json& f) { f["model"]["merges"][3] = "one two three"; }), HasSubstr("model.merges[3]"));
  EXPECT_THAT(refusal([](json& f) { f["model"]["merges"][3] = "qqq zzz"; }), HasSubstr("model.vocab lacks"));
  EXPECT_THAT(refusal([](json& f) { f["model"]["vocab"]["zqj"] = 4000000000u; }), HasSubstr("too large"));
  EXPECT_THAT(refusal([](json& f) { f["model"]["vocab"]["zqj"] = 5; }), HasSubstr("given twice"));
  EXPECT_THAT(refusal([](json& f) { f["model"]["vocab"]["zqj"] = -1; }), HasSubstr("not a whole number"));
  EXPECT_THAT(refusal([](json& f) { f["model"]["vocab"].erase("a"); }), HasSubstr("\"a\", which model.vocab lacks"));
  EXPECT_THAT(refusal([](json& f) { f["added_tokens"][0]["id"] = 7; }), HasSubstr("of another token"));
  EXPECT_THAT(refusal([](json& f) { f["added_tokens"][0]["lstrip"] = true; }), HasSubstr("lstrip"));
  EXPECT_THAT(refusal([](json& f) { f["model"] = json::array(); }), HasSubstr("model is not an object"));
}

TEST(Tokenizer, SurvivesFilesThatAreCutOrAltered) {
  const std::string good = train_tokenizer({small_corpus()}, {.vocab_size = 270}).to_json();
  for (size_t length = 0; length < good.size(); length += 61)
    EXPECT_THROW(Tokenizer::from_json(good.substr(0, length), "cut"), Error);
  for_each_garbled(good, [](const Garbled& garbled) {
    try {
      const Tokenizer tokenizer = Tokenizer::from_json(garbled.content, "altered");
      tokenizer.decode(tokenizer.encode(small_corpus().substr(0, 500)));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("altered")) << garbled.change;
    }
  });
  EXPECT_THROW(Tokenizer::from_json(std::string(1 << 20, '['), "deep"), Error);
  EXPECT_THROW(Tokenizer::load("/no/such/file.json"), Error);
}

TEST(Tokenizer, RefusesAnIdOutsideTheVocabulary) {
  const Tokenizer tokenizer = trained();
  EXPECT_THAT(error_of([&] { tokenizer.decode(std::vector<uint32_t>{400}); }),
              HasSubstr("token 400 is outside the vocabulary of 400"));
}

TEST(StreamDecoder, HoldsBackCharactersUntilTheyAreWhole) {
  const Tokenizer tokenizer = train_tokenizer({small_corpus()}, {.vocab_size = 258});
  const std::string text = "aé日👍🏽z";
  StreamDecoder decoder(tokenizer);
  std::string out;
  for (uint32_t id : tokenizer.encode(text)) {
    const std::string part = decoder.push(id);
    EXPECT_EQ(valid_utf8_prefix(part), part.size());
    out += part;
  }
  EXPECT_EQ(out + decoder.finish(), text);
}

TEST(StreamDecoder, ReplacesWhatCannotBecomeUtf8) {
  const Tokenizer tokenizer = train_tokenizer({small_corpus()}, {.vocab_size = 258});
  StreamDecoder decoder(tokenizer);
  std::string out;
  for (uint32_t id : tokenizer.encode("a\xff\xe6\x97")) out += decoder.push(id);
  EXPECT_EQ(out, "a\uFFFD");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.finish(), "");
}

TEST(TokenizerTraining, GivesTheByteSymbolsAndNeverMoreThanAsked) {
  for (const int64_t size : {258, 300, 777}) {
    const Tokenizer tokenizer = trained(Split::Tekken, size);
    EXPECT_EQ(tokenizer.vocab_size(), size);
    EXPECT_EQ(tokenizer.end_of_text(), 0u);
    EXPECT_EQ(tokenizer.token_bytes(1), "!");  // the first symbol by code point
    for (int byte = 0; byte < 256; ++byte) {
      EXPECT_EQ(tokenizer.token_bytes(tokenizer.parts().byte_tokens[byte]), std::string(1, static_cast<char>(byte)));
    }
  }
}

TEST(TokenizerTraining, BreaksTiesByTheSmallerIds) {
  // "xy", "ab" and "cd" are equally frequent; 'a' has the smallest id.
  const Tokenizer tokenizer =
      train_tokenizer({"xy 1 cd 2 ab 3 xy 4 cd 5 ab"}, {.vocab_size = 260, .split = Split::Gpt2});
  EXPECT_EQ(tokenizer.token_bytes(257), "ab");
  EXPECT_EQ(tokenizer.token_bytes(258), "cd");
}

TEST(TokenizerTraining, DoesNotDependOnThreadsOrOrder) {
  std::vector<std::string> texts{small_corpus(), small_corpus() + small_corpus(), "a few more words of another text"};
  const std::string one = train_tokenizer(texts, {.vocab_size = 600, .threads = 1}).to_json();
  std::reverse(texts.begin(), texts.end());
  EXPECT_EQ(train_tokenizer(texts, {.vocab_size = 600, .threads = 5}).to_json(), one);
}

TEST(TokenizerTraining, StopsEarlyOnASmallText) {
  const Tokenizer tokenizer = train_tokenizer({"to be or not to be"}, {.vocab_size = 5000});
  EXPECT_GT(tokenizer.vocab_size(), 257);
  EXPECT_LT(tokenizer.vocab_size(), 300);
}

TEST(TokenizerTraining, RefusesWhatCannotWork) {
  EXPECT_THAT(error_of([] { train_tokenizer({"text"}, {.vocab_size = 257}); }), HasSubstr("ask for at least 258"));
  EXPECT_THAT(error_of([] { train_tokenizer(std::vector<std::string>{}, {.vocab_size = 300}); }), HasSubstr("no text"));
  EXPECT_THAT(error_of([] { train_tokenizer({"text"}, {.vocab_size = 300, .special_tokens = {"<a>", "<a>"}}); }),
              HasSubstr("twice"));
  EXPECT_THAT(error_of([] { train_tokenizer({"text"}, {.vocab_size = 300, .special_tokens = {"a"}}); }),
              HasSubstr("symbol of a byte"));
  EXPECT_THAT(error_of([] { train_tokenizer({"text"}, {.vocab_size = -5}); }), HasSubstr("-5 is too small"));
  EXPECT_THAT(error_of([] { train_tokenizer({"text"}, {.vocab_size = 300, .min_frequency = -1}); }),
              HasSubstr("--min-frequency is -1; it must be at least 1"));
  EXPECT_THAT(error_of([] { train_tokenizer({"text"}, {.vocab_size = 300, .threads = -1}); }),
              HasSubstr("--threads is -1; it must lie between 0 (all) and 1024"));
  EXPECT_THAT(error_of([] { split_from_name("bert"); }), HasSubstr("no split named \"bert\""));
}

TEST(TokenizerTraining, NeverSpellsASpecialTokenByMerges) {
  const Tokenizer tokenizer = train_tokenizer(
      {small_corpus()}, {.vocab_size = 400, .split = Split::Gpt2, .special_tokens = {"<|endoftext|>", "king"}});
  EXPECT_THAT(tokenizer.encode("king"), ::testing::Not(::testing::Contains(*tokenizer.special("king"))));
  EXPECT_EQ(tokenizer.encode("king", {.parse_special = true}), (std::vector<uint32_t>{1}));
}

TEST(ByteAlphabet, StandsForEveryByteOnce) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string raw(1, static_cast<char>(byte));
    EXPECT_EQ(symbols_to_bytes(bytes_to_symbols(raw)), raw);
  }
  EXPECT_EQ(bytes_to_symbols(" a\n"), "ĠaĊ");
  EXPECT_FALSE(symbols_to_bytes("日").has_value());
}

TEST(Utf8, KnowsHowFarBytesAreValidAndWhatIsIncomplete) {
  EXPECT_EQ(valid_utf8_prefix("abcdefghij\xc3\xa9\xff"), 12u);
  EXPECT_EQ(valid_utf8_prefix("\xed\xa0\x80"), 0u);  // a surrogate
  EXPECT_EQ(valid_utf8_prefix("\xc0\x80"), 0u);      // overlong
  EXPECT_EQ(incomplete_utf8_tail("a\xf0\x9f\x91"), 3u);
  EXPECT_EQ(incomplete_utf8_tail("a\xf0\x9f\x91\x8d"), 0u);
  EXPECT_EQ(incomplete_utf8_tail("a\xff"), 0u);
  EXPECT_EQ(incomplete_utf8_tail("\xe0\x80"), 0u);  // nothing can complete it
}

}  // namespace
}  // namespace athanor::data
