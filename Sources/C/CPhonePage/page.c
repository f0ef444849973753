// The page's files, embedded verbatim: no build step changes what the browser gets. The compiler lists them as
// dependencies, so that an edit rebuilds this file.
#include "CPhonePage.h"

#define FILE_BYTES(symbol) static const unsigned char symbol[]

FILE_BYTES(phone_html) = {
#embed "page/phone.html"
};
FILE_BYTES(phone_css) = {
#embed "page/phone.css"
};
FILE_BYTES(developer_css) = {
#embed "page/developer.css"
};
FILE_BYTES(icon_svg) = {
#embed "page/icon.svg"
};
FILE_BYTES(approvals_js) = {
#embed "page/approvals.js"
};
FILE_BYTES(bubbles_js) = {
#embed "page/bubbles.js"
};
FILE_BYTES(chats_js) = {
#embed "page/chats.js"
};
FILE_BYTES(client_js) = {
#embed "page/client.js"
};
FILE_BYTES(compose_js) = {
#embed "page/compose.js"
};
FILE_BYTES(copy_js) = {
#embed "page/copy.js"
};
FILE_BYTES(curve_js) = {
#embed "page/curve.js"
};
FILE_BYTES(developer_js) = {
#embed "page/developer.js"
};
FILE_BYTES(dom_js) = {
#embed "page/dom.js"
};
FILE_BYTES(endings_js) = {
#embed "page/endings.js"
};
FILE_BYTES(faults_js) = {
#embed "page/faults.js"
};
FILE_BYTES(files_js) = {
#embed "page/files.js"
};
FILE_BYTES(graphs_js) = {
#embed "page/graphs.js"
};
FILE_BYTES(keys_js) = {
#embed "page/keys.js"
};
FILE_BYTES(lock_js) = {
#embed "page/lock.js"
};
FILE_BYTES(main_js) = {
#embed "page/main.js"
};
FILE_BYTES(markdown_js) = {
#embed "page/markdown.js"
};
FILE_BYTES(menu_js) = {
#embed "page/menu.js"
};
FILE_BYTES(models_js) = {
#embed "page/models.js"
};
FILE_BYTES(opened_js) = {
#embed "page/opened.js"
};
FILE_BYTES(phone_js) = {
#embed "page/phone.js"
};
FILE_BYTES(plain_js) = {
#embed "page/plain.js"
};
FILE_BYTES(questions_js) = {
#embed "page/questions.js"
};
FILE_BYTES(redraw_js) = {
#embed "page/redraw.js"
};
FILE_BYTES(resume_js) = {
#embed "page/resume.js"
};
FILE_BYTES(routines_js) = {
#embed "page/routines.js"
};
FILE_BYTES(sealing_js) = {
#embed "page/sealing.js"
};
FILE_BYTES(state_js) = {
#embed "page/state.js"
};
FILE_BYTES(storage_js) = {
#embed "page/storage.js"
};
FILE_BYTES(stream_js) = {
#embed "page/stream.js"
};
FILE_BYTES(streamed_js) = {
#embed "page/streamed.js"
};
FILE_BYTES(theme_js) = {
#embed "page/theme.js"
};
FILE_BYTES(tools_js) = {
#embed "page/tools.js"
};
FILE_BYTES(verbatim_js) = {
#embed "page/verbatim.js"
};

#define SCRIPT "text/javascript; charset=utf-8"
#define STYLE "text/css; charset=utf-8"
#define ENTRY(name, type, symbol) {name, type, symbol, sizeof symbol}

static const phone_page_file files[] = {
    ENTRY("", "text/html; charset=utf-8", phone_html),
    ENTRY("phone.css", STYLE, phone_css),
    ENTRY("developer.css", STYLE, developer_css),
    ENTRY("icon.svg", "image/svg+xml", icon_svg),
    ENTRY("approvals.js", SCRIPT, approvals_js),
    ENTRY("bubbles.js", SCRIPT, bubbles_js),
    ENTRY("chats.js", SCRIPT, chats_js),
    ENTRY("client.js", SCRIPT, client_js),
    ENTRY("compose.js", SCRIPT, compose_js),
    ENTRY("copy.js", SCRIPT, copy_js),
    ENTRY("curve.js", SCRIPT, curve_js),
    ENTRY("developer.js", SCRIPT, developer_js),
    ENTRY("dom.js", SCRIPT, dom_js),
    ENTRY("endings.js", SCRIPT, endings_js),
    ENTRY("faults.js", SCRIPT, faults_js),
    ENTRY("graphs.js", SCRIPT, graphs_js),
    ENTRY("keys.js", SCRIPT, keys_js),
    ENTRY("files.js", SCRIPT, files_js),
    ENTRY("lock.js", SCRIPT, lock_js),
    ENTRY("main.js", SCRIPT, main_js),
    ENTRY("markdown.js", SCRIPT, markdown_js),
    ENTRY("menu.js", SCRIPT, menu_js),
    ENTRY("models.js", SCRIPT, models_js),
    ENTRY("opened.js", SCRIPT, opened_js),
    ENTRY("phone.js", SCRIPT, phone_js),
    ENTRY("plain.js", SCRIPT, plain_js),
    ENTRY("questions.js", SCRIPT, questions_js),
    ENTRY("redraw.js", SCRIPT, redraw_js),
    ENTRY("resume.js", SCRIPT, resume_js),
    ENTRY("routines.js", SCRIPT, routines_js),
    ENTRY("sealing.js", SCRIPT, sealing_js),
    ENTRY("state.js", SCRIPT, state_js),
    ENTRY("storage.js", SCRIPT, storage_js),
    ENTRY("stream.js", SCRIPT, stream_js),
    ENTRY("streamed.js", SCRIPT, streamed_js),
    ENTRY("theme.js", SCRIPT, theme_js),
    ENTRY("tools.js", SCRIPT, tools_js),
    ENTRY("verbatim.js", SCRIPT, verbatim_js),
};

const size_t phone_page_file_count = sizeof files / sizeof files[0];

const phone_page_file *phone_page_file_at(size_t number) {
    return number < phone_page_file_count ? &files[number] : NULL;
}
