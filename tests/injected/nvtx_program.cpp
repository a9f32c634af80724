// A program of NVTX ranges and no CUDA, for cuda_inject.cpp to run under the real injected library.
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

namespace {

nvtxEventAttributes_t event() {
    nvtxEventAttributes_t attributes = {};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return attributes;
}

// "outer" and, in it, "inner" of domain "first" twice, popped in the order in which they were not pushed.
void nested() {
    const nvtxDomainHandle_t domain = nvtxDomainCreateA("first");
    nvtxEventAttributes_t inner = event();
    inner.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    inner.message.registered = nvtxDomainRegisterStringA(domain, "inner");
    nvtxRangePushA("outer");
    nvtxDomainRangePushEx(domain, &inner);
    nvtxDomainRangePop(domain);
    nvtxDomainRangePushEx(domain, &inner);
    nvtxRangePop();
    nvtxDomainRangePop(domain);
    nvtxDomainRangePop(domain);  // there is none
}

void wide() {
    nvtxRangePushW(L"caf\u00e9 \U0001F680");
    nvtxRangePop();
}

}  // namespace

int main(int count, char** words) {
    const char* how = count > 1 ? words[1] : "nested";
    const auto is = [&](const char* name) { return std::strcmp(how, name) == 0; };
    if (is("nested")) {
        nested();
    } else if (is("wide")) {
        wide();
    } else if (is("threads")) {
        nvtxRangePushA("main");
        std::thread(nested).join();  // not in "main": that is of another thread
        nvtxRangePop();
    } else if (is("fork")) {
        nvtxRangePushA("before");
        if (fork() == 0) {
            nested();  // not in "before": that is of another process
            _exit(0);
        }
        wait(nullptr);
        nvtxRangePop();
    }
    return 0;
}
