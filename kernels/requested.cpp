#include "requested.h"

#include <algorithm>

namespace qkprof {
namespace {

// The sectors of one access.
class Sectors {
  public:
    void add(std::int64_t begin, std::int64_t bytes) {
        for (std::int64_t s = begin / bytes_of_sector; s * bytes_of_sector < begin + bytes; ++s) {
            numbers_.push_back(s);
        }
    }
    std::int64_t bytes() {
        std::sort(numbers_.begin(), numbers_.end());
        const auto end = std::unique(numbers_.begin(), numbers_.end());
        return (end - numbers_.begin()) * bytes_of_sector;
    }

  private:
    std::vector<std::int64_t> numbers_;
};

// Adds to `counts` where the heads of one tensor begin. Everything repeats after 16 tokens and after 16 heads: an
// element has at least 2 bytes.
void count_begins(const Problem& p, std::int64_t first, std::int64_t stride, std::int64_t heads,
                  std::array<std::int64_t, bytes_of_sector>& counts) {
    constexpr std::int64_t period = 16;
    const auto alike = [](std::int64_t count, std::int64_t i) { return divide_up(count - i, period); };
    for (std::int64_t token = 0; token < std::min(p.tokens(), period); ++token) {
        for (std::int64_t head = 0; head < std::min(heads, period); ++head) {
            const std::int64_t begin = (first + token * stride + head * p.head_dim) * p.element_bytes();
            counts.at(static_cast<std::size_t>(begin % bytes_of_sector)) +=
                alike(p.tokens(), token) * alike(heads, head);
        }
    }
}

// Rows until the next one of another token or of the other of q and k.
std::int64_t rows_alike(const Problem& p, std::int64_t row) {
    const std::int64_t head = row % p.all_heads();
    return (head < p.heads ? p.heads : p.all_heads()) - head;
}

// The distinct positions of an access's tokens.
void collect_positions(const Problem& p, const Access& access, std::vector<std::int64_t>& positions) {
    const std::int64_t first = access.first / p.all_heads();
    const std::int64_t last = (access.first + access.rows - 1) / p.all_heads();
    positions.clear();
    for (std::int64_t token = first; token <= last; ++token) {
        positions.push_back(p.position_of(token));
    }
    std::sort(positions.begin(), positions.end());
    positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
}

}  // namespace

std::int64_t requested_bytes(std::span<const Instruction> instructions, std::int64_t begin,
                             std::int64_t element_bytes) {
    std::int64_t bytes = 0;
    for (const Instruction& instruction : instructions) {
        Sectors sectors;
        for (const Elements& elements : instruction) {
            sectors.add(begin + elements.first * element_bytes, elements.count * element_bytes);
        }
        bytes += sectors.bytes();
    }
    return bytes;
}

std::array<std::int64_t, bytes_of_sector> rows_by_begin(const Problem& p) {
    std::array<std::int64_t, bytes_of_sector> counts = {};
    const std::int64_t first_key = p.layout == Layout::packed ? p.heads * p.head_dim : 0;
    count_begins(p, p.offset, p.q_stride(), p.heads, counts);
    count_begins(p, p.offset + first_key, p.k_stride(), p.key_heads, counts);
    return counts;
}

std::int64_t tensor_bytes_requested(const Problem& problem, std::span<const Instruction> instructions) {
    const auto counts = rows_by_begin(problem);
    std::int64_t bytes = 0;
    for (std::size_t begin = 0; begin < counts.size(); ++begin) {
        if (counts[begin] > 0) {
            bytes += counts[begin] *
                     requested_bytes(instructions, static_cast<std::int64_t>(begin), problem.element_bytes());
        }
    }
    return bytes;
}

void for_each_access(const Problem& p, std::int64_t rows_per_access, const std::function<void(const Access&)>& f) {
    const std::int64_t sequence_rows = p.sequence * p.all_heads();
    const bool batch_alike =
        p.positions.type == PositionType::implicit && sequence_rows > 0 && sequence_rows % rows_per_access == 0;
    const std::int64_t rows = batch_alike && p.batch > 0 ? sequence_rows : p.rows();
    const std::int64_t repeats = batch_alike ? p.batch : 1;
    for (std::int64_t row = 0; row < rows && repeats > 0;) {
        const std::int64_t times = rows_alike(p, row) / rows_per_access;
        const std::int64_t count = std::min(rows_per_access, rows - row);
        f({row, count, std::max<std::int64_t>(times, 1) * repeats});
        row += times > 0 ? times * rows_per_access : count;
    }
}

std::int64_t gammas_of(const Problem& p, const Access& access) {
    const std::int64_t first = access.first % p.all_heads();
    const std::int64_t last = first + access.rows - 1;
    const bool q = first < p.heads || (last >= p.all_heads() && p.heads > 0);
    const bool k = p.key_heads > 0 && last >= p.heads;
    return (q ? 1 : 0) + (k ? 1 : 0);
}

bool of_one_token(const Problem& p, const Access& access) {
    return access.first / p.all_heads() == (access.first + access.rows - 1) / p.all_heads();
}

TableRequests::TableRequests(const Problem& problem, std::vector<Instruction> instructions)
    : problem_(problem),
      instructions_(std::move(instructions)),
      whole_sectors_(problem.table_row_bytes() % bytes_of_sector == 0) {}

std::int64_t TableRequests::bytes_of(std::span<const std::int64_t> positions) const {
    const std::int64_t entry_bytes = qkprof::bytes_of(problem_.table_dtype);
    std::int64_t bytes = 0;
    for (const std::int64_t table : {std::int64_t{0}, problem_.table_bytes()}) {
        for (const Instruction& instruction : instructions_) {
            Sectors sectors;
            for (const std::int64_t position : positions) {
                for (const Elements& entries : instruction) {
                    sectors.add(table + position * problem_.table_row_bytes() + entries.first * entry_bytes,
                                entries.count * entry_bytes);
                }
            }
            bytes += sectors.bytes();
        }
    }
    return bytes;
}

std::int64_t TableRequests::position_bytes(std::int64_t position) {
    const std::int64_t begin = position * problem_.table_row_bytes() % bytes_of_sector;
    std::int64_t& known = known_.at(static_cast<std::size_t>(begin));
    if (known == 0) {
        known = bytes_of({&position, 1});
    }
    return known;
}

std::int64_t TableRequests::bytes(const Access& access) {
    const std::int64_t first = access.first / problem_.all_heads();
    const std::int64_t last = (access.first + access.rows - 1) / problem_.all_heads();
    const std::int64_t id_bytes = qkprof::bytes_of(problem_.positions.type);
    const std::int64_t ids = id_bytes == 0 ? 0 : sector_bytes(first * id_bytes, (last - first + 1) * id_bytes);
    if (first == last) {
        return ids + position_bytes(problem_.position_of(first));
    }
    collect_positions(problem_, access, positions_);
    return ids + (whole_sectors_ ? static_cast<std::int64_t>(positions_.size()) * position_bytes(positions_.front())
                                 : bytes_of(positions_));
}

std::int64_t TableRequests::bytes(std::int64_t rows_per_access) {
    std::int64_t sum = 0;
    for_each_access(problem_, rows_per_access, [&](const Access& access) { sum += access.times * bytes(access); });
    return sum;
}

std::int64_t gamma_bytes_requested(const Problem& problem, std::span<const Instruction> instructions,
                                   std::int64_t rows_per_access) {
    const std::int64_t one = requested_bytes(instructions, 0, bytes_of(problem.gamma_dtype));
    std::int64_t sum = 0;
    for_each_access(problem, rows_per_access,
                    [&](const Access& access) { sum += access.times * gammas_of(problem, access) * one; });
    return sum;
}

std::int64_t positions_touched(const Problem& problem, std::int64_t rows_per_access) {
    std::vector<std::int64_t> positions;
    std::int64_t sum = 0;
    for_each_access(problem, rows_per_access, [&](const Access& access) {
        collect_positions(problem, access, positions);
        sum += access.times * static_cast<std::int64_t>(positions.size());
    });
    return sum;
}

}  // namespace qkprof
