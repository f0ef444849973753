import CPhonePage
import LocalServer
import Vocabulary

/// The page that behaves like the phone: its files are part of the program.
///
/// The files need no token, since they contain no secret. The user's token reaches the page behind the `#` of its address, which browsers never send.
enum PhonePage {
    /// Scripts and styles load from here alone, none inside the page; it connects to this origin alone, and no other page may frame it.
    private static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    ].joined(separator: "; ")

    /// Answers a request for the page, or returns nil for another one.
    static func answer(_ request: LocalRequest) -> LocalResponse? {
        let isPage = request.path.hasPrefix("/phone/")
        guard isPage || request.path == "/" || request.path == "/phone" else { return nil }
        guard request.method == "GET" || request.method == "HEAD" else {
            var refusal = ControlReply.failure(405, "method_not_allowed", "The page is only read.")
            refusal.headers.append(LocalHeader("Allow", "GET, HEAD"))
            return refusal
        }
        guard isPage else { return LocalResponse(status: 302, headers: [LocalHeader("Location", "/phone/")]) }
        guard let file = file(named: request.path.dropFirst("/phone/".count)) else {
            return ControlReply.failure(404, "not_found", "The page has no such file.")
        }
        return response(file, to: request)
    }

    static func url(base: String, userToken: String) -> String { "\(base)/phone/#token=\(userToken)" }

    /// Revalidated each time, and sent again only if it differs: a new version of the program shows at once.
    private static func response(_ file: phone_page_file, to request: LocalRequest) -> LocalResponse {
        let bytes = Array(UnsafeBufferPointer(start: file.bytes, count: file.count))
        let tag = "\"\(StableHash.text(ofBytes: bytes))\""
        let headers = [
            LocalHeader("Content-Type", String(cString: file.type)), LocalHeader("ETag", tag),
            LocalHeader("Cache-Control", "no-cache"), LocalHeader("Content-Security-Policy", policy),
            LocalHeader("X-Content-Type-Options", "nosniff"), LocalHeader("Referrer-Policy", "no-referrer"),
            LocalHeader("Cross-Origin-Resource-Policy", "same-origin"),
        ]
        if request.header("If-None-Match") == tag { return LocalResponse(status: 304, headers: headers) }
        return LocalResponse(status: 200, headers: headers, body: bytes)
    }

    private static func file(named name: Substring) -> phone_page_file? {
        (0..<phone_page_file_count).lazy.compactMap { phone_page_file_at($0)?.pointee }
            .first { String(cString: $0.name) == name }
    }
}
