#include "buffers.h"

#include "error.h"
#include "input_file.h"
#include "results.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace qkprof::hlo {
namespace {

using Kind = Allocation::Kind;

class Reader {
  public:
    Reader(std::string_view text, const std::string& source) : text_(text), source_(source) {}

    Buffers read() {
        Buffers buffers;
        if (next_line() != "BufferAssignment:") {
            fail("it does not begin with BufferAssignment:");
        }
        while (!text_.empty()) {
            std::string_view line = next_line();
            line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
            if (line.starts_with("allocation ")) {
                buffers.allocations.push_back(allocation(line));
            } else if (line.starts_with("value: <") && !buffers.allocations.empty()) {
                buffers.allocations.back().values.push_back(value(line));
            } else if (line.empty() && !buffers.allocations.empty()) {
                break;  // what follows repeats it in other forms
            }
        }
        if (buffers.allocations.empty()) {
            fail("it holds no allocation: the text is cut short");
        }
        return buffers;
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        throw InputError(
            fmt::format("{}, line {}: {}. It is to be a buffer assignment, as --xla_dump_to writes it "
                        "(*-buffer-assignment.txt).",
                        source_, line_, what));
    }
    std::string_view next_line() {
        const std::size_t end = std::min(text_.find('\n'), text_.size());
        std::string_view line = text_.substr(0, end);
        text_.remove_prefix(std::min(end + 1, text_.size()));
        ++line_;
        line.remove_suffix(line.ends_with('\r') ? 1 : 0);
        return line;
    }
    // The whole number that follows the word.
    std::int64_t number_after(std::string_view line, std::string_view word) const {
        const std::size_t at = line.find(word);
        std::int64_t number = -1;
        if (at != std::string_view::npos) {
            const char* start = line.data() + at + word.size();
            std::from_chars(start, line.data() + line.size(), number);
        }
        if (number < 0) {
            fail(fmt::format("no number follows '{}'", word));
        }
        return number;
    }
    Allocation allocation(std::string_view line) const {
        Allocation all;
        all.number = number_after(line, "allocation ");
        all.bytes = number_after(line, "size ");
        const auto holds = [&](std::string_view word) { return line.find(word) != std::string_view::npos; };
        all.kind = holds(", parameter ")        ? Kind::parameter
                   : holds("maybe-live-out")    ? Kind::output
                   : holds("preallocated-temp") ? Kind::temporary
                   : holds(", constant")        ? Kind::constant
                   : holds("thread-local")      ? Kind::thread_local_memory
                                                : Kind::other;
        return all;
    }
    // "value: <15 loop_fusion{1} @0> (size=4,offset=0): f32[]"
    BufferValue value(std::string_view line) const {
        BufferValue value;
        value.bytes = number_after(line, "(size=");
        const std::size_t start = line.find(' ', line.find('<'));
        const std::size_t end = line.find(" @", std::min(start, line.size()));
        if (start == std::string_view::npos || end == std::string_view::npos || end <= start) {
            fail("a value has no name");
        }
        std::string_view name = line.substr(start + 1, end - start - 1);
        name = name.substr(0, name.find(' '));  // without "(phi)"
        const std::size_t brace = std::min(name.find('{'), name.size());
        value.instruction = name.substr(0, brace);
        value.index = name.substr(brace);
        const std::size_t colon = line.find("): ", end);
        value.shape = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 3);
        return value;
    }

    std::string_view text_;
    const std::string& source_;
    std::size_t line_ = 0;
};

std::int64_t sum(std::int64_t a, std::int64_t b) {
    return a > std::numeric_limits<std::int64_t>::max() - b ? std::numeric_limits<std::int64_t>::max() : a + b;
}

std::string size_text(std::int64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

}  // namespace

std::int64_t Buffers::total() const {
    std::int64_t all = 0;
    for (const Allocation& allocation : allocations) {
        all = sum(all, allocation.kind == Kind::thread_local_memory ? 0 : allocation.bytes);
    }
    return all;
}

std::int64_t Buffers::total(Kind kind) const {
    std::int64_t all = 0;
    for (const Allocation& allocation : allocations) {
        all = sum(all, allocation.kind == kind ? allocation.bytes : 0);
    }
    return all;
}

std::vector<BufferValue> Buffers::temporaries() const {
    std::vector<BufferValue> all;
    for (const Allocation& allocation : allocations) {
        if (allocation.kind == Kind::temporary) {
            all.insert(all.end(), allocation.values.begin(), allocation.values.end());
        }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const BufferValue& a, const BufferValue& b) { return a.bytes > b.bytes; });
    return all;
}

Buffers parse_buffers(std::string_view text, const std::string& source) { return Reader(text, source).read(); }

Buffers read_buffers(const std::filesystem::path& path) {
    return parse_buffers(read_input_file(path, "buffer assignment", largest_buffers), path.string());
}

std::vector<std::string> sentences_of(const Buffers& buffers) {
    constexpr std::size_t few = 5;
    std::vector<std::string> all;
    all.push_back(fmt::format("It takes {} of memory: parameters {}, results {}, temporaries {}, constants {}.",
                              size_text(buffers.total()), size_text(buffers.total(Kind::parameter)),
                              size_text(buffers.total(Kind::output)), size_text(buffers.total(Kind::temporary)),
                              size_text(buffers.total(Kind::constant))));
    std::vector<std::string> parts;
    for (const BufferValue& value : buffers.temporaries()) {
        if (parts.size() < few) {
            parts.push_back(fmt::format("{}{} {}", printable(value.instruction, 60), printable(value.index, 20),
                                        size_text(value.bytes)));
        }
    }
    if (!parts.empty()) {
        all.push_back(fmt::format("The largest values in temporary memory: {}.", fmt::join(parts, ", ")));
    }
    return all;
}

}  // namespace qkprof::hlo
