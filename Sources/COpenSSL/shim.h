#pragma once
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stddef.h>

// A macro of a macro, which Swift does not always import.
static inline int sb_ed25519(void) { return EVP_PKEY_ED25519; }
