#include "problem_json.h"

#include "shapes.h"

#include <algorithm>

namespace qkprof {
namespace {

constexpr std::array all_dtypes = {DataType::f32, DataType::bf16, DataType::f16};

Positions read_positions(const JsonObject& entry) {
    const JsonObject object = entry.object("positions");
    Positions positions;
    positions.type = enumerator(object, "type", std::array{PositionType::int32, PositionType::int64});
    positions.order = enumerator(object, "order",
                                 std::array{PositionOrder::ordered, PositionOrder::reversed, PositionOrder::scattered,
                                            PositionOrder::repeated, PositionOrder::listed});
    if (positions.order == PositionOrder::listed) {
        positions.distinct = object.count<std::int64_t>("distinct");
        positions.digest = object.whole<std::uint32_t>("digest");
    }
    return positions;
}

// What is absent is as in the first form.
void read_form(const JsonObject& entry, Problem& problem) {
    const auto read_count = [&](const char* key, std::int64_t& value) {
        value = entry.has(key) ? entry.count<std::int64_t>(key) : value;
    };
    const auto read_flag = [&](const char* key, bool& value) { value = entry.has(key) ? entry.flag(key) : value; };
    const auto read_word = [&](const char* key, auto& value, const auto& all) {
        value = entry.has(key) ? enumerator(entry, key, all) : value;
    };
    read_count("key_heads", problem.key_heads);
    read_word("layout", problem.layout, std::array{Layout::separate, Layout::packed});
    read_count("row_padding", problem.row_padding);
    read_flag("in_place", problem.in_place);
    read_word("pairing", problem.pairing, std::array{Pairing::half_split, Pairing::interleaved});
    read_count("rotary_dim", problem.rotary_dim);
    if (entry.has("positions")) {
        problem.positions = read_positions(entry);
    }
    read_count("context", problem.context);
    read_word("table_dtype", problem.table_dtype, all_dtypes);
    read_word("gamma_dtype", problem.gamma_dtype, all_dtypes);
    read_flag("gemma", problem.gemma);
    read_word("values", problem.values,
              std::array{Values::normal, Values::zeros, Values::largest, Values::smallest, Values::not_finite});
}

}  // namespace

void add_form(nlohmann::ordered_json& entry, const Problem& p) {
    const Problem standard;
    const auto add = [&](const char* name, const auto& value, const auto& usual) {
        if (value != usual) {
            entry[name] = value;
        }
    };
    const auto add_word = [&](const char* name, auto value, auto usual) {
        if (value != usual) {
            entry[name] = name_of(value);
        }
    };
    add("key_heads", p.key_heads, standard.key_heads);
    add_word("layout", p.layout, standard.layout);
    add("row_padding", p.row_padding, standard.row_padding);
    add("in_place", p.in_place, standard.in_place);
    add_word("pairing", p.pairing, standard.pairing);
    add("rotary_dim", p.rotary_dim, standard.rotary_dim);
    if (p.positions != standard.positions) {
        nlohmann::ordered_json& positions = entry["positions"];
        positions = {{"type", name_of(p.positions.type)}, {"order", name_of(p.positions.order)}};
        if (p.positions.order == PositionOrder::listed) {  // the ids are as many as the tokens: these tell them apart
            positions["distinct"] = p.positions.distinct;
            positions["digest"] = p.positions.digest;
        }
    }
    add("context", p.context, standard.context);
    add_word("table_dtype", p.table_dtype, standard.table_dtype);
    add_word("gamma_dtype", p.gamma_dtype, standard.gamma_dtype);
    add("gemma", p.gemma, standard.gemma);
    add_word("values", p.values, standard.values);
}

Problem read_problem(const JsonObject& entry) {
    Problem problem;
    problem.batch = entry.count<std::int64_t>("batch");
    problem.sequence = entry.count<std::int64_t>("sequence");
    problem.heads = entry.count<std::int64_t>("heads");
    problem.head_dim = entry.count<std::int64_t>("head_dim");
    problem.dtype = enumerator(entry, "dtype", all_dtypes);
    constexpr double largest_eps = 1000;  // as of --eps
    if (entry.amount("eps") > largest_eps) {
        throw entry.error("eps", "above 1000");
    }
    problem.eps = static_cast<float>(entry.number("eps"));
    problem.rotary_base = entry.number("rotary_base");
    if (problem.rotary_base < 1) {
        throw entry.error("rotary_base", "below 1");
    }
    problem.seed = entry.whole<std::uint64_t>("seed");
    problem.offset = entry.count<std::int64_t>("offset");
    constexpr std::int64_t largest_offset = std::int64_t{1} << 20U;  // as of --offset
    if (problem.offset > largest_offset) {
        throw entry.error("offset", "above 1048576");
    }
    read_form(entry, problem);
    if (!extents_fault(problem).empty()) {  // its products must not overflow
        throw entry.error("batch", "one of the extents of what is no problem of qkprof");
    }
    const Positions& positions = problem.positions;
    if (positions.order == PositionOrder::listed &&
        positions.distinct > std::min(problem.tokens(), problem.table_positions())) {
        throw entry.error("positions", "of more distinct positions than there are");
    }
    if (positions.order == PositionOrder::listed && positions.distinct == 0 && problem.tokens() > 0) {
        throw entry.error("positions", "of no distinct position, and there are tokens");
    }
    if (const std::string fault = problem.fault(); !fault.empty()) {
        throw InputError(fmt::format("{} is no problem of qkprof: {}.", entry.place(), fault));
    }
    return problem;
}

}  // namespace qkprof
