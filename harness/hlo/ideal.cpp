#include "ideal.h"

#include "opcodes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace qkprof::hlo {
namespace {

using Bytes = std::optional<std::int64_t>;

Bytes sum(Bytes a, Bytes b) {
    return a && b && *a <= std::numeric_limits<std::int64_t>::max() - *b ? Bytes(*a + *b) : Bytes();
}

// The entry computation's values: what is read of each, and whether it is a result.
class Values {
  public:
    explicit Values(const Promise& promise)
        : entry_(promise.module->entry_computation()),
          rows_(entry_.instructions.size()),
          read_(rows_.size(), 0),
          result_(rows_.size()) {
        for (const Row& row : promise.rows) {
            if (row.in == &entry_) {
                rows_[static_cast<std::size_t>(row.instruction - entry_.instructions.data())] = &row;
            }
        }
        result_[entry_.root] = true;
        for (std::size_t i = rows_.size(); i-- > 0;) {
            for (std::size_t number = 0; number < entry_.instructions[i].operands.size(); ++number) {
                pass(i, number);
            }
        }
    }

    Bytes read_of_parameters() const {
        Bytes all = 0;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (entry_.instructions[i].opcode == "parameter") {
                all = sum(all, read_[i]);
            }
        }
        return all;
    }
    // By who writes them; what is a parameter as well is not written.
    Bytes written_of_results() const {
        Bytes all = 0;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            if (!result_[i] || is_free(entry_.instructions[i])) {
                continue;
            }
            const bool leaf = rows_[i] != nullptr && rows_[i]->verdict.kind != Class::control &&
                              rows_[i]->verdict.kind != Class::nothing;
            all = sum(all, leaf ? rows_[i]->traffic.written : bytes_of(entry_.instructions[i].shape));
        }
        return all;
    }
    bool is_result(const Instruction& instruction) const {
        return result_[static_cast<std::size_t>(&instruction - entry_.instructions.data())];
    }

  private:
    void pass(std::size_t user, std::size_t number) {
        const Instruction& by = entry_.instructions[user];
        const std::size_t operand = by.operands[number];
        const Bytes whole = bytes_of(entry_.instructions[operand].shape);
        if (by.opcode == "tuple" || by.opcode == "get-tuple-element" || by.opcode == "bitcast" ||
            opcode_of(by.opcode) == Opcode::completion) {
            result_[operand] = result_[operand] || result_[user];
        }
        const Row* row = rows_[user];
        const bool leaf = row != nullptr && number < row->traffic.operands.size();
        const Bytes bytes = by.opcode == "bitcast" ? read_[user]
                            : leaf                 ? row->traffic.operands[number]
                            : by.opcode == "tuple" ? (read_[user] == Bytes(0) ? Bytes(0) : whole)
                            : is_free(by)          ? read_[user]
                                                   : whole;
        const Bytes all = sum(read_[operand], bytes);
        read_[operand] = all && whole ? Bytes(std::min(*all, *whole)) : whole;
    }

    const Computation& entry_;
    std::vector<const Row*> rows_;
    std::vector<Bytes> read_;
    std::vector<bool> result_;
};

// Whether the instruction's value is the computation's result, or a part of it.
bool is_yielded(const Computation& in, const Instruction& instruction,
                std::map<const Computation*, std::set<const Instruction*>>& known) {
    const auto [found, added] = known.try_emplace(&in);
    if (added) {
        std::vector<const Instruction*> open = {&in.instructions[in.root]};
        while (!open.empty()) {
            const Instruction* value = open.back();
            open.pop_back();
            if (found->second.insert(value).second && is_free(*value)) {
                for (const std::size_t operand : value->operands) {
                    open.push_back(&in.instructions[operand]);
                }
            }
        }
    }
    return found->second.contains(&instruction);
}

}  // namespace

std::optional<std::int64_t> ideal_bytes(const Promise& promise) {
    const Values values(promise);
    return sum(values.read_of_parameters(), values.written_of_results());
}

std::vector<Intermediate> intermediates(const Promise& promise) {
    const Values values(promise);
    const Computation& entry = promise.module->entry_computation();
    std::map<const Computation*, std::set<const Instruction*>> yielded;
    std::vector<const Row*> runs;  // the rows that run what follows, by depth
    std::vector<Intermediate> all;
    for (const Row& row : promise.rows) {
        runs.resize(std::min(runs.size(), row.depth));
        const bool leaf = row.verdict.kind != Class::control && row.verdict.kind != Class::nothing;
        // What a branch or a call yields is what its caller yields; of a loop it goes from turn to turn.
        bool result = row.in == &entry ? values.is_result(*row.instruction) : !runs.empty();
        for (std::size_t i = 0; result && i < runs.size(); ++i) {
            const bool loop = runs[i]->instruction->opcode == "while";
            result = !loop && (runs[i]->in == &entry ? values.is_result(*runs[i]->instruction)
                                                     : is_yielded(*runs[i]->in, *runs[i]->instruction, yielded));
        }
        result = result && (row.in == &entry || is_yielded(*row.in, *row.instruction, yielded));
        if (leaf && !result && row.traffic.written.value_or(0) > 0) {
            all.push_back({&row, *row.traffic.written});
        }
        if (row.verdict.kind == Class::control) {
            runs.push_back(&row);
        }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Intermediate& a, const Intermediate& b) { return a.bytes > b.bytes; });
    return all;
}

}  // namespace qkprof::hlo
