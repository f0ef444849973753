import Vocabulary

/// The sender of a connection's notices.
package struct NoticeSender: Hashable, Sendable {
    package var connection: String
    package var agent: String
    package var host: String

    package init(connection: String, agent: String, host: String) {
        self.connection = connection
        self.agent = agent
        self.host = host
    }
}

extension Notice {
    /// The JSON object that a program reads and a webhook receives (OPERATING.md#notices).
    ///
    /// The body for a sealed chat has fixed words, and neither `workspace` nor `chat` nor `wants`. `time`: `ts` for a moment since 1970.
    package func body(from sender: NoticeSender, time: (Int64) -> String) -> [UInt8] {
        var body = JSONObjectWriter()
        body.string("id", id)
        body.string("event", event.rawValue)
        body.string("connection", sender.connection)
        body.string("agent", sender.agent)
        body.string("host", sender.host)
        if isSealed { body.value("sealed", .flag(true)) }
        let words = items.count == 1 && !isSealed ? items[0].words : nil
        body.string("workspace", words?.workspace)
        body.string("chat", words?.chat)
        body.string("wants", words?.wants)
        body.string("ts", time(items.map(\.wall).max() ?? 0))
        body.string("title", title(sender))
        body.string("message", message(words))
        body.integer("priority", event.priority)
        if items.count > 1 {
            body.integer("count", items.count)
            body.value("ids", .strings(items.map(\.id)))
        }
        return body.finish()
    }

    private func title(_ sender: NoticeSender) -> String {
        if items.count > 1 { return "While it was quiet" }
        if isSealed { return "A sealed chat" }
        return switch event {
        case .failed: "\(sender.agent): a run failed"
        case .waiting: "\(sender.agent) waits for you"
        case .stuck: "\(sender.agent): no sign of life"
        case .ended: "\(sender.agent): a run ended"
        }
    }

    private func message(_ words: NoticeWords?) -> String {
        guard items.count == 1 else { return gathered }
        let fixed =
            switch event {
            case .failed: "A run has failed."
            case .waiting: "The agent waits for an answer."
            case .stuck: "A run gives no sign of life. It goes on until you stop it."
            case .ended: "A run has ended."
            }
        let said = [words?.wants, words?.chat.map { "“\($0)”" }].compactMap(\.self)
        return said.isEmpty ? fixed : said.joined(separator: "\n")
    }

    private var gathered: String {
        let failed = items.count { $0.event == .failed }
        let waiting = items.count - failed
        let sentences = [
            waiting == 0 ? nil : waiting == 1 ? "1 ask waits for you." : "\(waiting) asks wait for you.",
            failed == 0 ? nil : failed == 1 ? "1 run failed." : "\(failed) runs failed.",
        ]
        return sentences.compactMap(\.self).joined(separator: " ")
    }
}

extension JSONText {
    fileprivate static func flag(_ value: Bool) -> JSONText { JSONText(unchecked: "\(value)") }

    fileprivate static func strings(_ values: [String]) -> JSONText {
        JSONText(unchecked: "[" + values.map { JSONText.string($0).text }.joined(separator: ",") + "]")
    }
}
