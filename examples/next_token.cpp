// Loads a Hugging Face model folder and prints the five tokens that are likeliest after a text.
// Run: next_token FOLDER TEXT [DEVICE].
#include <athanor/device/device.h>
#include <athanor/generate/model_source.h>
#include <athanor/tensor/ops.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <numeric>

using namespace athanor;

namespace {

int run(const char* folder, const char* text, const char* device_name) {
  device::DeviceOptions options;
  options.name = device_name;
  const std::unique_ptr<device::Device> device = device::open_device(options);
  device::Stream& stream = device->stream();
  const generate::LoadedModel loaded = generate::load_model(stream, generate::find_model(folder));

  std::vector<uint32_t> ids = loaded.leading_tokens;
  for (const uint32_t id : loaded.tokenizer.encode(text)) ids.push_back(id);
  const tensor::Context context{stream, nullptr};  // no tape: nothing is kept for gradients
  const nn::Rows rows{1, static_cast<int64_t>(ids.size())};
  const tensor::Tensor hidden = loaded.model.hidden(context, ids, rows, loaded.model.causal_attention(rows));
  const tensor::Tensor chances = tensor::softmax(context, loaded.model.logits(context, hidden));

  const std::vector<float> all = tensor::to_values(stream, chances);
  const size_t vocabulary = static_cast<size_t>(loaded.model.config().vocab_size);
  const float* last = all.data() + all.size() - vocabulary;
  std::vector<uint32_t> order(vocabulary);
  std::iota(order.begin(), order.end(), 0U);
  const size_t shown = std::min<size_t>(5, vocabulary);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](uint32_t a, uint32_t b) { return last[a] > last[b]; });
  for (size_t i = 0; i < shown; ++i) {
    const std::string token = loaded.tokenizer.decode({&order[i], 1});
    std::printf("%6.2f%%  \"%s\"\n", 100.0 * static_cast<double>(last[order[i]]), token.c_str());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: next_token FOLDER TEXT [DEVICE]\n");
    return 2;
  }
  try {
    return run(argv[1], argv[2], argc > 3 ? argv[3] : "auto");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
