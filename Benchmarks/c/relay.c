// A relay that only answers: `relay PORT DELAY_MS [LOG]`. One thread per connection. LOG gets the monotonic time, in nanoseconds, at
// which each delta was read.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

static int delay_ms;
static FILE *arrivals;

static void answer(int socket_, const char *head) {
    if (arrivals && strstr(head, "sendMessageDelta")) {
        struct timespec now;
        clock_gettime(CLOCK_BOOTTIME, &now);
        fprintf(arrivals, "%lld\n", (long long)now.tv_sec * 1000000000LL + now.tv_nsec);
        fflush(arrivals);
    }
    if (delay_ms) usleep(delay_ms * 1000);
    // Enough tokens to keep every bucket full, stated in each answer as the relay does.
    const char *bucket = strstr(head, "Task ") ? "task" : strstr(head, "Delta ") ? "delta" : "msg";
    static const char body[] = "{\"ok\":true,\"result\":{\"message_id\":\"msg_1\",\"session_id\":\"ses_1\"}}";
    char reply[512];
    int count = snprintf(reply, sizeof reply,
                         "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-ID: req_0123456789abcdef\r\n"
                         "X-RateLimit-Limit: 90000\r\nX-RateLimit-Remaining: 89000\r\nX-RateLimit-Bucket: %s\r\n"
                         "Content-Length: %zu\r\n\r\n%s",
                         bucket, sizeof body - 1, body);
    if (write(socket_, reply, count) < 0) return;
}

static void *serve(void *argument) {
    int socket_ = (int)(long)argument, one = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    static __thread char buffer[1 << 20];
    size_t have = 0;
    for (;;) {
        ssize_t count = read(socket_, buffer + have, sizeof buffer - 1 - have);
        if (count <= 0) break;
        have += count;
        buffer[have] = 0;
        for (;;) {
            char *end = strstr(buffer, "\r\n\r\n");
            if (!end) break;
            char *length = strcasestr(buffer, "content-length:");
            size_t total = end + 4 - buffer + (length && length < end ? strtoul(length + 15, NULL, 10) : 0);
            if (have < total) break;
            *end = 0;
            answer(socket_, buffer);
            memmove(buffer, buffer + total, have - total);
            have -= total;
            buffer[have] = 0;
        }
    }
    close(socket_);
    return NULL;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    signal(SIGPIPE, SIG_IGN);
    delay_ms = atoi(arguments[2]);
    if (count > 3) arrivals = fopen(arguments[3], "w");
    int listening = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listening, (struct sockaddr *)&address, sizeof address) || listen(listening, 128)) return 1;
    puts("listening");
    fflush(stdout);
    for (;;) {
        int socket_ = accept(listening, NULL, NULL);
        pthread_t thread;
        if (socket_ < 0 || pthread_create(&thread, NULL, serve, (void *)(long)socket_)) continue;
        pthread_detach(thread);
    }
}
