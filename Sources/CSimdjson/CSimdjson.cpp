#include "CSimdjson.h"
#include <simdjson.h>

extern "C" size_t sb_json_padding(void) { return simdjson::SIMDJSON_PADDING; }
