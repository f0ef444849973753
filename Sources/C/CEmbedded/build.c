// The build's commit, which `scripts/commit` records, and the versions of the linked libraries.
#include "CEmbedded.h"

#include <stdio.h>

#include <curl/curl.h>
#include <microhttpd.h>
#include <openssl/crypto.h>
#include <sqlite3.h>
#include <wslay/wslay.h>

#include "CSimdjson.h"

#if __has_embed("../../../.build/commit")
static const char commit[] = {
#embed "../../../.build/commit" suffix(, 0)
    };
#else
static const char commit[] = "";
#endif

const char *build_commit(void) { return commit; }

size_t build_libraries(char *text, size_t room) {
    int length = snprintf(text, room, "libcurl %s, OpenSSL %s, SQLite %s, libmicrohttpd %s, simdjson %s, wslay %s",
                          curl_version_info(CURLVERSION_NOW)->version, OpenSSL_version(OPENSSL_VERSION_STRING),
                          sqlite3_libversion(), MHD_get_version(), sb_simdjson_version(), WSLAY_VERSION);
    return length < 0 ? 0 : (size_t)length;
}
