// A library of two functions for programs that cannot include NVTX's headers, such as Python's by ctypes: push/pop
// ranges in qkprof's own domain, as the program names those of its variants (harness/range_name.h).
#include <nvtx3/nvToolsExt.h>

namespace {

nvtxDomainHandle_t domain() {
    static const nvtxDomainHandle_t handle = nvtxDomainCreateA("qkprof");
    return handle;
}

}  // namespace

extern "C" void qkprof_push(const char* name) {
    nvtxEventAttributes_t attributes = {};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx(domain(), &attributes);
}

extern "C" void qkprof_pop() { nvtxDomainRangePop(domain()); }
