// A profiler as NVTX sees one, linked into the test: keeps every push and pop, so that a test proves which ranges a
// profiler from outside would find. Included by one source of a test.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <string>
#include <vector>

namespace qkprof {

// "+domain@name" for a push, "-domain" for a pop, in their order; a test empties it.
inline std::vector<std::string> nvtx_calls;

namespace nvtx_recorder {

// What a domain's handle points to; NVTX never asks what is in it.
struct Domain {
    std::string name;
};

inline const std::string& name_of(nvtxDomainHandle_t handle) { return reinterpret_cast<const Domain*>(handle)->name; }

inline nvtxDomainHandle_t NVTX_API create_domain(const char* name) {
    return reinterpret_cast<nvtxDomainHandle_t>(new Domain{name});  // lives as long as the program
}

inline int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    const char* name = event->messageType == NVTX_MESSAGE_TYPE_ASCII ? event->message.ascii : "(no text)";
    nvtx_calls.push_back("+" + name_of(domain) + "@" + name);
    return 0;
}

inline int NVTX_API pop(nvtxDomainHandle_t domain) {
    nvtx_calls.push_back("-" + name_of(domain));
    return 0;
}

// Puts the functions above into NVTX's table; 1 tells NVTX that there is a profiler.
inline int NVTX_API initialize(NvtxGetExportTableFunc_t get_export_table) {
    const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
    NvtxFunctionTable table = nullptr;
    unsigned int size = 0;
    if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0 ||
        size <= NVTX_CBID_CORE2_DomainCreateA) {
        return 0;
    }
    *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(create_domain);
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(push);
    *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(pop);
    return 1;
}

// NVTX looks here, when it is first used, for a profiler that is linked into the program.
inline const bool installed = [] {
    InitializeInjectionNvtx2_fnptr = initialize;
    return true;
}();

}  // namespace nvtx_recorder
}  // namespace qkprof
