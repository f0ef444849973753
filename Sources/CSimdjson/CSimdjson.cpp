#include "CSimdjson.h"

#include <cstring>
#include <new>
#include <string>

#include <simdjson.h>

// A node is simdjson's own two-word reference, carried through C.
static_assert(sizeof(simdjson::dom::element) == sizeof(sb_node));
static_assert(std::is_trivially_copyable<simdjson::dom::element>::value);
// So is its place in an array.
static_assert(sizeof(simdjson::dom::array::iterator) == sizeof(sb_cursor::here));
static_assert(std::is_trivially_copyable<simdjson::dom::array::iterator>::value);

struct sb_json {
    // The bound of a recording's line and of a frame; nothing larger is handed over.
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

extern "C" {

size_t sb_json_padding(void) { return simdjson::SIMDJSON_PADDING; }

sb_json *sb_json_make(void) { return new (std::nothrow) sb_json; }

void sb_json_free(sb_json *json) { delete json; }

bool sb_json_parse(sb_json *json, const char *start, size_t count, size_t capacity, sb_node *root) {
    // After a large document its buffers go: they are many times its size.
    if (count < small_document && json->parser.capacity() > 4 * small_document) {
        json->parser = simdjson::dom::parser{256u << 20};
        std::string().swap(json->compact);
    }
    const bool padded = capacity >= count + simdjson::SIMDJSON_PADDING;
    simdjson::dom::element document;
    const auto error =
        json->parser.parse(reinterpret_cast<const uint8_t *>(start), count, !padded).get(document);
    if (error) {
        json->fault = simdjson::error_message(error);
        json->was_too_deep = error == simdjson::DEPTH_ERROR;
        return false;
    }
    *root = node(document);
    return true;
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

bool sb_utf8_is_valid(const void *start, size_t count) {
    return simdjson::validate_utf8(static_cast<const char *>(start), count);
}
}
