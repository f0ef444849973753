#pragma once
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <stddef.h>
#include <stdint.h>

// Macros of macros, which Swift does not always import.
static inline int sb_ed25519(void) { return EVP_PKEY_ED25519; }
static inline int sb_x25519(void) { return EVP_PKEY_X25519; }

// Whole operations, because the library keeps pointers into the parameters between its calls. Each returns 1 on success.

// HKDF-SHA256 with an empty salt. `kdf` is the fetched HKDF.
static inline int sb_hkdf_sha256(EVP_KDF *kdf, const uint8_t *key, size_t key_count, const uint8_t *info, size_t info_count,
                                 uint8_t *derived, size_t derived_count) {
  EVP_KDF_CTX *context = EVP_KDF_CTX_new(kdf);
  if (!context) return 0;
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_count),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_count),
      OSSL_PARAM_construct_end(),
  };
  int done = EVP_KDF_derive(context, derived, derived_count, parameters) == 1;
  EVP_KDF_CTX_free(context);
  return done;
}

enum { sb_gcm_nonce = 12, sb_gcm_tag = 16 };

// `sealed` has room for the text and the tag.
static inline int sb_gcm_encrypt(const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *nonce, const uint8_t *text,
                                 int count, uint8_t *sealed) {
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  if (!context) return 0;
  int written = 0, rest = 0;
  int done = EVP_EncryptInit_ex2(context, cipher, key, nonce, NULL) == 1 &&
             EVP_EncryptUpdate(context, sealed, &written, text, count) == 1 && written == count &&
             EVP_EncryptFinal_ex(context, sealed + written, &rest) == 1 && rest == 0 &&
             EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, sb_gcm_tag, sealed + written) == 1;
  EVP_CIPHER_CTX_free(context);
  return done;
}

// `sealed` is `count` bytes of ciphertext and the tag. `text` is valid only if the tag is right.
static inline int sb_gcm_decrypt(const EVP_CIPHER *cipher, const uint8_t *key, const uint8_t *nonce, const uint8_t *sealed,
                                 int count, uint8_t *text) {
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  if (!context) return 0;
  int written = 0, rest = 0;
  int done = EVP_DecryptInit_ex2(context, cipher, key, nonce, NULL) == 1 &&
             EVP_DecryptUpdate(context, text, &written, sealed, count) == 1 && written == count &&
             EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, sb_gcm_tag, (void *)(sealed + count)) == 1 &&
             EVP_DecryptFinal_ex(context, text + written, &rest) == 1;
  EVP_CIPHER_CTX_free(context);
  if (!done) OPENSSL_cleanse(text, (size_t)count);
  return done;
}

// The scalar product, 32 bytes. Fails for a public key that makes it zero.
static inline int sb_x25519_product(const uint8_t *secret, const uint8_t *public_key, uint8_t *product) {
  size_t count = 32;
  EVP_PKEY *mine = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, NULL, secret, count);
  EVP_PKEY *theirs = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, NULL, public_key, count);
  EVP_PKEY_CTX *context = mine ? EVP_PKEY_CTX_new(mine, NULL) : NULL;
  int done = theirs && context && EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, theirs) == 1 &&
             EVP_PKEY_derive(context, product, &count) == 1 && count == 32;
  EVP_PKEY_CTX_free(context);
  EVP_PKEY_free(theirs);
  EVP_PKEY_free(mine);
  // libcrypto's own implementation refuses a product of zero; an engine of the machine may not.
  static const uint8_t zero[32] = {0};
  return done && CRYPTO_memcmp(product, zero, sizeof zero) != 0;
}
