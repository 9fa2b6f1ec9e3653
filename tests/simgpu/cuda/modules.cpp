// SPDX-License-Identifier: Apache-2.0
//
// Loading of modules.
//
// Context:  application threads
// Promises: see modules.hpp
// Not here: kernel figures (core/work/fatbin.cpp)
#include "cuda/modules.hpp"

#include <elf.h>

#include <cstdio>
#include <cstring>

#include <cuda.h>

#include "core/driver.hpp"
#include "core/handles.hpp"
#include "core/hooks.hpp"
#include "core/memory/memory.hpp"

namespace gpusim {
namespace {

/// Where an image does not say how large a variable is.
constexpr std::size_t kUnknownVariableBytes = 4096;

template <typename T>
T copy_of(const unsigned char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

/// Names and sizes of the data objects of one symbol table.
void read_symbols(const unsigned char* image, const Elf64_Shdr& table, const Elf64_Shdr& names,
                  std::unordered_map<std::string, std::size_t>& out) {
  for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = copy_of<Elf64_Sym>(image + table.sh_offset + at);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_name >= names.sh_size) continue;
    out[reinterpret_cast<const char*>(image + names.sh_offset + symbol.st_name)] = symbol.st_size;
  }
}

void read_objects(const void* start, std::unordered_map<std::string, std::size_t>& out) {
  const auto* image = static_cast<const unsigned char*>(start);
  if (std::strncmp(static_cast<const char*>(start), ELFMAG, SELFMAG) != 0) return;
  const auto header = copy_of<Elf64_Ehdr>(image);
  const auto section = [&](std::size_t i) {
    return copy_of<Elf64_Shdr>(image + header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr)) return;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    if (s.sh_type == SHT_SYMTAB && s.sh_link < header.e_shnum)
      read_symbols(image, s, section(s.sh_link), out);
  }
}

const DeviceModel& model_for(const Context* context) {
  return context != nullptr ? context->device->model : device_model(config().model);
}

}  // namespace

Module* load_image(Context* context, const void* image) {
  auto* m = new Module;
  m->context = context;
  m->image = new ModuleImage;
  const DeviceModel& model = model_for(context);
  m->image->figures = read_figures(image, model.cc_major * 10 + model.cc_minor);
  read_objects(image, m->image->objects);
  if (const ToolHooks* h = hooks())
    h->resource({.id = ResourceId::kModuleLoaded, .context = context});
  return m;
}

int load_file(Context* context, const char* path, Module** module) {
  if (path == nullptr || module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Not a C++ stream: those bring static objects with destructors into the library.
  std::FILE* file = std::fopen(path, "rbe");
  if (file == nullptr) return CUDA_ERROR_FILE_NOT_FOUND;
  std::string image;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, file)) > 0;) image.append(part, n);
  std::fclose(file);
  *module = load_image(context, image.c_str());
  return CUDA_SUCCESS;
}

void unload(Module* module) {
  if (const ToolHooks* h = hooks())
    h->resource({.id = ResourceId::kModuleUnloadStarting, .context = module->context});
  for (Function* f : module->functions) f->magic = kDead;
  for (const auto& [name, variable] : module->image->variables) release(variable.address);
  delete module->image;
  module->image = nullptr;
  module->magic = kDead;
}

int find_kernel(Module* module, const char* name, Function** function) {
  if (!live(module) || module->image == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (function == nullptr || name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
  const FigureTable& figures = module->image->figures;
  if (!figures.empty() && figures.find(name) == figures.end()) return CUDA_ERROR_NOT_FOUND;
  const std::lock_guard<std::mutex> lock(module->image->mutex);
  for (Function* known : module->functions)
    if (std::strcmp(known->name, name) == 0) {
      *function = known;
      return CUDA_SUCCESS;
    }
  *function = create_function(module, name, &figures);
  module->functions.push_back(*function);
  return CUDA_SUCCESS;
}

int find_variable(Module* module, const char* name, ModuleVariable* variable) {
  if (!live(module) || module->image == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
  Context* c = module->context != nullptr ? module->context : current_context();
  if (c == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  ModuleImage& image = *module->image;
  const std::lock_guard<std::mutex> lock(image.mutex);
  if (const auto known = image.variables.find(name); known != image.variables.end()) {
    *variable = known->second;
    return CUDA_SUCCESS;
  }
  const auto object = image.objects.find(name);
  if (!image.figures.empty() && object == image.objects.end()) return CUDA_ERROR_NOT_FOUND;
  ModuleVariable made{0, object != image.objects.end() && object->second > 0
                             ? object->second
                             : kUnknownVariableBytes};
  const int result = allocate(c, kDeviceMemory, made.bytes, &made.address);
  if (result != CUDA_SUCCESS) return result;
  image.variables[name] = made;
  *variable = made;
  return CUDA_SUCCESS;
}

int function_attribute(const Function& f, int attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return f.max_threads;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(f.static_smem);
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      return static_cast<int>(f.local_bytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return f.registers;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return f.architecture != 0 ? f.architecture : 80;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return f.max_dynamic_smem;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return -1;
    default:
      return 0;
  }
}

int set_function_attribute(Function& f, int attribute, int value) {
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_SUCCESS;
  const Context* c = current_context();
  const int largest = model_for(c).smem_per_block_optin - static_cast<int>(f.static_smem);
  if (value < 0 || value > largest) return CUDA_ERROR_INVALID_VALUE;
  f.max_dynamic_smem = value;
  return CUDA_SUCCESS;
}

}  // namespace gpusim
