import BridgeModel
import Files

/// What a file is: by its first bytes where they say it, else as the phone or the server names it.
enum PictureKind {
    static let prefixLength = 16

    /// Nil: it is said to be a picture, and is none.
    static func mimeType(said: String?, served: String?, bytes: [UInt8]) -> String? {
        let named = plain(said) ?? plain(served) ?? "application/octet-stream"
        let found = FileKind.picture(bytes)
        switch named {
        case "image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp": return found
        case "application/octet-stream", "binary/octet-stream": return found ?? "application/octet-stream"
        default: return named
        }
    }

    /// Without parameters, in lower case; nil where it is none (RFC 9110, 8.3).
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
