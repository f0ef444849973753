#pragma once
#include <curl/curl.h>
#include <openssl/ssl.h>
#include <string.h>

// The pin of a leaf certificate. Its callback replaces OpenSSL's verification, so that a wrong certificate fails the
// handshake, before any byte of a request is sent. (libcurl's own pin covers the public key only, and is checked in
// addition to the authorities.)

struct sb_leaf_pin {
    unsigned char expected[32];
    unsigned char found[32];
    /// The server showed another certificate.
    int is_wrong;
};

static inline int sb_leaf_verify(X509_STORE_CTX *store, void *context) {
    struct sb_leaf_pin *pin = (struct sb_leaf_pin *)context;
    X509 *leaf = X509_STORE_CTX_get0_cert(store);
    unsigned int count = 0;
    unsigned char found[EVP_MAX_MD_SIZE];
    if (leaf && X509_digest(leaf, EVP_sha256(), found, &count) == 1 && count == sizeof pin->expected) {
        if (memcmp(found, pin->expected, count) == 0) {
            X509_STORE_CTX_set_error(store, X509_V_OK);
            return 1;
        }
        memcpy(pin->found, found, count);
        pin->is_wrong = 1;
    }
    X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
    return 0;
}

static inline CURLcode sb_leaf_prepare(CURL *handle, void *context, void *pin) {
    (void)handle;
    SSL_CTX *ssl = (SSL_CTX *)context;
    SSL_CTX_set_cert_verify_callback(ssl, sb_leaf_verify, pin);
    // A renegotiation could show another certificate, and `pin` may be freed by then.
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION);
    return CURLE_OK;
}

/// Pins the leaf certificate; `pin` must outlive the handle's transfers. A libcurl without OpenSSL returns an error; no
/// request may leave then.
static inline CURLcode sb_curl_pin_leaf(CURL *handle, struct sb_leaf_pin *pin) {
    CURLcode code = curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, sb_leaf_prepare);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_SSL_CTX_DATA, pin);
    // The pin covers the whole certificate: neither its names nor an authority add anything.
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 1L);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_CAINFO, NULL);
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_CAPATH, NULL);
    // A resumed session shows no certificate.
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    // Plain HTTP shows no certificate to compare.
    if (code == CURLE_OK) code = curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "https");
    return code;
}
