// Files of the project embedded verbatim: the documents link to them and the tests check them. The compiler lists them as
// dependencies, so that an edit rebuilds this file.
#include "CEmbedded.h"

#define FILE_BYTES(symbol) static const unsigned char symbol[]
#define ENTRY(name, symbol) {name, symbol, sizeof symbol}

FILE_BYTES(example) = {
#embed "../../../bridge.example.json"
};
FILE_BYTES(plain) = {
#embed "../../../Tests/Fixtures/traces/openclaw-plain-text.jsonl"
};
FILE_BYTES(tool) = {
#embed "../../../Tests/Fixtures/traces/oppi-tool.jsonl"
};
FILE_BYTES(approval) = {
#embed "../../../Tests/Fixtures/traces/openclaw-exec-approval-inline.jsonl"
};
FILE_BYTES(stopped) = {
#embed "../../../Tests/Fixtures/traces/openclaw-aborted.jsonl"
};
FILE_BYTES(failed) = {
#embed "../../../Tests/Fixtures/traces/openclaw-error-after-retry.jsonl"
};

const embedded_file configuration_example = ENTRY("bridge.example.json", example);

static const embedded_file recordings[] = {
    ENTRY("a plain answer", plain),
    ENTRY("an answer with a tool", tool),
    ENTRY("a tool that asks first", approval),
    ENTRY("an answer that is stopped", stopped),
    ENTRY("a run that fails after a retry", failed),
};

const size_t demo_recording_count = sizeof recordings / sizeof recordings[0];

const embedded_file *demo_recording_at(size_t number) {
    return number < demo_recording_count ? &recordings[number] : NULL;
}
