// Finds the adapters of a WebGPU library. webgpu.h can only ask for "the best" under a few wishes, so that several wishes are
// made and the answers joined; wgpu-native's own list is used where it is offered.
#include "device/webgpu/dawn_toggles.h"
#include "device/webgpu/gpu.h"

#include "base/log.h"

#include <algorithm>
#include <chrono>

namespace athanor::device::webgpu {

namespace {

struct Answer {
  bool there = false;
  WGPUAdapter adapter = nullptr;
  std::string message;
};

Answer request_adapter(const Api& api, WGPUInstance instance, WGPUPowerPreference preference, bool fallback,
                       DawnToggles& toggles) {
  Answer answer;
  WGPURequestAdapterOptions wish = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
  wish.nextInChain = toggles.chain_for(api);
  wish.featureLevel = WGPUFeatureLevel_Core;
  wish.powerPreference = preference;
  wish.forceFallbackAdapter = fallback ? WGPU_TRUE : WGPU_FALSE;
  WGPURequestAdapterCallbackInfo then = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
  then.mode = WGPUCallbackMode_AllowProcessEvents;
  then.userdata1 = &answer;
  then.callback = [](WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView message, void* to, void*) {
    auto* result = static_cast<Answer*>(to);
    result->there = true;
    if (status == WGPURequestAdapterStatus_Success) result->adapter = adapter;
    result->message = to_string(message);
  };
  api.InstanceRequestAdapter(instance, &wish, then);
  while (!answer.there) {
    api.InstanceProcessEvents(instance);
    if (!answer.there) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return answer;
}

bool can_compute(WGPUBackendType backend) {
  return backend == WGPUBackendType_Vulkan || backend == WGPUBackendType_Metal || backend == WGPUBackendType_D3D12;
}

bool read_info(Adapter& found) {
  WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
  if (found.api->AdapterGetInfo(found.adapter.get(), &info) != WGPUStatus_Success) return false;
  found.name = to_string(info.device);
  found.driver = to_string(info.description);
  if (found.name.empty()) std::swap(found.name, found.driver);
  if (found.name.empty()) found.name = to_string(info.vendor) + " " + to_string(info.architecture);
  found.backend = info.backendType;
  found.type = info.adapterType;
  found.vendor_id = info.vendorID;
  found.device_id = info.deviceID;
  found.api->AdapterInfoFreeMembers(info);
  return can_compute(found.backend);
}

int rank(const Adapter& adapter) {
  switch (adapter.type) {
    case WGPUAdapterType_DiscreteGPU:
      return 0;
    case WGPUAdapterType_IntegratedGPU:
      return 1;
    case WGPUAdapterType_CPU:
      return 3;
    default:
      return 2;
  }
}

/// Two wishes often give the same adapter; two equal cards are told apart only by a library that lists its adapters.
bool same(const Adapter& a, const Adapter& b) {
  return a.vendor_id == b.vendor_id && a.device_id == b.device_id && a.backend == b.backend && a.type == b.type &&
         a.name == b.name;
}

}  // namespace

std::vector<Adapter> find_adapters(const std::filesystem::path& library, const DeviceOptions& options,
                                   std::string& why_none) {
  auto api = std::make_shared<const Api>(load_api(SharedLibrary(library)));
  DawnToggles toggles(options.checked);
  WGPUInstanceDescriptor description = WGPU_INSTANCE_DESCRIPTOR_INIT;
  description.nextInChain = toggles.chain_for(*api);
  auto instance = std::make_shared<Owned<WGPUInstance>>(api->CreateInstance(&description), api->InstanceRelease);
  if (!*instance) {
    why_none = "it gave no instance";
    return {};
  }

  std::vector<Adapter> found;
  const auto add = [&](WGPUAdapter handle, bool may_repeat) {
    Adapter adapter;
    adapter.api = api;
    adapter.instance = instance;
    adapter.adapter = Owned<WGPUAdapter>(handle, api->AdapterRelease);
    if (!read_info(adapter)) return;
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const Adapter& other) { return same(other, adapter); });
    if (may_repeat || !known) found.push_back(std::move(adapter));
  };
  if (api->InstanceEnumerateAdapters != nullptr) {
    WGPUInstanceEnumerateAdapterOptions which{nullptr, WGPUInstanceBackend_Primary};
    std::vector<WGPUAdapter> handles(api->InstanceEnumerateAdapters(instance->get(), &which, nullptr));
    if (!handles.empty()) api->InstanceEnumerateAdapters(instance->get(), &which, handles.data());
    for (WGPUAdapter handle : handles) add(handle, true);
  } else {
    for (const bool fallback : {false, true}) {
      for (const WGPUPowerPreference preference : {WGPUPowerPreference_HighPerformance, WGPUPowerPreference_LowPower}) {
        const Answer answer = request_adapter(*api, instance->get(), preference, fallback, toggles);
        if (answer.adapter != nullptr) {
          add(answer.adapter, false);
        } else if (why_none.empty()) {
          why_none = answer.message;
        }
      }
    }
  }
  if (found.empty() && why_none.empty()) why_none = "it has no adapter";
  std::stable_sort(found.begin(), found.end(), [](const Adapter& a, const Adapter& b) { return rank(a) < rank(b); });
  return found;
}

}  // namespace athanor::device::webgpu
