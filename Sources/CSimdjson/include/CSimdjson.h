#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes that must be readable, with any content, behind every input handed to this shim.
size_t sb_json_padding(void);

#ifdef __cplusplus
}
#endif
