import RelayRules
import Vocabulary

// The person, and questions with several options: the reply is the chat's next message.
extension WorldRun {
    func replyToQuestions() {
        for side in world.sides {
            for id in plan.refusedQuestions.keys where side.scripted?.questions.contains(id) == true {
                refuse(id, side)
            }
            guard let pending = side.scripted?.questions.subtracting(replied), !pending.isEmpty else { continue }
            for id in pending.sorted() { reply(to: id, side) }
        }
    }

    /// Replies once the phone shows the question, in the bubble or as a message of its own.
    private func reply(to id: String, _ side: WorldSide) {
        guard let message = plan.messages.first(where: { $0.script.approval == id }),
            let sent = side.sent.first(where: { $0.text == message.text }),
            let chat = side.seenSession(sent.session),
            chat.messages.contains(where: { $0.role == .agent && Self.asks(id, $0) })
        else { return }
        replied.insert(id)
        let tap = message.decision?.tap ?? "deny"
        let text = tap == "deny" ? ScriptedChoice.no(id) : ScriptedChoice.yes(id)
        // A reply after the question has expired starts an ordinary run.
        side.gives(GatewayScript((20, .says("It is late.")), (30, .finishes)), to: text)
        let after = message.decision?.after ?? .seconds(1)
        write(text, in: sent.session, side, after: after)
        // The person taps twice.
        if tap == "approve_always" { write(text, in: sent.session, side, after: after + .milliseconds(30)) }
    }

    /// The relay refuses the question in the bubble, and as a message of its own.
    private func refuse(_ id: String, _ side: WorldSide) {
        guard refused.insert(id).inserted, let wait = plan.refusedQuestions[id],
            let message = plan.messages.first(where: { $0.script.approval == id })
        else { return }
        for method in ["sendMessageDelta", "sendMessage"] {
            side.relay.plan(Fault(.refused(status: 451, code: "content_blocked"), method: method))
        }
        side.habits.note("relay: refuses a question by its content")
        let text = Self.meanwhile(id)
        side.gives(GatewayScript((20, .says("I see.")), (30, .finishes)), to: text)
        side.writes(text, chat: message.chat, after: wait)
    }

    static func meanwhile(_ id: String) -> String { "Meanwhile \(id)?" }

    private static func asks(_ id: String, _ message: PhoneMessage) -> Bool {
        // A message outside an interaction is complete when it arrives.
        let text = message.isFinal || message.interaction == nil ? message.text : message.streamed
        return text.contains(ScriptedChoice.title(id)) && text.hasSuffix("/skip declines.")
    }

    private func write(_ text: String, in session: String, _ side: WorldSide, after: Duration) {
        world.time.after(after) { [weak side] in
            guard let side, side.relay.sessions.contains(where: { $0.id == session && !$0.isDeleted }) else { return }
            if side.seals {
                let sealed = side.sealing.phones[0].seal(text, in: session)
                side.relay.userSends(sealedText: sealed, session: session, at: side.moment)
            } else {
                side.relay.userSends(text: text, session: session, at: side.moment)
            }
            side.pump()
        }
    }
}
