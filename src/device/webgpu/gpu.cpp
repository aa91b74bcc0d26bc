// Opens the logical device and keeps what its callbacks say.
#include "device/webgpu/gpu.h"

#include "base/host.h"
#include "device/device_lost.h"
#include "device/webgpu/dawn_toggles.h"

#include <array>
#include <chrono>
#include <sstream>

namespace athanor::device::webgpu {

void Incidents::store_error(std::string text) {
  const std::lock_guard guard(lock_);
  if (error_.empty()) error_ = std::move(text);  // the first one is the cause, later ones follow from it
  any_ = true;
}

void Incidents::store_loss(std::string text) {
  const std::lock_guard guard(lock_);
  if (!lost_) loss_ = std::move(text);
  lost_ = true;
  any_ = true;
}

std::string Incidents::loss() const {
  const std::lock_guard guard(lock_);
  return loss_;
}

std::string Incidents::take_error() {
  const std::lock_guard guard(lock_);
  return std::exchange(error_, {});
}

namespace {

std::string to_text(std::thread::id id) {
  std::ostringstream text;
  text << id;
  return text.str();
}

void on_error(WGPUDevice const*, WGPUErrorType, WGPUStringView message, void* incidents, void*) {
  static_cast<Incidents*>(incidents)->store_error(to_string(message));
}

void on_lost(WGPUDevice const*, WGPUDeviceLostReason, WGPUStringView message, void* incidents, void*) {
  static_cast<Incidents*>(incidents)->store_loss(to_string(message));
}

struct DeviceAnswer {
  bool there = false;
  WGPUDevice device = nullptr;
  std::string message;
};

/// Dawn's answer to how much memory the adapter has. Its number and layout as in Dawn's own webgpu.h.
struct DawnMemoryHeaps {
  struct Heap {
    uint64_t properties;
    uint64_t size;
  };
  WGPUChainedStruct chain{nullptr, static_cast<WGPUSType>(0x00050013)};
  size_t count = 0;
  const Heap* heaps = nullptr;
};
constexpr auto kDawnFeatureMemoryHeaps = static_cast<WGPUFeatureName>(0x00050014);
constexpr uint64_t kHeapIsDeviceLocal = 1;

/// Likewise, for chromium_experimental_subgroup_matrix.
struct DawnSubgroupMatrixConfigs {
  struct Config {
    uint32_t component;  // 1: f32, 2: f16
    uint32_t result_component;
    uint32_t m;
    uint32_t n;
    uint32_t k;
  };
  WGPUChainedStruct chain{nullptr, static_cast<WGPUSType>(0x0005003B)};
  size_t count = 0;
  const Config* configs = nullptr;
};
constexpr auto kDawnFeatureSubgroupMatrix = static_cast<WGPUFeatureName>(0x00050034);

SubgroupMatrix::Component component_of(uint32_t dawn) {
  if (dawn == 1) return SubgroupMatrix::Component::F32;
  return dawn == 2 ? SubgroupMatrix::Component::F16 : SubgroupMatrix::Component::Other;
}

}  // namespace

Gpu::Gpu(Adapter adapter, const DeviceOptions& options) : adapter_(std::move(adapter)), checked_(options.checked) {
  request_device(options);
  queue_ = Owned<WGPUQueue>(api().DeviceGetQueue(device()), api().QueueRelease);
  check(api().DeviceGetLimits(device(), &limits_) == WGPUStatus_Success, "{}: the device does not tell its limits",
        adapter_.name);
  fill_info(options);
}

Gpu::~Gpu() { close(); }

void Gpu::request_device(const DeviceOptions& options) {
  std::vector<WGPUFeatureName> features;
  const auto use = [&](WGPUFeatureName feature, const char* name) {
    if (api().AdapterHasFeature(adapter_.adapter.get(), feature) == WGPU_FALSE) return false;
    features.push_back(feature);
    if (info_.features.empty() || info_.features.back() != name) info_.features.emplace_back(name);
    return true;
  };
  has_f16_ = options.use_f16 && use(WGPUFeatureName_ShaderF16, "shader-f16");
  has_subgroups_ = options.use_subgroups && use(WGPUFeatureName_Subgroups, "subgroups");
  if (!api().is_dawn && options.use_subgroups)
    has_subgroups_ |= use(static_cast<WGPUFeatureName>(WGPUNativeFeature_Subgroup), "subgroups");
  has_timestamps_ = use(WGPUFeatureName_TimestampQuery, "timestamp-query");
  if (api().is_dawn && has_f16_ && has_subgroups_ && use(kDawnFeatureSubgroupMatrix, "subgroup-matrix"))
    subgroup_matrices_ = adapter_subgroup_matrices();

  WGPULimits wanted = WGPU_LIMITS_INIT;
  check(api().AdapterGetLimits(adapter_.adapter.get(), &wanted) == WGPUStatus_Success,
        "{}: the adapter does not tell its limits", adapter_.name);
  DawnToggles toggles(options.checked);
  WGPUDeviceDescriptor description = WGPU_DEVICE_DESCRIPTOR_INIT;
  description.nextInChain = toggles.chain_for(api());
  description.label = view("athanor");
  description.requiredFeatureCount = features.size();
  description.requiredFeatures = features.data();
  description.requiredLimits = options.default_limits ? nullptr : &wanted;
  description.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
  description.deviceLostCallbackInfo.callback = on_lost;
  description.deviceLostCallbackInfo.userdata1 = incidents_.get();
  description.uncapturedErrorCallbackInfo.callback = on_error;
  description.uncapturedErrorCallbackInfo.userdata1 = incidents_.get();

  DeviceAnswer answer;
  WGPURequestDeviceCallbackInfo then = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
  then.mode = WGPUCallbackMode_AllowProcessEvents;
  then.userdata1 = &answer;
  then.callback = [](WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void* to, void*) {
    auto* result = static_cast<DeviceAnswer*>(to);
    result->there = true;
    if (status == WGPURequestDeviceStatus_Success) result->device = device;
    result->message = to_string(message);
  };
  api().AdapterRequestDevice(adapter_.adapter.get(), &description, then);
  while (!answer.there) {
    api().InstanceProcessEvents(adapter_.instance->get());
    if (!answer.there) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  check(answer.device != nullptr,
        "{} through {}: the adapter gives no device: {}; update its driver or use --device cpu", adapter_.name,
        api().path, answer.message);
  device_ = Owned<WGPUDevice>(answer.device, api().DeviceRelease);
}

int64_t Gpu::adapter_memory_bytes() const {
  if (!api().is_dawn || api().AdapterHasFeature(adapter_.adapter.get(), kDawnFeatureMemoryHeaps) == WGPU_FALSE)
    return 0;
  DawnMemoryHeaps heaps;
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  info.nextInChain = &heaps.chain;
  int64_t largest = 0;
  if (api().AdapterGetInfo(adapter_.adapter.get(), &info) == WGPUStatus_Success) {
    for (size_t i = 0; heaps.heaps != nullptr && i < heaps.count; ++i) {
      if ((heaps.heaps[i].properties & kHeapIsDeviceLocal) != 0)
        largest = std::max(largest, static_cast<int64_t>(heaps.heaps[i].size));
    }
    api().AdapterInfoFreeMembers(info);
  }
  return largest;
}

std::vector<SubgroupMatrix> Gpu::adapter_subgroup_matrices() const {
  DawnSubgroupMatrixConfigs found;
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  info.nextInChain = &found.chain;
  std::vector<SubgroupMatrix> matrices;
  if (api().AdapterGetInfo(adapter_.adapter.get(), &info) != WGPUStatus_Success) return matrices;
  const uint32_t subgroup_size = info.subgroupMinSize == info.subgroupMaxSize ? info.subgroupMinSize : 0;
  for (size_t i = 0; found.configs != nullptr && i < found.count; ++i) {
    const DawnSubgroupMatrixConfigs::Config& config = found.configs[i];
    matrices.push_back({component_of(config.component), component_of(config.result_component), config.m, config.n,
                        config.k, subgroup_size});
  }
  api().AdapterInfoFreeMembers(info);
  return matrices;
}

void Gpu::fill_info(const DeviceOptions& options) {
  info_.backend = Backend::WebGpu;
  info_.name = adapter_.name;
  info_.driver = adapter_.driver;
  info_.library = api().path;
  info_.is_software = adapter_.is_software();
  info_.max_buffer_bytes = static_cast<int64_t>(limits_.maxBufferSize);
  info_.max_binding_bytes = static_cast<int64_t>(limits_.maxStorageBufferBindingSize);
  info_.workgroup_memory_bytes = limits_.maxComputeWorkgroupStorageSize;
  info_.max_threads_per_workgroup = limits_.maxComputeInvocationsPerWorkgroup;
  // Integrated and software adapters share the host's memory. A software one kills the process when it gets too much of it,
  // so a quarter is left to the rest.
  const int64_t shared = total_memory_bytes() / 4 * 3;
  if (options.memory_bytes > 0) {
    info_.memory_bytes = options.memory_bytes;
  } else if (adapter_.is_software()) {
    info_.memory_bytes = shared;
  } else {
    info_.memory_bytes = adapter_memory_bytes();
    if (info_.memory_bytes == 0 && adapter_.type == WGPUAdapterType_IntegratedGPU) info_.memory_bytes = shared;
  }
  // A chunk of the head adds to the embedding's whole gradient, so few large ones are better where there is room: with 137.8 M weights on
  // an H200 chunks of 64 MiB took 10 ms of a step's 143 more than they should. In steps, so that GPUs of one kind do the same.
  constexpr int64_t kGiB = int64_t{1} << 30;
  if (!info_.is_software && info_.memory_bytes >= 32 * kGiB)
    info_.chunk_bytes *= info_.memory_bytes >= 64 * kGiB ? 4 : 2;
}

void Gpu::check_thread(const char* call) const {
  const std::thread::id here = std::this_thread::get_id();
  if (here == owner_) return;
  fail(
      "{}: called from thread {}, but the device belongs to thread {} that opened it; open another device for this "
      "thread",
      call, to_text(here), to_text(owner_));
}

void Gpu::throw_if_lost() {
  if (!incidents_->is_lost()) return;
  throw DeviceLost(fmt::format(
      "device lost: {} through {}: {}; open the device again, with smaller batches if its driver resets long work",
      adapter_.name, api().path, incidents_->loss()));
}

void Gpu::check_alive(std::string_view doing) {
  if (!incidents_->any()) return;
  throw_if_lost();
  const std::string error = incidents_->take_error();
  if (error.empty()) return;
  fail(
      "webgpu: {}: {} reported: {}; this is a fault of a kernel or a driver, so run athanor doctor, with --checked for "
      "the place",
      doing, adapter_.name, error);
}

void Gpu::poll() {
  if (api().DevicePoll != nullptr) {
    api().DevicePoll(device(), WGPU_FALSE, nullptr);
  } else {
    api().InstanceProcessEvents(adapter_.instance->get());
  }
}

void Gpu::rest(int rounds) const {
  // A hardware adapter answers within tens of microseconds and its driver's threads need little of the CPU; a software one
  // computes on the very cores that would spin here.
  if (!info_.is_software && rounds < 2000) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(rounds < 200 ? 20 : 200));
  }
}

namespace {

struct ScopeAnswer {
  bool there = false;
  std::string message;
};

// wgpu-native ends the process when it is asked for internal errors; they come as uncaptured ones in both libraries.
constexpr std::array kFilters = {WGPUErrorFilter_OutOfMemory, WGPUErrorFilter_Validation};

}  // namespace

void Gpu::push_error_scopes() {
  for (const WGPUErrorFilter filter : kFilters) api().DevicePushErrorScope(device(), filter);
}

std::string Gpu::pop_error_scopes() {
  std::array<ScopeAnswer, kFilters.size()> answers;
  for (ScopeAnswer& answer : answers) {
    WGPUPopErrorScopeCallbackInfo then = WGPU_POP_ERROR_SCOPE_CALLBACK_INFO_INIT;
    then.mode = WGPUCallbackMode_AllowProcessEvents;
    then.userdata1 = &answer;
    then.callback = [](WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message, void* to, void*) {
      auto* result = static_cast<ScopeAnswer*>(to);
      result->there = true;
      if (status != WGPUPopErrorScopeStatus_Success || type != WGPUErrorType_NoError)
        result->message = to_string(message);
    };
    api().DevicePopErrorScope(device(), then);
  }
  std::string joined;
  for (int rounds = 0; !(answers[0].there && answers[1].there); ++rounds) {
    poll();
    rest(rounds);
  }
  throw_if_lost();
  for (const ScopeAnswer& answer : answers) {
    if (!answer.message.empty()) joined += (joined.empty() ? "" : "; ") + answer.message;
  }
  return joined.empty() ? incidents_->take_error() : joined;
}

void Gpu::lose() {
  api().DeviceDestroy(device());
  poll();
  incidents_->store_loss("destroyed on purpose");  // when the library's own callback has not spoken yet
}

void Gpu::close() {
  if (!device_) return;
  queue_.reset();
  api().DeviceDestroy(device());
  poll();
  device_.reset();
  adapter_.adapter.reset();
  adapter_.instance.reset();
}

}  // namespace athanor::device::webgpu
