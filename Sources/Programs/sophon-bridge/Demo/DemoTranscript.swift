import FoundationEssentials
import Locking
import RelayRules
import Sealing
import Vocabulary

/// The phone's view as lines on a terminal, as it grows.
final class DemoTranscript: Sendable {
    private struct EventData: Decodable {
        var session_id: String?
        var role: String?
        var text: String?
        var text_ct: String?
        var delta: String?
        var delta_ct: String?
        var message_id: String?
        var kind: String?
        var status_label: String?
        var status_label_ct: String?
        var command: String?
        var title: String?
        var details_ct: String?
        var decision: String?
        var reason: String?
    }

    /// Placeholder for ciphertext to which the page alone has the key.
    private static let sealed = "(sealed: the page shows it)"

    private let output: Output
    private let somebodyLooks: @Sendable () -> Bool
    private let keys: DemoKeys?
    /// The message whose line is open; runs of several chats take turns on the terminal.
    private let openLine = Locked<String?>(nil)
    private let streamed = Locked<[String: String]>([:])

    private struct Details: Decodable {
        var title: String?
        var command: String?
    }

    init(_ output: Output, _ keys: DemoKeys?, somebodyLooks: @escaping @Sendable () -> Bool) {
        self.output = output
        self.keys = keys
        self.somebodyLooks = somebodyLooks
    }

    func show(_ event: PhoneEvent) {
        guard !output.json, let told = try? JSONDecoder().decode(EventData.self, from: Data(event.data)) else { return }
        let data = opened(told)
        let message = data.message_id ?? ""
        switch event.type {
        case "message_added" where data.role == "user": line("you    \(data.text ?? Self.sealed)")
        case "message_added": streamed.withLock { $0[message] = "" }
        case "message_delta": grow(message, data.delta ?? "")
        case "message_finalized": finalize(message, data.text ?? (data.text_ct == nil ? "" : Self.sealed))
        case "task_created": line("  tool   \(data.status_label ?? data.kind ?? "")")
        case "task_completed", "task_failed", "task_cancelled": line("  tool   \(event.type.dropFirst(5))")
        case "approval_requested":
            let whose = somebodyLooks() ? "you tap on the page" : "the demo taps Allow"
            let what = [data.title, data.command].compactMap(\.self).joined(separator: ": ")
            line("  asks   \(what.isEmpty ? Self.sealed : what) — \(whose)")
        case "approval_resolved":
            line(data.reason.map { "  end    nobody answered (\($0))" } ?? "  tap    \(data.decision ?? "")")
        default: break
        }
    }

    /// The event as the page shows it; text stays sealed if the demo lacks its key.
    private func opened(_ told: EventData) -> EventData {
        guard let keys, let session = told.session_id.map({ SessionID($0) }) else { return told }
        var data = told
        data.text = data.text ?? keys.text(of: data.text_ct, .messages, in: session)
        data.delta = data.delta ?? keys.text(of: data.delta_ct, .messages, in: session)
        data.status_label = data.status_label ?? keys.text(of: data.status_label_ct, .tasks, in: session)
        let text = keys.text(of: data.details_ct, .approvals, in: session)
        if let details = text.flatMap({ try? JSONDecoder().decode(Details.self, from: Data($0.utf8)) }) {
            data.title = details.title
            data.command = details.command
        }
        return data
    }

    private func grow(_ message: String, _ text: String) {
        guard !text.isEmpty else { return }
        let before = openLine.withLock { open in
            defer { open = message }
            return open
        }
        streamed.withLock { $0[message, default: ""] += text }
        guard before != message else { return output.raw(text) }
        output.raw((before == nil ? "agent  " : "\nagent  ") + text.drop { $0.isNewline })
    }

    private func finalize(_ message: String, _ text: String) {
        let shown = streamed.withLock { $0.removeValue(forKey: message) } ?? ""
        // Print the rest of the end that was not streamed, or all of it if it differs from the streamed text.
        if text.utf8.starts(with: shown.utf8) {
            let rest = String(text.utf8.dropFirst(shown.utf8.count)) ?? ""
            if !rest.isEmpty {
                grow(message, rest)
                streamed.withLock { $0[message] = nil }
            }
            line(nil)
        } else {
            line("agent  \(text)   (the end replaces the preview)")
        }
    }

    /// Ends a line that is being streamed, and prints one.
    private func line(_ text: String?) {
        let wasOpen = openLine.withLock { open in
            defer { open = nil }
            return open != nil
        }
        if wasOpen { output.raw("\n") }
        if let text { output.raw(text + "\n") }
    }
}
