// OpenSSL alone, in a loop: encrypts a text of 200 bytes under one key with a fresh nonce, and encodes it as base64. Prints nanoseconds
// of CPU for each.
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { text_count = 200, nonce_count = 12, tag_count = 16, sealed_count = 1 + nonce_count + text_count + tag_count };

int main(int argc, char **argv) {
  long count = argc > 1 ? atol(argv[1]) : 1000000;
  unsigned char key[32], text[text_count], sealed[sealed_count], letters[(sealed_count + 2) / 3 * 4 + 1];
  memset(key, 7, sizeof key);
  memset(text, 'x', sizeof text);
  EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  struct timespec begun, ended;
  unsigned long sum = 0;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
  for (long number = 0; number < count; number++) {
    int written = 0, rest = 0;
    sealed[0] = 1;
    if (RAND_bytes(sealed + 1, nonce_count) != 1 || EVP_EncryptInit_ex2(context, cipher, key, sealed + 1, NULL) != 1 ||
        EVP_EncryptUpdate(context, sealed + 1 + nonce_count, &written, text, text_count) != 1 ||
        EVP_EncryptFinal_ex(context, sealed + 1 + nonce_count + written, &rest) != 1 ||
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tag_count, sealed + 1 + nonce_count + written) != 1)
      return 1;
    sum += (unsigned long)EVP_EncodeBlock(letters, sealed, sealed_count) + letters[number % 300];
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ended);
  double spent = (double)(ended.tv_sec - begun.tv_sec) * 1e9 + (double)(ended.tv_nsec - begun.tv_nsec);
  // The sum keeps the compiler from removing the work.
  printf("%.1f %lu\n", spent / (double)count, sum % 2);
  return 0;
}
