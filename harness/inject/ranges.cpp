// NVTX calls InitializeInjectionNvtx2 of the library that NVTX_INJECTION64_PATH names, once for each library of the
// process that uses NVTX, and from then on the functions that are entered here.
#include "ranges.h"

#include "channel.h"
#include "ending.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <iterator>
#include <string>
#include <unordered_map>
#include <vector>

namespace qkprof::inject {
namespace {

using exec::MessageKind;

struct Text {  // what a domain's or a string's handle stands for
    std::string text;
};

// Domains and registered strings, which live as long as the process.
template <class Handle>
Handle keep(std::string text) {
    static auto* const mutex = new std::mutex;
    static auto* const texts = new std::deque<Text>;
    const std::lock_guard lock(*mutex);
    return reinterpret_cast<Handle>(&texts->emplace_back(Text{std::move(text)}));
}

template <class Handle>
const std::string& text_of(Handle handle) {
    static const auto* const none = new std::string;
    return handle == nullptr ? *none : reinterpret_cast<const Text*>(handle)->text;
}

// Wide characters as UTF-8.
std::string narrow(const wchar_t* wide) {
    std::string text;
    for (; wide != nullptr && *wide != L'\0'; ++wide) {
        const char32_t c = static_cast<char32_t>(*wide);
        const auto put = [&](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
        const auto tail = [&](int shift) { put(0x80U | ((c >> shift) & 0x3FU)); };
        if (c < 0x80U) {
            put(c);
        } else if (c < 0x800U) {
            put(0xC0U | (c >> 6U));
            tail(0);
        } else if (c < 0x10000U) {
            put(0xE0U | (c >> 12U));
            tail(6);
            tail(0);
        } else {
            put(0xF0U | ((c >> 18U) & 0x7U));
            tail(12);
            tail(6);
            tail(0);
        }
    }
    return text;
}

std::string message_of(const nvtxEventAttributes_t* attributes) {
    if (attributes == nullptr) {
        return {};
    }
    switch (static_cast<nvtxMessageType_t>(attributes->messageType)) {
        case NVTX_MESSAGE_TYPE_ASCII:
            return attributes->message.ascii == nullptr ? "" : attributes->message.ascii;
        case NVTX_MESSAGE_TYPE_UNICODE:
            return narrow(attributes->message.unicode);
        case NVTX_MESSAGE_TYPE_REGISTERED:
            return text_of(attributes->message.registered);
        default:
            return {};
    }
}

struct Open {
    nvtxDomainHandle_t domain = nullptr;
    std::uint64_t range = 0;
};

// The open ranges of a thread. What is pushed beyond the deepest is of no row at the other end, and only counted.
struct ThreadRanges {
    std::vector<Open> open;
    std::unordered_map<nvtxDomainHandle_t, int> levels;  // of each domain: what NVTX answers
    std::uint64_t beyond = 0;
    int generation = 0;
};
constexpr std::size_t deepest = 1024;

// Those of a process before a fork are not this one's.
ThreadRanges& ranges() {
    thread_local ThreadRanges of_thread;
    if (of_thread.generation != Channel::instance().generation()) {
        of_thread = ThreadRanges();
        of_thread.generation = Channel::instance().generation();
    }
    return of_thread;
}

int push(nvtxDomainHandle_t domain, const std::string& name) {
    static std::atomic<std::uint64_t> last = 0;
    ThreadRanges& mine = ranges();
    const int level = mine.levels[domain]++;
    if (mine.open.size() >= deepest) {
        ++mine.beyond;
        return level;
    }
    exec::Push message;
    message.range = ++last;
    message.parent = open_range();
    message.thread = thread_number();
    mine.open.push_back({domain, message.range});
    Channel::Sending channel(Channel::instance());
    message.domain = domain == nullptr ? 0 : channel.name(text_of(domain));
    message.name = channel.name(name);
    message.time = now();
    channel.send(MessageKind::push, message);
    return level;
}

int pop(nvtxDomainHandle_t domain) {
    ThreadRanges& mine = ranges();
    int& level = mine.levels[domain];
    if (level == 0) {
        return -1;  // NVTX: there is none to pop
    }
    --level;
    if (mine.beyond > 0) {
        --mine.beyond;
        return level;
    }
    const auto range =
        std::find_if(mine.open.rbegin(), mine.open.rend(), [&](const Open& one) { return one.domain == domain; });
    if (range != mine.open.rend()) {
        exec::Pop message;
        message.time = now();
        message.range = range->range;
        mine.open.erase(std::next(range).base());
        Channel::Sending(Channel::instance()).send(MessageKind::pop, message);
    }
    return level;
}

int NVTX_API push_ascii(const char* name) { return push(nullptr, name == nullptr ? "" : name); }
int NVTX_API push_wide(const wchar_t* name) { return push(nullptr, narrow(name)); }
int NVTX_API push_event(const nvtxEventAttributes_t* event) { return push(nullptr, message_of(event)); }
int NVTX_API pop_default() { return pop(nullptr); }
int NVTX_API push_in_domain(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
    return push(domain, message_of(event));
}
int NVTX_API pop_in_domain(nvtxDomainHandle_t domain) { return pop(domain); }
nvtxDomainHandle_t NVTX_API domain_ascii(const char* name) {
    return keep<nvtxDomainHandle_t>(name == nullptr ? "" : name);
}
nvtxDomainHandle_t NVTX_API domain_wide(const wchar_t* name) { return keep<nvtxDomainHandle_t>(narrow(name)); }
nvtxStringHandle_t NVTX_API string_ascii(nvtxDomainHandle_t, const char* text) {
    return keep<nvtxStringHandle_t>(text == nullptr ? "" : text);
}
nvtxStringHandle_t NVTX_API string_wide(nvtxDomainHandle_t, const wchar_t* text) {
    return keep<nvtxStringHandle_t>(narrow(text));
}

class Table {
  public:
    Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
        if (callbacks.GetModuleFunctionTable(module, &functions_, &size_) == 0) {
            size_ = 0;
        }
    }
    template <class Function>
    Table& operator()(int id, Function* function) {
        if (static_cast<unsigned>(id) < size_) {
            *functions_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
        }
        return *this;
    }

  private:
    NvtxFunctionTable functions_ = nullptr;
    unsigned size_ = 0;
};

}  // namespace

std::uint64_t open_range() { return ranges().open.empty() ? 0 : ranges().open.back().range; }

}  // namespace qkprof::inject

// NVTX's own name.  NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    using namespace qkprof::inject;
    const auto* const callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
    if (callbacks == nullptr) {
        return 0;
    }
    watch_the_end();
    Table(*callbacks, NVTX_CB_MODULE_CORE)(NVTX_CBID_CORE_RangePushA, push_ascii)(NVTX_CBID_CORE_RangePushW, push_wide)(
        NVTX_CBID_CORE_RangePushEx, push_event)(NVTX_CBID_CORE_RangePop, pop_default);
    Table(*callbacks, NVTX_CB_MODULE_CORE2)(NVTX_CBID_CORE2_DomainCreateA, domain_ascii)(
        NVTX_CBID_CORE2_DomainCreateW, domain_wide)(NVTX_CBID_CORE2_DomainRangePushEx, push_in_domain)(
        NVTX_CBID_CORE2_DomainRangePop, pop_in_domain)(NVTX_CBID_CORE2_DomainRegisterStringA, string_ascii)(
        NVTX_CBID_CORE2_DomainRegisterStringW, string_wide);
    return 1;
}
