// Load for the relay simulator: `relay_load PORT PID BRIDGE_TOKEN USER_TOKEN READERS CALLS_PER_SECOND SECONDS`.
//
// READERS phones read the event stream; CALLERS keep-alive connections make bridge calls at the given rate together, like real runs: a
// placeholder, many deltas with two tools among them, the end. One thread, one epoll. Prints calls, errors, events read by all readers,
// missed events, and the memory of process PID, as JSON.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CALLERS = 64, DELTAS = 200, TOOL_EVERY = 70 };

struct reader {
    int socket, head_left;            // head_left: bytes of "\r\n\r\n" not yet seen.
    enum { SIZE, DATA, AFTER } state; // State of the chunked encoding.
    size_t left;
    long events;
    char last;
};

struct caller {
    int socket, busy, step, tool, deltas;
    unsigned turn;
    char message[64], session[64];
    char in[65536];
    size_t have;
};

static int epoll, port;
static const char *bridge_token, *user_token;
static long calls, errors, ended;
static struct caller callers[CALLERS];
static struct reader *readers;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int dial(void) {
    int descriptor = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor < 0 || connect(descriptor, (struct sockaddr *)&address, sizeof address)) fail("connect");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return descriptor;
}

static void watch(int descriptor, void *owner) {
    fcntl(descriptor, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = owner};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)) fail("epoll_ctl");
}

// Readers

/// Counts the events in the payload of the chunks: the data of each event is an object that ends its line.
static void take(struct reader *reader, const char *bytes, size_t count) {
    const char *end = bytes + count;
    while (bytes < end) {
        if (reader->head_left) {
            reader->head_left = *bytes == "\r\n\r\n"[4 - reader->head_left] ? reader->head_left - 1 : 4 - (*bytes == '\r');
            bytes++;
        } else if (reader->state == SIZE) {
            if (*bytes == '\n') reader->state = DATA;
            else if (*bytes != '\r') reader->left = reader->left * 16 + (*bytes <= '9' ? *bytes - '0' : (*bytes | 32) - 'a' + 10);
            bytes++;
        } else if (reader->state == DATA) {
            size_t part = reader->left < (size_t)(end - bytes) ? reader->left : (size_t)(end - bytes);
            long events = reader->last == '}' && *bytes == '\n';
            for (size_t index = 1; index < part; index++) events += (bytes[index] == '\n') & (bytes[index - 1] == '}');
            reader->events += events;
            reader->last = bytes[part - 1];
            bytes += part;
            reader->left -= part;
            if (!reader->left) reader->state = AFTER;
        } else if (*bytes++ == '\n') {
            reader->state = SIZE;
        }
    }
}

static void read_events(struct reader *reader) {
    static char buffer[1 << 18];
    ssize_t count = recv(reader->socket, buffer, sizeof buffer, 0);
    if (count > 0) {
        take(reader, buffer, count);
    } else if (count == 0 || errno != EAGAIN) {
        ended++;
        close(reader->socket);
    }
}

// Callers

static void send_request(struct caller *caller, const char *method, const char *body) {
    char request[2048];
    int length = snprintf(request, sizeof request,
                          "POST /v1/bridge/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n"
                          "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                          method, bridge_token, strlen(body), body);
    if (send(caller->socket, request, length, MSG_NOSIGNAL) != length) fail("send");
    caller->busy = 1;
}

/// The next call of the caller's run.
static void call(struct caller *caller) {
    char body[1024];
    int number = (int)(caller - callers);
    if (!caller->session[0]) return send_request(caller, "createSession", "{}");
    if (!caller->message[0]) {
        snprintf(body, sizeof body, "{\"session_id\":\"%s\",\"text\":\" \",\"idempotency_key\":\"c%d-t%u-open\"}",
                 caller->session, number, caller->turn);
        return send_request(caller, "sendMessage", body);
    }
    if (caller->deltas == DELTAS) {
        snprintf(body, sizeof body,
                 "{\"message_id\":\"%s\",\"text\":\"All the words that were streamed.\",\"idempotency_key\":\"c%d-t%u-end\"}",
                 caller->message, number, caller->turn);
        return send_request(caller, "sendMessageEnd", body);
    }
    if (caller->step % TOOL_EVERY == TOOL_EVERY - 2) {
        snprintf(body, sizeof body, "{\"session_id\":\"%s\",\"task_id\":\"t%u-%d\",\"kind\":\"exec\",\"args\":{\"command\":\"ls\"}}",
                 caller->session, caller->turn, caller->tool);
        return send_request(caller, "createTask", body);
    }
    if (caller->step % TOOL_EVERY == TOOL_EVERY - 1) {
        snprintf(body, sizeof body, "{\"session_id\":\"%s\",\"task_id\":\"t%u-%d\",\"status\":\"completed\"}", caller->session,
                 caller->turn, caller->tool++);
        return send_request(caller, "finishTask", body);
    }
    snprintf(body, sizeof body, "{\"message_id\":\"%s\",\"delta\":\"word %d \",\"idempotency_key\":\"c%d-t%u-d-%d\"}",
             caller->message, caller->deltas, number, caller->turn, caller->deltas);
    caller->deltas++;
    send_request(caller, "sendMessageDelta", body);
}

static void copy_value(char *target, const char *body, const char *name) {
    const char *at = strstr(body, name);
    if (at) sscanf(at + strlen(name), "%63[^\"]", target);
}

static void read_answer(struct caller *caller) {
    ssize_t count = recv(caller->socket, caller->in + caller->have, sizeof caller->in - 1 - caller->have, 0);
    if (count <= 0) fail("recv");
    caller->have += count;
    caller->in[caller->have] = 0;
    char *body = strstr(caller->in, "\r\n\r\n"), *length = strcasestr(caller->in, "content-length:");
    if (!body || !length || caller->have < (size_t)(body + 4 - caller->in) + strtoul(length + 15, NULL, 10)) return;
    calls++;
    if (strncmp(caller->in, "HTTP/1.1 200", 12)) {
        if (!errors++) fprintf(stderr, "%s\n", caller->in);
    }
    if (!caller->session[0]) {
        copy_value(caller->session, body, "\"session_id\":\"");
    } else if (!caller->message[0]) {
        copy_value(caller->message, body, "\"message_id\":\"");
    } else if (caller->deltas == DELTAS && caller->step < 0) {
        caller->message[0] = 0;
        caller->turn++;
        caller->deltas = caller->tool = caller->step = 0;
    } else {
        caller->step = caller->deltas == DELTAS ? -1 : caller->step + 1;
    }
    caller->busy = 0;
    caller->have = 0;
}

// Measuring

static double resident_megabytes(int pid) {
    char path[64], line[256];
    long kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    if (!file) fail("the simulator has ended");
    while (fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &kilobytes);
    fclose(file);
    return kilobytes / 1024.0;
}

static double processor_seconds(int pid) {
    char path[64];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2) fail("stat");
    fclose(file);
    return (double)(user + system) / sysconf(_SC_CLK_TCK);
}

static long events_read(int count) {
    long events = 0;
    for (int index = 0; index < count; index++) events += readers[index].events;
    return events;
}

/// One round of the loop, of a millisecond at most.
static void turn(void) {
    static struct epoll_event events[1024];
    int count = epoll_wait(epoll, events, 1024, 1);
    for (int index = 0; index < count; index++) {
        void *owner = events[index].data.ptr;
        if (owner >= (void *)callers && owner < (void *)(callers + CALLERS)) read_answer(owner);
        else read_events(owner);
    }
}

int main(int count, char **arguments) {
    if (count < 8) return 2;
    port = atoi(arguments[1]);
    int pid = atoi(arguments[2]), reader_count = atoi(arguments[5]), rate = atoi(arguments[6]), seconds = atoi(arguments[7]);
    bridge_token = arguments[3];
    user_token = arguments[4];
    struct rlimit files = {.rlim_cur = 4096, .rlim_max = 4096};
    setrlimit(RLIMIT_NOFILE, &files);
    epoll = epoll_create1(0);
    readers = calloc(reader_count, sizeof *readers);
    for (int index = 0; index < reader_count; index++) {
        char request[512];
        readers[index].socket = dial();
        readers[index].head_left = 4;
        int length = snprintf(request, sizeof request, "GET /v1/me/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n\r\n", user_token);
        if (send(readers[index].socket, request, length, MSG_NOSIGNAL) != length) fail("send");
        watch(readers[index].socket, &readers[index]);
    }
    for (int index = 0; index < CALLERS; index++) {
        callers[index].socket = dial();
        watch(callers[index].socket, &callers[index]);
    }
    double heads_until = now() + 10;
    for (int waiting = 1; waiting && now() < heads_until;) {
        turn();
        waiting = 0;
        for (int index = 0; index < reader_count; index++) waiting += readers[index].head_left != 0;
    }
    double begun = now(), cpu = processor_seconds(pid), at_ten = 0;
    long started = 0;
    while (now() < begun + seconds) {
        long due = (long)((now() - begun) * rate);
        for (int index = 0; index < CALLERS && started < due; index++) {
            if (callers[index].busy) continue;
            started++;
            call(&callers[index]);
        }
        turn();
        if (!at_ten && now() > begun + seconds / 3.0) at_ten = resident_megabytes(pid);
    }
    double took = now() - begun, at_end = resident_megabytes(pid);
    long made = calls;
    cpu = processor_seconds(pid) - cpu;
    long within = events_read(reader_count);
    // Calls still in flight.
    double patience = now() + 5;
    while (events_read(reader_count) < calls * reader_count && now() < patience) turn();
    printf("{\"calls_per_second\":%.1f,\"errors\":%ld,\"readers_lost\":%ld,\"events_per_second\":%.0f,\"events_missed\":%ld,"
           "\"processor_seconds_per_second\":%.2f,\"megabytes_after_a_third\":%.1f,\"megabytes_at_the_end\":%.1f}\n",
           made / took, errors, ended, within / took, calls * reader_count - events_read(reader_count), cpu / took, at_ten, at_end);
    return 0;
}
