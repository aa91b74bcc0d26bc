// A Vulkan driver for tests: Mesa's RADV without a GPU (RADV_FORCE_FAMILY), which compiles shaders for any AMD GPU but cannot record or
// submit. Every call that would do so is answered with success and does nothing, so that a WebGPU implementation can open the device
// and make pipelines. $ATHANOR_NULL_GPU_DRIVER names RADV's library. The loader's interface:
// https://github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void (*Function)(void);
typedef Function (*GetFunction)(void* object, const char* name);

static void* driver;
static GetFunction driver_instance_function;
static GetFunction driver_physical_device_function;
static GetFunction driver_device_function;

static void load_driver(void) {
  if (driver) return;
  const char* path = getenv("ATHANOR_NULL_GPU_DRIVER");
  driver = dlopen(path ? path : "libvulkan_radeon.so", RTLD_NOW);
  if (!driver) {
    fprintf(stderr, "null_gpu: %s\n", dlerror());
    abort();
  }
  driver_instance_function = (GetFunction)dlsym(driver, "vk_icdGetInstanceProcAddr");
  driver_physical_device_function = (GetFunction)dlsym(driver, "vk_icdGetPhysicalDeviceProcAddr");
}

static int success(void) { return 0; }

// The driver's function, or one that does nothing.
static Function or_nothing(const char* name, Function function) {
  static const char* const kNothing[] = {
      "vkBeginCommandBuffer", "vkEndCommandBuffer", "vkResetCommandBuffer", "vkResetCommandPool", "vkFreeCommandBuffers",
      "vkDestroyCommandPool", "vkQueueSubmit",      "vkQueueSubmit2",       "vkQueueWaitIdle",    "vkDeviceWaitIdle",
      "vkWaitForFences",      "vkGetFenceStatus",   "vkResetFences",
  };
  if (!function) return function;
  if (strncmp(name, "vkCmd", 5) == 0) return (Function)success;
  for (size_t i = 0; i < sizeof kNothing / sizeof *kNothing; ++i) {
    if (strcmp(name, kNothing[i]) == 0) return (Function)success;
  }
  return function;
}

static Function device_function(void* device, const char* name) {
  return or_nothing(name, driver_device_function(device, name));
}

Function vk_icdGetInstanceProcAddr(void* instance, const char* name) {
  load_driver();
  Function function = driver_instance_function(instance, name);
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
    driver_device_function = (GetFunction)function;
    return (Function)device_function;
  }
  return or_nothing(name, function);
}

Function vk_icdGetPhysicalDeviceProcAddr(void* instance, const char* name) {
  load_driver();
  return driver_physical_device_function(instance, name);
}

int vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t* version) {
  load_driver();
  return ((int (*)(uint32_t*))dlsym(driver, "vk_icdNegotiateLoaderICDInterfaceVersion"))(version);
}
