#pragma once
#include <curl/curl.h>
#include <stddef.h>

// Swift does not import variadic functions, so each kind of option value has a typed wrapper.

static inline CURLcode sb_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode sb_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode sb_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode sb_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

typedef size_t (*sb_curl_data_function)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode sb_curl_set_data_function(CURL *handle, CURLoption option, sb_curl_data_function function) {
    return curl_easy_setopt(handle, option, function);
}

/// Called before each sending of a request, libcurl's silent repetition included.
typedef int (*sb_curl_before_request)(
    void *context, char *remote_address, char *local_address, int remote_port, int local_port);

static inline CURLcode sb_curl_set_before_request(CURL *handle, sb_curl_before_request function) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, function);
}

static inline CURLcode sb_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode sb_curl_get_pointer(CURL *handle, CURLINFO info, char **value) {
    return curl_easy_getinfo(handle, info, value);
}

/// The socket of a `CONNECT_ONLY` handle.
static inline CURLcode sb_curl_get_socket(CURL *handle, long *value) {
    curl_socket_t socket = CURL_SOCKET_BAD;
    CURLcode code = curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &socket);
    *value = socket;
    return code;
}

static inline CURLMcode sb_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// The handle and the result of a finished transfer; Swift does not import the union in CURLMsg.
static inline CURL *sb_curl_next_done(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            *result = message->data.result;
            return message->easy_handle;
        }
    }
    return NULL;
}

/// Opens the socket for a resolved address; CURL_SOCKET_BAD refuses it.
typedef curl_socket_t (*sb_curl_open_socket)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

static inline CURLcode sb_curl_set_open_socket(CURL *handle, sb_curl_open_socket function) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, function);
}

/// Called at least once a second during a transfer; a result other than 0 aborts it.
typedef int (*sb_curl_progress)(
    void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up);

static inline CURLcode sb_curl_set_progress(CURL *handle, sb_curl_progress function) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, function);
}
