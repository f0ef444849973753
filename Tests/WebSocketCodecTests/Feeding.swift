import WebSocketCodec

/// Frames built by hand, since the writer must not vouch for the reader.
enum Raw {
    static func frame(
        _ opcode: UInt8, _ payload: [UInt8] = [], isLast: Bool = true, reserved: UInt8 = 0, mask: [UInt8]? = nil
    ) -> [UInt8] {
        var bytes = [(isLast ? 0x80 : 0) | reserved << 4 | opcode]
        let bit: UInt8 = mask == nil ? 0 : 0x80
        switch payload.count {
        case 0..<126: bytes.append(bit | UInt8(payload.count))
        case 126..<65_536: bytes += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        default: bytes += [bit | 127] + length(UInt64(payload.count))
        }
        guard let mask else { return bytes + payload }
        return bytes + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    static func text(_ text: String, isLast: Bool = true) -> [UInt8] { frame(1, Array(text.utf8), isLast: isLast) }

    static func length(_ value: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(56 - 8 * $0)) }
    }
}

/// The messages received, and how the session ended.
struct Outcome: Equatable {
    var inputs: [WebSocketInput] = []
    var fault: WebSocketFault.Code?
}

/// Feeds bytes in pieces of one size.
func read(
    _ bytes: [UInt8], pieces: Int, role: WebSocketRole = .client, limit: Int = 1 << 20
) -> Outcome {
    let reader = MessageReader(role: role, messageLimit: limit)
    var outcome = Outcome()
    var start = 0
    repeat {
        let end = min(bytes.count, start + pieces)
        do {
            try bytes[start..<end].withUnsafeBytes { all in
                var piece = all
                while let input = try reader.next(from: &piece) { outcome.inputs.append(input) }
            }
        } catch {
            outcome.fault = (error as? WebSocketFault)?.code
            return outcome
        }
        start = end
    } while start < bytes.count
    return outcome
}

extension WebSocketInput {
    static func text(_ string: String) -> Self { .text(Array(string.utf8)) }
}
