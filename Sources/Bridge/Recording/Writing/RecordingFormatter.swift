import CSimdjson
import Vocabulary

/// Formats entries as lines of a recording (DESIGN.md#recording), without their secrets. Lives on one thread; does no I/O.
package final class RecordingFormatter {
    private let redaction: Redaction
    private let json: OpaquePointer
    /// Leaves 4,096 bytes of a line for the other members: names, numbers, the connection.
    private static let frameLimit = RecordingReader.lineLimit - 4_096

    /// `knownSecrets` are redacted in any position: the bridge's own tokens and passwords.
    package init(knownSecrets: [String] = []) {
        guard let json = sb_json_make() else { preconditionFailure("no memory for a JSON parser") }
        self.json = json
        redaction = Redaction(known: knownSecrets)
    }

    deinit { sb_json_free(json) }

    /// The first line; `date` has the form of RFC 3339.
    package func header(agent: String, date: String) -> [UInt8] {
        var line = Line("{\"sophon_recording\":\(RecordingHeader.version),\"agent\":")
        line.string(agent)
        line.text(",\"date\":")
        line.string(date)
        return line.ended()
    }

    /// One line with its line feed.
    package func line(for entry: EntryToRecord) -> [UInt8] {
        var line = Line("{\"at_ms\":\(max(0, entry.milliseconds)),\"link\":\"\(entry.link.rawValue)\",\"connection\":")
        line.string(
            String(decoding: redaction.text(Array(entry.connection.utf8).prefix(200).map(\.self)), as: UTF8.self))
        line.text(",\"stream\":\(max(0, entry.stream)),\"dir\":\"\(entry.direction.rawValue)\",\"frame\":")
        let frame = entry.coversWords ? covered(entry.content) : frame(of: entry.content)
        line.bytes += frame.count <= Self.frameLimit ? frame : omitted(frame.count)
        return line.ended()
    }

    private func frame(of content: EntryToRecord.Content) -> [UInt8] {
        // Skip the redaction: `line` leaves this frame out.
        if case .frame(let bytes) = content, bytes.count > Self.frameLimit { return bytes }
        if case .frame(let bytes) = content, kind(of: bytes) != sb_object { return raw(bytes) }
        return redaction.frame(pseudoFrame(content))
    }

    private func covered(_ content: EntryToRecord.Content) -> [UInt8] {
        if case .frame(let bytes) = content, bytes.count > Self.frameLimit || kind(of: bytes) != sb_object {
            return Array("{\"_raw\":\"[\(bytes.count) bytes covered]\"}".utf8)
        }
        return WordCover.frame(frame(of: content))
    }

    /// Bytes that are no JSON object, kept as text without secrets. Invalid UTF-8 becomes replacement characters.
    private func raw(_ bytes: [UInt8]) -> [UInt8] {
        var line = Line("{\"_raw\":")
        line.string(String(decoding: redaction.text(bytes), as: UTF8.self))
        line.text("}")
        return line.bytes
    }

    /// Placeholder for a frame in a line that no reader would accept.
    private func omitted(_ count: Int) -> [UInt8] { Array("{\"_raw\":\"[\(count) bytes left out]\"}".utf8) }

    private func pseudoFrame(_ content: EntryToRecord.Content) -> [UInt8] {
        var line = Line("")
        switch content {
        case .frame(let bytes): line.bytes = bytes
        case .socketOpened(let url):
            line.text("{\"_ws\":\"open\",\"url\":")
            line.string(url)
            line.text("}")
        case .socketClosed(let code, let reason):
            line.text("{\"_ws\":\"close\",\"code\":\(code)")
            if let reason {
                line.text(",\"reason\":")
                line.string(reason)
            }
            line.text("}")
        case .httpRequest(let method, let path, let body):
            line.text("{\"_http\":{\"method\":")
            line.string(method)
            line.text(",\"path\":")
            line.string(path)
            append(body, to: &line)
            line.text("}}")
        case .httpResponse(let status, let body):
            line.text("{\"_http\":{\"status\":\(status)")
            append(body, to: &line)
            line.text("}}")
        case .processStarted(let arguments):
            line.text("{\"_proc\":\"spawn\",\"args\":[")
            for (index, argument) in arguments.enumerated() {
                if index > 0 { line.text(",") }
                line.string(argument)
            }
            line.text("]}")
        case .processEnded(let code, let signal):
            line.text("{\"_proc\":\"exit\",\"code\":\(code.map(String.init) ?? "null"),\"signal\":")
            if let signal { line.string(signal) } else { line.text("null") }
            line.text("}")
        }
        return line.bytes
    }

    private func append(_ body: [UInt8]?, to line: inout Line) {
        guard let body, !body.isEmpty else { return }
        line.text(",\"body\":")
        if kind(of: body) != nil { line.bytes += body } else { line.string(String(decoding: body, as: UTF8.self)) }
    }

    /// Nil if the bytes are no JSON.
    private func kind(of bytes: [UInt8]) -> sb_kind? {
        // A parser may skip a byte order mark; a line may not hold one.
        guard let first = bytes.first, first < 0x80 else { return nil }
        return bytes.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var root = sb_node()
            guard sb_json_parse(json, base.assumingMemoryBound(to: CChar.self), bytes.count, bytes.count, &root) else {
                return nil
            }
            return sb_node_kind(root)
        }
    }
}

private struct Line {
    var bytes: [UInt8]

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func text(_ text: String) { bytes += text.utf8 }
    mutating func string(_ value: String) { JSONText.appendString(value, to: &bytes) }
    func ended() -> [UInt8] { bytes + Array("}\n".utf8) }
}
