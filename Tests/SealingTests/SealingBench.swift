import Crypto
import FoundationEssentials
import Locking
import Sealing
import Testing
import Vocabulary

/// Deterministic randomness: the scripted bytes in order, and after them a count.
final class ScriptedRandom: SecretRandom {
    private let state: Locked<(script: [[UInt8]], count: UInt8)>

    init(_ script: [UInt8]...) { state = Locked((script, 0)) }

    func bytes(_ count: Int) -> [UInt8] {
        state.withLock { state in
            guard state.script.isEmpty else { return state.script.removeFirst() }
            state.count &+= 1
            return [UInt8](repeating: state.count, count: count)
        }
    }
}

/// Fixtures of the sealing tests.
struct Bench {
    let library: OpenSSLSealing
    let random = ScriptedRandom()

    init() throws { library = try OpenSSLSealing() }

    func key(_ byte: UInt8) throws -> SecretKey {
        try #require(SecretKey([UInt8](repeating: byte, count: SecretKey.length)))
    }

    func sealer(_ session: String, _ byte: UInt8) throws -> SessionSealer {
        SessionSealer(SessionID(session), key: try key(byte), library: library)
    }
}

/// Vectors in the form of the reference bridge (relay.md#vectors).
struct Vectors: Decodable {
    struct Vector: Decodable, CustomStringConvertible {
        struct Case: Decodable {
            var why: String
            var envelope_hex: String
            var result: String
        }
        var id: String
        var root_key_hex: String?
        var session_key_hex: String?
        var blob_key_hex: String?
        var path: String?
        var session_id: String?
        var inputs: [String]?
        var blind_index_b64url: String?
        var plaintext: String?
        var plaintext_hex: String?
        var nonce_hex: String?
        var envelope_hex: String?
        var envelope_b64: String?
        var real_path: String?
        var path_blind_idx: String?
        var path_nonce_hex: String?
        var path_ct_b64: String?
        var display_name: String?
        var display_name_nonce_hex: String?
        var display_name_ct_b64: String?
        var recipient_secret_hex: String?
        var recipient_public_hex: String?
        var ephemeral_secret_hex: String?
        var inner_nonce_hex: String?
        var cases: [Case]?

        var description: String { id }

        /// The path for which the reference names the key.
        var sealedPath: SealedPath? {
            switch path?.split(separator: "/").first {
            case "messages": .messages
            case "tasks": .tasks
            case "approvals": .approvals
            default: nil
            }
        }
    }

    var vectors: [Vector]

    static let all: Result<[Vector], any Error> = Result {
        let path = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Fixtures/vectors/sophon-e2e.json")
        return try JSONDecoder().decode(Vectors.self, from: try Data(contentsOf: path)).vectors
    }

    static func named(_ id: String) throws -> Vector { try #require(try all.get().first { $0.id == id }) }
}

func bytes(_ hex: String?) throws -> [UInt8] { try #require(hex.flatMap { Hexadecimal.bytes($0) }) }
func secret(_ hex: String?) throws -> SecretKey { try #require(hex.flatMap { SecretKey(hex: $0) }) }
