/// MIME type of a file for the program that shows it: from its name, then its first bytes, then a guess
/// (relay.md#relay-to-bridge-rpcs-req_id-frames).
package enum FileKind {
    /// Bytes read for the guess.
    static let prefixLength = 4_096

    private static let extensions: [String: String] = [
        "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
        "svg": "image/svg+xml", "bmp": "image/bmp", "ico": "image/x-icon", "pdf": "application/pdf",
        "txt": "text/plain", "log": "text/plain", "md": "text/markdown", "csv": "text/csv", "html": "text/html",
        "htm": "text/html", "css": "text/css", "xml": "application/xml", "json": "application/json",
        "yaml": "application/yaml", "yml": "application/yaml", "toml": "application/toml", "js": "text/javascript",
        "mjs": "text/javascript", "ts": "text/plain", "tsx": "text/plain", "jsx": "text/plain", "swift": "text/plain",
        "py": "text/x-python", "rb": "text/plain", "rs": "text/plain", "go": "text/plain", "c": "text/plain",
        "h": "text/plain", "cpp": "text/plain", "java": "text/plain", "kt": "text/plain", "sh": "text/x-shellscript",
        "zip": "application/zip", "gz": "application/gzip", "tar": "application/x-tar", "mp3": "audio/mpeg",
        "wav": "audio/wav", "mp4": "video/mp4", "mov": "video/quicktime",
    ]

    static func mimeType(of name: String, beginning bytes: [UInt8]) -> String {
        if let dot = name.lastIndex(of: "."), dot != name.startIndex,
            let known = extensions[name[name.index(after: dot)...].lowercased()]
        {
            return known
        }
        return picture(bytes) ?? (isText(bytes) ? "text/plain" : "application/octet-stream")
    }

    package static func picture(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if bytes.starts(with: Array("GIF87a".utf8)) || bytes.starts(with: Array("GIF89a".utf8)) { return "image/gif" }
        if bytes.starts(with: Array("RIFF".utf8)), bytes.dropFirst(8).starts(with: Array("WEBP".utf8)) {
            return "image/webp"
        }
        return nil
    }

    /// UTF-8 without control characters. Only a beginning of `prefixLength` bytes may end within a character.
    private static func isText(_ bytes: [UInt8]) -> Bool {
        guard !bytes.contains(where: { $0 < 0x20 && ![0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains($0) }) else {
            return false
        }
        return (0...3).contains { cut in
            cut <= bytes.count && (cut == 0 || bytes.count == prefixLength)
                && String(validating: bytes.dropLast(cut), as: UTF8.self) != nil
        }
    }
}
