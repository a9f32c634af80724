#include "problem_options.h"

#include "error.h"
#include "input_file.h"
#include "names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <system_error>

namespace qkprof {
namespace {

constexpr std::array all_dtypes = {DataType::f32, DataType::bf16, DataType::f16};

template <class T>
Setting set(T Problem::*member, T value) {
    return [member, value](Problem& problem) { problem.*member = value; };
}

double parse_number(const std::string& text, const char* option, double least) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < least) {
        throw InputError(fmt::format("{} '{}' is not a number of at least {}.", option, text, least));
    }
    return value;
}

// The enumerator that the word names.
template <class E, std::size_t N>
E parse_word(std::string_view word, const char* option, const std::array<E, N>& all) {
    std::vector<std::string> names(N);
    std::transform(all.begin(), all.end(), names.begin(), [](E value) { return name_of(value); });
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) {
        throw InputError(fmt::format("{}: there is no '{}'; there are {}.", option, word, joined(names)));
    }
    return all.at(static_cast<std::size_t>(found - names.begin()));
}

Setting parse_seed(const std::string& text, const char* option) {
    return set(&Problem::seed,
               static_cast<std::uint64_t>(parse_integer(text, option, 0, std::numeric_limits<long long>::max())));
}

Setting parse_eps(const std::string& text, const char* option) {
    const auto eps = static_cast<float>(parse_number(text, option, 0));
    constexpr float largest = 1000;  // beyond, the results of 16-bit types are lost among their smallest numbers
    if (eps > largest) {
        throw InputError(fmt::format("{} '{}' is over {}.", option, text, largest));
    }
    return set(&Problem::eps, eps);
}

Setting parse_rotary_base(const std::string& text, const char* option) {
    return set(&Problem::rotary_base, parse_number(text, option, 1));
}

Setting parse_gap(const std::string& text, const char* option, std::int64_t Problem::*member) {
    constexpr long long largest = 1 << 20;
    return set(member, static_cast<std::int64_t>(parse_integer(text, option, 0, largest)));
}
Setting parse_offset(const std::string& text, const char* option) { return parse_gap(text, option, &Problem::offset); }
Setting parse_row_padding(const std::string& text, const char* option) {
    return parse_gap(text, option, &Problem::row_padding);
}

Setting parse_layout(const std::string& text, const char* option) {
    return set(&Problem::layout, parse_word(text, option, std::array{Layout::separate, Layout::packed}));
}

Setting parse_pairing(const std::string& text, const char* option) {
    return set(&Problem::pairing, parse_word(text, option, std::array{Pairing::half_split, Pairing::interleaved}));
}

// All of the head dim is no other problem, however it was said.
Setting parse_rotary_dim(const std::string& text, const char* option) {
    const std::int64_t dim = parse_integer(text, option, 2, std::numeric_limits<long long>::max());
    return [dim](Problem& problem) { problem.rotary_dim = dim == problem.head_dim ? 0 : dim; };
}

Setting parse_context(const std::string& text, const char* option) {
    return set(&Problem::context, static_cast<std::int64_t>(parse_integer(text, option, 1, max_rows)));
}

Setting parse_dtype(const std::string& text, const char* option, DataType Problem::*member) {
    if (text == "storage") {
        return [member](Problem& problem) { problem.*member = problem.dtype; };
    }
    const auto found =
        std::find_if(all_dtypes.begin(), all_dtypes.end(), [&](DataType dtype) { return text == name_of(dtype); });
    if (found == all_dtypes.end()) {
        throw InputError(
            fmt::format("{}: there is no '{}'; there are f32, storage (that of q), bf16 and f16.", option, text));
    }
    return set(member, *found);
}
Setting parse_table_dtype(const std::string& text, const char* option) {
    return parse_dtype(text, option, &Problem::table_dtype);
}
Setting parse_gamma_dtype(const std::string& text, const char* option) {
    return parse_dtype(text, option, &Problem::gamma_dtype);
}

Setting parse_values(const std::string& text, const char* option) {
    return set(&Problem::values, parse_word(text, option,
                                            std::array{Values::normal, Values::zeros, Values::largest, Values::smallest,
                                                       Values::not_finite}));
}

// Whole numbers with white space or commas between them, one for each token.
std::vector<std::int64_t> read_positions(const std::string& path, const char* option) {
    constexpr std::uintmax_t largest = std::uintmax_t{1} << 28U;
    const std::string text = read_input_file(path, "list of positions", largest);
    const auto between = [](char c) { return c == ',' || std::isspace(static_cast<unsigned char>(c)) != 0; };
    std::vector<std::int64_t> ids;
    std::int64_t line = 1;
    for (auto at = text.begin(); at != text.end();) {
        if (between(*at)) {
            line += *at == '\n' ? 1 : 0;
            ++at;
            continue;
        }
        const auto end = std::find_if(at, text.end(), between);
        // It may be anything, and no number is another one afterwards: what is cut or escaped is none.
        constexpr std::size_t longest_word = 40;
        ids.push_back(parse_integer(printable(std::string_view(&*at, static_cast<std::size_t>(end - at)), longest_word),
                                    fmt::format("{}: {}, line {}: the position", option, path, line),
                                    std::numeric_limits<std::int64_t>::min(),
                                    std::numeric_limits<std::int64_t>::max()));
        at = end;
    }
    if (ids.empty()) {
        throw InputError(fmt::format("{}: '{}' holds no position.", option, path));
    }
    return ids;
}

// implicit, or the type of a list and behind a colon how it is ordered.
Setting parse_positions(const std::string& text, const char* option) {
    const std::size_t colon = std::min(text.find(':'), text.size());
    const auto type = parse_word(std::string_view(text).substr(0, colon), option,
                                 std::array{PositionType::implicit, PositionType::int32, PositionType::int64});
    if (colon == text.size()) {
        return set(&Problem::positions, Positions{.type = type});
    }
    if (type == PositionType::implicit) {
        throw InputError(
            fmt::format("{} '{}': implicit positions are those in the sequence and have no order; write "
                        "int32 or int64 for a list.",
                        option, text));
    }
    const std::string order = text.substr(colon + 1);
    if (order.starts_with('@')) {
        return set(&Problem::positions, listed_positions(type, read_positions(order.substr(1), option)));
    }
    constexpr std::array made_up = {PositionOrder::ordered, PositionOrder::reversed, PositionOrder::scattered,
                                    PositionOrder::repeated};
    const auto found =
        std::find_if(made_up.begin(), made_up.end(), [&](PositionOrder known) { return order == name_of(known); });
    if (found == made_up.end()) {
        throw InputError(
            fmt::format("{}: there is no order '{}'; there are ordered, reversed, scattered, repeated and "
                        "@FILE.",
                        option, order));
    }
    return set(&Problem::positions, Positions{.type = type, .order = *found});
}

constexpr std::array options_with_text = {
    ProblemOption{"--seed", &ProblemOptions::seed, "N", "of the random inputs; 1", parse_seed},
    ProblemOption{"--eps", &ProblemOptions::eps, "X", "added to the mean square; 1e-6 or the model's", parse_eps},
    ProblemOption{"--rotary-base", &ProblemOptions::rotary_base, "X",
                  "theta_i = base^(-2i/rotary dim); 10000 or the model's", parse_rotary_base},
    ProblemOption{"--offset", &ProblemOptions::offset, "N",
                  "the tensors begin so many elements after a 256-byte boundary; 0", parse_offset},
    ProblemOption{"--layout", &ProblemOptions::layout, "LAYOUT",
                  "separate tensors of query and key, or packed rows of query, key and value; separate", parse_layout},
    ProblemOption{"--row-padding", &ProblemOptions::row_padding, "N",
                  "elements between a token's heads and the next token's; 0", parse_row_padding},
    ProblemOption{"--pairing", &ProblemOptions::pairing, "PAIRING",
                  "which elements rotate together: half-split or interleaved; half-split or the model's",
                  parse_pairing},
    ProblemOption{"--rotary-dim", &ProblemOptions::rotary_dim, "N",
                  "how many elements of a head rotate, from the first; all or the model's", parse_rotary_dim},
    ProblemOption{"--positions", &ProblemOptions::positions, "POSITIONS",
                  "implicit (in the sequence), or a list of int32 or int64, such as int64:scattered; also ordered, "
                  "reversed, repeated, and @FILE with a whole number for each token; implicit",
                  parse_positions},
    ProblemOption{"--context", &ProblemOptions::context, "N",
                  "positions of the tables; as many as the sequence has or the model's", parse_context},
    ProblemOption{"--table-dtype", &ProblemOptions::table_dtype, "TYPE",
                  "of cos and sin: f32, or storage, that of q; f32", parse_table_dtype},
    ProblemOption{"--gamma-dtype", &ProblemOptions::gamma_dtype, "TYPE", "of the norm's weight: f32, or storage; f32",
                  parse_gamma_dtype},
    ProblemOption{"--values", &ProblemOptions::values, "VALUES",
                  "what query and key hold: normal, zeros, largest, smallest, not-finite; normal", parse_values}};

constexpr std::array flags = {
    ProblemFlag{"--in-place", &ProblemOptions::in_place, "the results take the place of query and key",
                &Problem::in_place},
    ProblemFlag{"--gemma", &ProblemOptions::gemma, "1 + gamma instead of gamma", &Problem::gemma}};

}  // namespace

std::span<const ProblemOption> problem_options() { return options_with_text; }

std::span<const ProblemFlag> problem_flags() { return flags; }

std::vector<Setting> parse(const ProblemOptions& options) {
    std::vector<Setting> settings;
    for (const ProblemOption& option : options_with_text) {
        if (const std::string& text = options.*option.value; !text.empty()) {
            settings.push_back(option.parse(text, option.name));
        }
    }
    for (const ProblemFlag& flag : flags) {
        if (options.*flag.value) {
            settings.push_back(set(flag.member, true));
        }
    }
    return settings;
}

ProblemOptions options_of(const Problem& p, const ProblemOptions& typed) {
    const Problem standard;
    // Nothing where the problem holds what it does without the option.
    const auto word = [](auto value, auto in_standard) { return value == in_standard ? "" : name_of(value); };
    const auto number = [](auto value, auto in_standard) {
        return value == in_standard ? std::string() : fmt::format("{}", value);
    };
    ProblemOptions options;
    options.seed = number(p.seed, standard.seed);
    options.eps = number(p.eps, standard.eps);
    options.rotary_base = number(p.rotary_base, standard.rotary_base);
    options.offset = number(p.offset, standard.offset);
    options.layout = word(p.layout, standard.layout);
    options.row_padding = number(p.row_padding, standard.row_padding);
    options.pairing = word(p.pairing, standard.pairing);
    options.rotary_dim = number(p.rotary_dim, standard.rotary_dim);
    if (p.positions.order == PositionOrder::listed) {
        options.positions = typed.positions;
    } else if (p.positions.type != PositionType::implicit) {
        options.positions = fmt::format("{}:{}", name_of(p.positions.type), name_of(p.positions.order));
    }
    options.context = number(p.context, standard.context);
    options.table_dtype = word(p.table_dtype, standard.table_dtype);
    options.gamma_dtype = word(p.gamma_dtype, standard.gamma_dtype);
    options.values = word(p.values, standard.values);
    options.in_place = p.in_place;
    options.gemma = p.gemma;
    return options;
}

std::string text_of(const ProblemOptions& options) {
    std::string text;
    for (const ProblemOption& option : options_with_text) {
        if (const std::string& value = options.*option.value; !value.empty()) {
            text += fmt::format(" {} {}", option.name, quoted(value));
        }
    }
    for (const ProblemFlag& flag : flags) {
        text += options.*flag.value ? fmt::format(" {}", flag.name) : "";
    }
    return text;
}

std::string quoted(const std::string& word) {
    constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./,:=@";
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) {
        return word;
    }
    std::string quoted = "'";
    for (const char letter : word) {
        quoted += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    }
    return quoted + "'";
}

}  // namespace qkprof
