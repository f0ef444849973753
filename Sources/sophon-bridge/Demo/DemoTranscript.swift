import FoundationEssentials
import Locking
import RelayRules

/// What the phone shows, as lines on a terminal, while it grows.
final class DemoTranscript: Sendable {
    private struct EventData: Decodable {
        var role: String?
        var text: String?
        var delta: String?
        var message_id: String?
        var kind: String?
        var status_label: String?
        var command: String?
        var title: String?
        var decision: String?
    }

    private let output: Output
    private let somebodyLooks: @Sendable () -> Bool
    /// The message whose line is open; runs of several chats take turns on the terminal.
    private let openLine = Locked<String?>(nil)
    private let streamed = Locked<[String: String]>([:])

    init(_ output: Output, somebodyLooks: @escaping @Sendable () -> Bool) {
        self.output = output
        self.somebodyLooks = somebodyLooks
    }

    func show(_ event: PhoneEvent) {
        guard !output.json, let data = try? JSONDecoder().decode(EventData.self, from: Data(event.data)) else { return }
        let message = data.message_id ?? ""
        switch event.type {
        case "message_added" where data.role == "user": line("you    \(data.text ?? "")")
        case "message_added": streamed.withLock { $0[message] = "" }
        case "message_delta": grow(message, data.delta ?? "")
        case "message_finalized": finalize(message, data.text ?? "")
        case "task_created": line("  tool   \(data.status_label ?? data.kind ?? "")")
        case "task_completed", "task_failed", "task_cancelled": line("  tool   \(event.type.dropFirst(5))")
        case "approval_requested":
            let whose = somebodyLooks() ? "you tap on the page" : "the demo taps Allow"
            line("  asks   \(data.title ?? ""): \(data.command ?? "") — \(whose)")
        case "approval_resolved": line("  tap    \(data.decision ?? "")")
        default: break
        }
    }

    private func grow(_ message: String, _ text: String) {
        let before = openLine.withLock { open in
            defer { open = message }
            return open
        }
        streamed.withLock { $0[message, default: ""] += text }
        let beginning = before == message ? "" : before == nil ? "agent  " : "\nagent  "
        output.raw(beginning + text)
    }

    private func finalize(_ message: String, _ text: String) {
        let shown = streamed.withLock { $0.removeValue(forKey: message) } ?? ""
        // What the end holds beyond what was streamed; all of it, where it says something else.
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
        if let text { output.line(text) }
    }
}
