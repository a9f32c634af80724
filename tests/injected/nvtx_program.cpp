// A program of NVTX ranges and no CUDA, for cuda_inject.cpp to run under the real injected library.
#include <nvtx3/nvToolsExt.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

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

void some_ranges() {
    for (int i = 0; i < 10; ++i) {
        nvtxRangePushA("after");
        nvtxRangePop();
    }
}

// A program may close whatever it did not open, and use the numbers: what is in its files then is its own.
bool files_are_left_alone() {
    constexpr int most = 4096;
    for (int descriptor = 3; descriptor < most; ++descriptor) {
        close(descriptor);
    }
    std::vector<int> files;
    for (int i = 0; i < 1000; ++i) {
        files.push_back(memfd_create("own", 0));
    }
    some_ranges();
    for (int i = 0; i < 10000; ++i) {
        some_ranges();
    }
    return std::all_of(files.begin(), files.end(), [](int file) { return lseek(file, 0, SEEK_END) == 0; });
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
    } else if (is("killed-child")) {
        nvtxRangePushA("before");
        nvtxRangePop();
        if (fork() == 0) {
            raise(SIGTERM);
        }
        wait(nullptr);
        some_ranges();
    } else if (is("close")) {
        nvtxRangePushA("before");
        nvtxRangePop();
        return files_are_left_alone() ? 0 : 1;
    } else if (is("leak")) {
        for (int i = 0; i < 200000; ++i) {
            nvtxRangePushA("leak");
        }
    }
    return 0;
}
