#include "CSimdjson.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include <simdjson.h>

// A node is simdjson's own two-word reference, passed through C.
static_assert(sizeof(simdjson::dom::element) == sizeof(sb_node));
static_assert(std::is_trivially_copyable<simdjson::dom::element>::value);
// A cursor holds simdjson's iterators in the same way.
static_assert(sizeof(simdjson::dom::array::iterator) == sizeof(sb_cursor::here));
static_assert(std::is_trivially_copyable<simdjson::dom::array::iterator>::value);

struct sb_json {
    // Limit of a recording's line and of a frame; no caller passes a larger document.
    simdjson::dom::parser parser{256u << 20};
    std::string compact;
    const char *fault = "";
    bool was_too_deep = false;
};

static constexpr size_t small_document = 1u << 20;

static simdjson::dom::element element(sb_node node) {
    simdjson::dom::element element;
    std::memcpy(static_cast<void *>(&element), &node, sizeof node);
    return element;
}

static sb_node node(simdjson::dom::element element) {
    sb_node node;
    std::memcpy(&node, static_cast<const void *>(&element), sizeof node);
    return node;
}

// JSON.stringify writes three things that simdjson refuses: half of a surrogate pair, an integer of more than 64 bits, and values
// that nest without limit. The model chooses them, so such a frame is parsed from a mended copy.
namespace {

// Below simdjson's limit of 1,024 levels, counted from the outermost value of the frame.
constexpr size_t folded_depth = 512;

struct Mending {
    const char *const start;
    const size_t count;
    const bool folds;
    std::string text;
    size_t at = 0;

    Mending(const char *start, size_t count, bool folds) : start(start), count(count), folds(folds) {}

    // The code unit of an escape, or -1 if there is none.
    int unit(size_t place) const {
        if (place + 6 > count || start[place] != '\\' || start[place + 1] != 'u') return -1;
        int value = 0;
        for (size_t index = place + 2; index < place + 6; ++index) {
            const char digit = start[index];
            if (digit >= '0' && digit <= '9') value = value * 16 + (digit - '0');
            else if (digit >= 'a' && digit <= 'f') value = value * 16 + (digit - 'a' + 10);
            else if (digit >= 'A' && digit <= 'F') value = value * 16 + (digit - 'A' + 10);
            else return -1;
        }
        return value;
    }

    void keep(size_t length) {
        const size_t end = std::min(at + length, count);
        text.append(start + at, end - at);
        at = end;
    }

    // A lone half of a surrogate pair becomes U+FFFD, as in any text that a program writes.
    void escape() {
        const int high = unit(at);
        if (high < 0xD800 || high > 0xDFFF) return keep(high < 0 ? 2 : 6);
        const int low = unit(at + 6);
        if (high < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF) return keep(12);
        text += "\\uFFFD";
        at += 6;
    }

    void string() {
        keep(1);
        while (at < count) {
            if (start[at] == '\\') {
                escape();
                continue;
            }
            const bool isEnd = start[at] == '"';
            keep(1);
            if (isEnd) return;
        }
    }

    static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

    static bool is_too_long(const std::string &number) {
        const bool is_negative = number[0] == '-';
        const std::string digits = number.substr(is_negative ? 1 : 0);
        const std::string most = is_negative ? "9223372036854775808" : "18446744073709551615";
        return digits.size() != most.size() ? digits.size() > most.size() : digits > most;
    }

    // A long integer becomes a double, as JavaScript reads it; a number beyond a double becomes a string.
    void number() {
        size_t end = at + 1;
        bool is_integer = true;
        while (end < count && (is_digit(start[end]) || std::strchr("+-.eE", start[end]) != nullptr) && start[end] != 0) {
            is_integer = is_integer && is_digit(start[end]);
            ++end;
        }
        const std::string number(start + at, end - at);
        at = end;
        if (std::isinf(std::strtod(number.c_str(), nullptr))) {
            text += '"' + number + '"';
        } else {
            text += number;
            if (is_integer && is_too_long(number)) text += "e0";
        }
    }

    // Replaces a value by a string with its JSON.
    void fold() {
        size_t depth = 0;
        bool is_in_string = false;
        text += '"';
        while (at < count) {
            const char byte = start[at++];
            if (byte == '"' || byte == '\\') {
                text += '\\';
                text += byte;
            } else if (static_cast<unsigned char>(byte) < 0x20) {
                text += ' ';
            } else {
                text += byte;
            }
            if (is_in_string) {
                if (byte == '\\' && at < count) {
                    const char next = start[at++];
                    if (next == '"' || next == '\\') text += '\\';
                    text += next;
                } else if (byte == '"') {
                    is_in_string = false;
                }
            } else if (byte == '"') {
                is_in_string = true;
            } else if (byte == '[' || byte == '{') {
                ++depth;
            } else if ((byte == ']' || byte == '}') && --depth == 0) {
                break;
            }
        }
        text += '"';
    }

    void run() {
        text.reserve(count + count / 8);
        size_t depth = 0;
        while (at < count) {
            const char byte = start[at];
            if (byte == '"') {
                string();
            } else if (byte == '-' || is_digit(byte)) {
                number();
            } else if (byte == '[' || byte == '{') {
                if (folds && depth >= folded_depth) {
                    fold();
                } else {
                    ++depth;
                    keep(1);
                }
            } else {
                if ((byte == ']' || byte == '}') && depth > 0) --depth;
                keep(1);
            }
        }
    }
};

bool parse(sb_json *json, const char *start, size_t count, bool is_padded, sb_node *root) {
    simdjson::dom::element document;
    const auto error =
        json->parser.parse(reinterpret_cast<const uint8_t *>(start), count, !is_padded).get(document);
    json->was_too_deep = error == simdjson::DEPTH_ERROR;
    if (error) {
        json->fault = simdjson::error_message(error);
        return false;
    }
    *root = node(document);
    return true;
}

bool parse_mended(sb_json *json, const char *start, size_t count, bool folds, sb_node *root) {
    Mending mending{start, count, folds};
    mending.run();
    return parse(json, mending.text.data(), mending.text.size(), false, root);
}

}  // namespace

extern "C" {

size_t sb_json_padding(void) { return simdjson::SIMDJSON_PADDING; }

sb_json *sb_json_make(void) { return new (std::nothrow) sb_json; }

void sb_json_free(sb_json *json) { delete json; }

bool sb_json_parse(sb_json *json, const char *start, size_t count, size_t capacity, sb_node *root) {
    // The buffers of a large document are many times its size, so they are freed by the next small one.
    if (count < small_document && json->parser.capacity() > 4 * small_document) {
        json->parser = simdjson::dom::parser{256u << 20};
        std::string().swap(json->compact);
    }
    const bool is_padded = capacity >= count + simdjson::SIMDJSON_PADDING;
    if (parse(json, start, count, is_padded, root)) return true;
    return !json->was_too_deep && count > 0 && parse_mended(json, start, count, false, root);
}

bool sb_json_parse_folded(sb_json *json, const char *start, size_t count, sb_node *root) {
    return parse_mended(json, start, count, true, root);
}

const char *sb_json_fault(const sb_json *json) { return json->fault; }

bool sb_json_was_too_deep(const sb_json *json) { return json->was_too_deep; }

sb_kind sb_node_kind(sb_node value) {
    switch (element(value).type()) {
        case simdjson::dom::element_type::ARRAY: return sb_array;
        case simdjson::dom::element_type::OBJECT: return sb_object;
        case simdjson::dom::element_type::INT64:
        case simdjson::dom::element_type::UINT64:
        case simdjson::dom::element_type::DOUBLE: return sb_number;
        case simdjson::dom::element_type::STRING: return sb_string;
        case simdjson::dom::element_type::BOOL: return sb_bool;
        case simdjson::dom::element_type::NULL_VALUE: return sb_null;
    }
    return sb_null;
}

bool sb_node_member(sb_node value, const char *name, size_t count, sb_node *member) {
    simdjson::dom::object object;
    if (element(value).get(object)) return false;
    simdjson::dom::element found;
    if (object.at_key(std::string_view(name, count)).get(found)) return false;
    *member = node(found);
    return true;
}

bool sb_node_name(sb_node value, size_t index, sb_bytes *name) {
    simdjson::dom::object object;
    if (element(value).get(object)) return false;
    for (const auto member : object) {
        if (index-- > 0) continue;
        *name = {member.key.data(), member.key.size()};
        return true;
    }
    return false;
}

bool sb_node_string(sb_node value, sb_bytes *bytes) {
    std::string_view text;
    if (element(value).get(text)) return false;
    *bytes = {text.data(), text.size()};
    return true;
}

bool sb_node_integer(sb_node value, int64_t *integer) { return !element(value).get(*integer); }

bool sb_node_double(sb_node value, double *number) { return !element(value).get(*number); }

bool sb_node_flag(sb_node value, bool *flag) { return !element(value).get(*flag); }

size_t sb_node_count(sb_node value) {
    simdjson::dom::array array;
    return element(value).get(array) ? 0 : array.size();
}

bool sb_array_begin(sb_node value, sb_cursor *cursor) {
    simdjson::dom::array array;
    if (element(value).get(array)) return false;
    const auto begin = array.begin(), end = array.end();
    std::memcpy(cursor->here, &begin, sizeof cursor->here);
    std::memcpy(cursor->end, &end, sizeof cursor->end);
    return true;
}

bool sb_array_next(sb_cursor *cursor, sb_node *found) {
    simdjson::dom::array::iterator here, end;
    std::memcpy(static_cast<void *>(&here), cursor->here, sizeof cursor->here);
    std::memcpy(static_cast<void *>(&end), cursor->end, sizeof cursor->end);
    if (!(here != end)) return false;
    *found = node(*here);
    ++here;
    std::memcpy(cursor->here, &here, sizeof cursor->here);
    return true;
}

sb_bytes sb_node_compact(sb_json *json, sb_node value) {
    json->compact = simdjson::minify(element(value));
    return {json->compact.data(), json->compact.size()};
}

#define TEXT(number) #number
#define TEXT_OF(macro) TEXT(macro)

const char *sb_simdjson_version(void) { return TEXT_OF(SIMDJSON_VERSION); }

bool sb_utf8_is_valid(const void *start, size_t count) {
    return simdjson::validate_utf8(static_cast<const char *>(start), count);
}
}
