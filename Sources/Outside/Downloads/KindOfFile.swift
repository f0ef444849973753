import Files
import Vocabulary

/// MIME type of a fetched file: from its first bytes if they identify it, else as named by the phone, then the server.
///
/// An expired address often answers 200 with an HTML page, so HTML is accepted only for a file that may be a page.
struct KindOfFile {
    static let prefixLength = 1_024

    private let said: String?
    private let served: String?
    private let name: String
    private let bytes: [UInt8]

    private static let pages = ["text/html", "application/xhtml+xml"]
    private static let unknown = ["application/octet-stream", "binary/octet-stream"]

    init(said: String?, served: String?, name: String, bytes: [UInt8]) {
        self.said = Self.plain(said)
        self.served = Self.plain(served)
        self.name = name.lowercased()
        self.bytes = bytes
    }

    func mimeType() throws(FetchProblem) -> String {
        let named = said ?? served ?? "application/octet-stream"
        let found = FileKind.picture(bytes)
        switch named {
        case "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp":
            guard let found else { throw .noPicture }
            return found
        case _ where isPage && !mayBePage: throw .page
        case _ where !begins(as: named): throw .noSuchKind
        case _ where Self.unknown.contains(named): return found ?? "application/octet-stream"
        default: return named
        }
    }

    private var isPage: Bool {
        if servedPage { return true }
        let text = bytes.drop { $0 <= 0x20 || [0xEF, 0xBB, 0xBF].contains($0) }.prefix(14)
        let words = String(decoding: text, as: UTF8.self).lowercased()
        return words.hasPrefix("<!doctype html") || words.hasPrefix("<html")
    }

    private var mayBePage: Bool {
        guard let said, !Self.unknown.contains(said) else {
            return !servedPage || [".html", ".htm", ".xhtml"].contains { name.hasSuffix($0) }
        }
        if Self.pages.contains(said) { return true }
        return said.hasPrefix("text/") && !servedPage
    }

    private var servedPage: Bool { served.map { Self.pages.contains($0) } ?? false }

    /// Checks the magic bytes of kinds whose files all begin alike. Password-protected Office documents are in an OLE
    /// container instead of a ZIP archive.
    private func begins(as type: String) -> Bool {
        let isArchive = bytes.starts(with: Array("PK".utf8))
        switch type {
        case "application/pdf":
            return bytes.indices.contains { bytes[$0...].starts(with: Array("%PDF-".utf8)) }
        case "application/zip": return isArchive
        case _ where type.hasPrefix("application/vnd.openxmlformats-officedocument."):
            return isArchive || bytes.starts(with: [0xD0, 0xCF, 0x11, 0xE0])
        default: return true
        }
    }

    /// The type without parameters, in lower case, or nil if the text is no valid media type (RFC 9110, 8.3).
    private static func plain(_ text: String?) -> String? {
        guard let text else { return nil }
        let name = text.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        let isToken = { (part: Substring) in
            !part.isEmpty
                && part.utf8.allSatisfy {
                    (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || "!#$&-^_.+".utf8.contains($0)
                }
        }
        return parts.count == 2 && parts.allSatisfy(isToken) && name.utf8.count <= 100 ? name : nil
    }
}
