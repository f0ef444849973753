// The bare loop: `post_loop URL BODIES` posts each line of BODIES with curl_easy_perform on one handle, and prints the calls
// per second.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static size_t ignore(char *bytes, size_t size, size_t count, void *context) {
    (void)bytes;
    (void)context;
    return size * count;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    FILE *file = fopen(arguments[2], "r");
    if (!file) return 1;
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, "Authorization: Bearer token");
    curl_easy_setopt(curl, CURLOPT_URL, arguments[1]);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    long calls = 0;
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while ((length = getline(&line, &room, file)) > 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)length - 1);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, line);
        if (curl_easy_perform(curl) != CURLE_OK) return 1;
        calls++;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.1f\n", calls / (end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9));
    return 0;
}
