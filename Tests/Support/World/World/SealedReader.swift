import Vocabulary

/// A phone's reading of a sealed chat, written from the protocol alone (relay.md#key-schedule). It shares the ciphers
/// with the bridge but none of the code around them, so no mistake agrees with itself.
struct SealedReader {
    enum Path: String {
        case messages = "messages"
        case tasks = "tasks"
        case approvals = "approvals"
    }

    struct Opened: Hashable {
        var text: String
        /// Index of the key, or nil for the empty form, which needs none.
        var key: Int?
    }

    let library: any SealingLibrary

    /// Nil if no key opens it.
    func open(_ sealed: String, _ path: Path, in session: String, keys: [SecretKey]) -> Opened? {
        guard let bytes = Self.bytes(sealed), let version = bytes.first else { return nil }
        if bytes == [0] { return Opened(text: "", key: nil) }
        guard version == 1, bytes.count >= 29 else { return nil }
        let info = Array("sophon/v1/blob/\(path.rawValue)/\(session)".utf8)
        for (index, key) in keys.enumerated() {
            let derived = library.derive(info, from: key)
            guard let content = library.decrypt(bytes, from: 1, key: derived) else { continue }
            return String(validating: content, as: UTF8.self).map { Opened(text: $0, key: index) }
        }
        return nil
    }

    /// Strict base64, with its padding.
    private static func bytes(_ text: String) -> [UInt8]? {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        guard text.utf8.count.isMultiple(of: 4) else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var count = 0
        for letter in text.utf8 where letter != UInt8(ascii: "=") {
            guard let value = letters.firstIndex(of: letter) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }
}
