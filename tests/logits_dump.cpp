// For mlx_judge.py: the logits of every position of a prompt, as JSON.
// Usage: logits_dump MODEL_FOLDER ID... (on the CPU device)
#include "base/error.h"
#include "device/device.h"
#include "generate/model_source.h"
#include "tensor/ops.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace athanor;

/// (rows, V) on one line: [[...], ...]
std::string logits_json(const char* folder, const std::vector<uint32_t>& ids) {
  device::DeviceOptions options;
  options.name = "cpu";
  const std::unique_ptr<device::Device> device = device::open_device(options);
  device::Stream& stream = device->stream();
  const generate::LoadedModel loaded = generate::load_model(stream, generate::find_model(folder));
  const tensor::Context context{stream};
  const nn::Rows rows{1, static_cast<int64_t>(ids.size())};
  const tensor::Tensor hidden = loaded.model.hidden(context, ids, rows, loaded.model.causal_attention(rows));
  const std::vector<float> values = tensor::to_values(stream, loaded.model.logits(context, hidden));
  const size_t columns = static_cast<size_t>(loaded.model.config().vocab_size);
  nlohmann::json table = nlohmann::json::array();
  for (size_t row = 0; row < ids.size(); ++row) {
    table.push_back(std::vector<float>(values.begin() + static_cast<std::ptrdiff_t>(row * columns),
                                       values.begin() + static_cast<std::ptrdiff_t>((row + 1) * columns)));
  }
  return table.dump();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    check(argc >= 3, "logits_dump: pass a model folder and token ids");
    std::vector<uint32_t> ids;
    for (int i = 2; i < argc; ++i) ids.push_back(static_cast<uint32_t>(std::stoul(argv[i])));
    std::printf("%s\n", logits_json(argv[1], ids).c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
