import OpenClaw
package import RelayRules
package import Vocabulary

// Chats as the person sees them: sealed content is opened with the phones' keys.
extension WorldSide {
    static let unreadable = "(unreadable)"

    package var seenSessions: [PhoneSession] {
        guard seals else { return relay.sessions }
        return relay.sessions.map { seen($0) }
    }

    /// The agent's session that answers in a chat.
    package func agentSession(ofChat chat: Int) -> AgentSession? {
        chats[chat].map { SessionNames.session(of: SessionID($0)) }
    }

    func seenSession(_ id: String) -> PhoneSession? {
        let session = relay.sessions.first { $0.id == id }
        return seals ? session.map { seen($0) } : session
    }

    func keys(of session: String) -> [SecretKey] { sealing.phones.flatMap { $0.keys[session] ?? [] } }

    func opened(_ sealed: String, _ path: SealedReader.Path, in session: String) -> SealedReader.Opened? {
        guard let library = sealing.phones.first?.library else { return nil }
        return SealedReader(library: library).open(sealed, path, in: session, keys: keys(of: session))
    }

    /// Streamed pieces of one message, in order.
    func pieces(of message: String) -> [String] { sealedPieces[message] ?? [] }

    private func seen(_ session: PhoneSession) -> PhoneSession {
        func text(_ sealed: String, _ path: SealedReader.Path) -> String {
            opened(sealed, path, in: session.id)?.text ?? Self.unreadable
        }
        var session = session
        for index in session.messages.indices {
            let message = session.messages[index]
            guard let sealed = message.sealedText else { continue }
            session.messages[index].text = text(sealed, .messages)
            session.messages[index].streamed += pieces(of: message.id).map { text($0, .messages) }.joined()
        }
        for index in session.tasks.indices {
            let sealed = session.tasks[index].sealed.mapValues { text($0, .tasks) }
            session.tasks[index].label = session.tasks[index].label ?? sealed["status_label_ct"]
            session.tasks[index].arguments = session.tasks[index].arguments ?? sealed["args_ct"]
            session.tasks[index].result = session.tasks[index].result ?? sealed["result_ct"]
            session.tasks[index].error = session.tasks[index].error ?? sealed["error_ct"]
        }
        return session
    }

    func collectShown() {
        for event in relay.takeAllPhoneEvents() {
            shown.take(event) { [self] sealed, path, session in
                SealedReader.Path(rawValue: path).flatMap { opened(sealed, $0, in: session)?.text }
            }
        }
    }

    /// The relay passes pieces on and keeps none (relay.md#sendmessageend).
    func collectPieces() {
        guard seals else { return }
        for event in relay.phoneEvents(after: lastPhoneEvent) {
            lastPhoneEvent = event.id
            guard event.type == "message_delta" else { continue }
            let text = String(decoding: event.data, as: UTF8.self)
            guard let message = Self.member("message_id", of: text), let piece = Self.member("delta_ct", of: text)
            else { continue }
            sealedPieces[message, default: []].append(piece)
        }
    }

    /// Reads a member whose value has no escapes.
    private static func member(_ name: String, of json: String) -> String? {
        guard let start = json.firstRange(of: "\"\(name)\":\"")?.upperBound else { return nil }
        return String(json[start...].prefix { $0 != "\"" })
    }
}

extension WorldSide {
    /// An update that names no session.
    package func pushes(_ type: String, _ payload: String) {
        _ = relay.pushUpdate(
            type: type, session: nil, interaction: nil, payload: Array(payload.utf8), at: moment)
        pump()
    }
}
