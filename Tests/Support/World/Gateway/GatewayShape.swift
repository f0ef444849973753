/// An event of a gateway without its values: its kind, and the names of its members.
package struct GatewayShape: Sendable, Hashable {
    package var kind: String
    package var members: Set<String>

    /// Nil unless the frame is an event of a run or of its session.
    package init?(of frame: [UInt8]) {
        guard let value = GatewayValue.parse(frame) else { return nil }
        self.init(value)
    }

    private init?(_ frame: GatewayValue) {
        guard frame["type"] == "event", let event = frame["event"]?.string, let payload = frame["payload"] else {
            return nil
        }
        func word(_ name: String, of value: GatewayValue?) -> String? { value?[name]?.string }
        var words: [String?] = [event]
        var parts = ["": payload]
        switch event {
        case "agent", "session.tool":
            let data = payload["data"]
            words += [word("stream", of: payload), word("phase", of: data)]
            if payload["stream"] == "lifecycle" {
                words += [word("status", of: data), data?["aborted"] == true ? "aborted" : nil]
            }
            if payload["stream"] == "item" { words.append(word("kind", of: data)) }
            parts["data."] = data
        case "chat": words.append(word("state", of: payload))
        case "chat.side_result": break
        case "session.message":
            words += [word("role", of: payload["message"]), word("stopReason", of: payload["message"])]
            parts["message."] = payload["message"]
        case "sessions.changed": words += [word("phase", of: payload) ?? word("reason", of: payload)]
        case "exec.approval.requested", "exec.approval.resolved": parts["request."] = payload["request"]
        default: return nil
        }
        kind = words.compactMap(\.self).joined(separator: " ")
        members = Set(parts.flatMap { prefix, value in value.names.map { prefix + $0 } })
    }

    /// Shapes of a recording's events.
    package static func recorded(_ recording: String) -> [GatewayShape] {
        recording.split(separator: "\n").dropFirst().compactMap { line in
            guard let value = GatewayValue.parse(Array(line.utf8)), value["dir"] == "in" else { return nil }
            return value["frame"].flatMap { GatewayShape($0) }
        }
    }

    /// Kinds and members that only one side has. The members of a kind are those of all its events.
    package static func differences(_ recorded: [GatewayShape], _ doubled: [GatewayShape]) -> Set<String> {
        func kinds(_ shapes: [GatewayShape]) -> [String: Set<String>] {
            shapes.reduce(into: [:]) { $0[$1.kind, default: []].formUnion($1.members) }
        }
        let (real, double) = (kinds(recorded), kinds(doubled))
        var found: Set<String> = []
        for kind in Set(real.keys).union(double.keys) {
            guard let left = real[kind] else {
                found.insert("+ \(kind)")
                continue
            }
            guard let right = double[kind] else {
                found.insert("- \(kind)")
                continue
            }
            for name in left.subtracting(right) { found.insert("- \(kind): \(name)") }
            for name in right.subtracting(left) { found.insert("+ \(kind): \(name)") }
        }
        return found
    }
}
