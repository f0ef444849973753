package import BridgeModel
import Locking

/// What nothing that the bridge writes for people or programs may show: the log, the events, the status, the last line on standard
/// error. All of these share one, so that a secret is made known once.
package final class SecretCover: Sendable {
    /// Beyond this the oldest is shown again where an outside text repeats it: it was replaced hundreds of times.
    private static let limit = 4_096

    /// A shorter secret would cover half of every text.
    private static let shortest = 8

    /// The newest last.
    private let secrets = Locked<[String]>([])

    package init() {}

    /// From now on no text shows this secret, wherever it comes from.
    package func cover(_ secret: Secret) {
        let text = secret.text
        guard text.utf8.count >= Self.shortest else { return }
        // As escaped in a JSON document.
        let escaped = String(JSONText.string(text).text.dropFirst().dropLast())
        secrets.withLock { secrets in
            for form in [text, escaped] + Self.encoded(text) where form.utf8.count >= Self.shortest {
                // One that is in force is made known again and again, and stays among the newest.
                secrets.removeAll { $0 == form }
                if secrets.count >= Self.limit { secrets.removeFirst() }
                secrets.append(form)
            }
        }
    }

    /// What base64 in either alphabet makes of it, wherever in a longer text it begins: the letters that it alone decides.
    private static func encoded(_ text: String) -> [String] {
        (0..<3).flatMap { place in
            let bytes = [UInt8](repeating: 0, count: place) + Array(text.utf8)
            let letters = Base64.encode(bytes).prefix(bytes.count * 8 / 6).dropFirst((place * 8 + 5) / 6)
            return Set([String(letters), String(letters.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })])
        }
    }

    package func covered(_ text: String) -> String {
        secrets.withLock { $0 }.reduce(text) { text, secret in
            guard text.contains(secret) else { return text }
            return text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "***")
        }
    }

    package func covered(_ bytes: [UInt8]) -> [UInt8] {
        secrets.withLock { $0.isEmpty } ? bytes : Array(covered(String(decoding: bytes, as: UTF8.self)).utf8)
    }
}
