import Vocabulary

/// Choices of a chat as the journal keeps them: a message without a model leads back from them.
package struct ChosenModel: Hashable, Sendable {
    /// The newest model that a message named and that was passed on, or nil if the agent's session was never changed from here.
    package var name: String?
    /// The model that was set when `name` was chosen, until the agent has answered. Empty for the session's own.
    package var fallback: String?
    /// The session's model before the first choice, if the agent said so.
    package var original: String?
    /// The relay's last word outside of messages, for messages that name no model.
    package var said: String?
    package var level: ChosenLevel?

    package init(
        _ name: String? = nil, fallback: String? = nil, original: String? = nil, said: String? = nil,
        level: ChosenLevel? = nil
    ) {
        self.name = name
        self.fallback = fallback
        self.original = original
        self.said = said
        self.level = level
    }
}

/// The models that a person chose, by chat: which choice goes to the agent with the next message, and which are in quarantine.
///
/// - A choice is decided when its message is handed over, one message of a chat after another: it can overtake none.
/// - A model that is refused `refusalLimit` times in a row is not passed on until a message names another one, or none.
/// - Each line to the user is written once for each model of a chat.
struct ModelBook: Sendable {
    static let refusalLimit = 3
    private static let limit = 1_000

    private struct Chat: Hashable {
        var chosen = ChosenModel()
        /// The model of the refusals in a row. Empty for the agent's own.
        var refused: String?
        var refusals = 0
        /// The model that the person knows cannot be set.
        var told: String?
        var level = ChatLevel()

        /// The choice in the form that the journal keeps.
        var kept: ChosenModel {
            var kept = chosen
            kept.level = level.chosen
            return kept
        }

        init(_ kept: ChosenModel = ChosenModel()) {
            chosen = kept
            chosen.level = nil
            level = ChatLevel(kept.level)
        }

        mutating func refuse(_ model: String) -> Int {
            if refused != model { (refused, refusals) = (model, 0) }
            refusals += 1
            return refusals
        }

        mutating func isNews(_ model: String) -> Bool {
            defer { told = model }
            return told != model
        }
    }

    private var chats: [SessionID: Chat] = [:]
    /// Chats whose `ChosenModel` differs from the journal's.
    private var unkept: [SessionID] = []

    /// Forgets all chats. Returns those of which something was known, for the caller to delete from the journal.
    mutating func forgetAll() -> Set<SessionID> {
        defer { (chats, unkept) = ([:], []) }
        return Set(chats.keys).union(unkept)
    }

    /// `isPossible`: the agent's model can be chosen at all.
    mutating func choice(
        of model: String?, in session: SessionID, isPossible: Bool
    ) -> (choice: ModelChoice, line: String?) {
        guard model != nil || chats[session] != nil else { return (.unchanged, nil) }
        var chat = chats[session] ?? Chat()
        defer { keep(chat, of: session) }
        guard let model else {
            if chat.refused?.isEmpty == false { (chat.refused, chat.refusals) = (nil, 0) }
            chat.told = nil
            guard chat.chosen.name != nil, chat.refusals < Self.refusalLimit else { return (.unchanged, nil) }
            return (.own(chat.chosen.original), nil)
        }
        guard isPossible else {
            return (.unchanged, chat.isNews(model) ? Sentences.modelIsFixed(model) : nil)
        }
        guard ModelChoice.isName(model) else {
            return (.unchanged, chat.isNews(model) ? Sentences.modelIsNoName(model) : nil)
        }
        if chat.refused == model, chat.refusals >= Self.refusalLimit { return (.unchanged, nil) }
        if chat.chosen.name != model {
            // A choice without an answer may have been set, so the way back leads from it as well.
            chat.chosen.fallback = chat.chosen.name ?? ""
            chat.chosen.name = model
            unkept.append(session)
        }
        return (.named(model), nil)
    }

    /// The line that the message's bubble gets.
    mutating func answered(_ choice: ModelChoice, _ answer: ModelAnswer, in session: SessionID) -> String? {
        var chat = chats[session] ?? Chat()
        defer { keep(chat, of: session) }
        switch (choice, answer) {
        case (.unchanged, _): return nil
        case (.named(let model), .set(let before)):
            (chat.refused, chat.refusals, chat.told) = (nil, 0, nil)
            let known = chat.chosen
            // The session had this model as its own.
            if chat.chosen.fallback == "", before == model, chat.chosen.name == model { chat.chosen.name = nil }
            if chat.chosen.name != nil, chat.chosen.original == nil, before != model { chat.chosen.original = before }
            chat.chosen.fallback = nil
            if chat.chosen != known { unkept.append(session) }
            return nil
        case (.own, .set):
            let level = chat.level
            chat = Chat(ChosenModel(said: chat.chosen.said))
            chat.level = level
            unkept.append(session)
            return nil
        case (.named(let model), .refused(let reason)):
            // Nothing was set, so nothing leads back from it.
            if chat.chosen.name == model, let fallback = chat.chosen.fallback {
                chat.chosen.name = fallback.isEmpty ? nil : fallback
                chat.chosen.fallback = nil
                unkept.append(session)
            }
            switch chat.refuse(model) {
            case 1: return Sentences.modelRefused(model, reason)
            case Self.refusalLimit: return Sentences.modelInQuarantine(model)
            default: return nil
            }
        // No refusal: the model is tried again with the next message.
        case (.named(let model), .unsettled(let reason)):
            return chat.isNews(model) ? Sentences.modelRefused(model, reason) : nil
        case (.own, .unsettled(let reason)): return chat.isNews("") ? Sentences.ownModelRefused(reason) : nil
        case (.own, .refused(let reason)): return chat.refuse("") == 1 ? Sentences.ownModelRefused(reason) : nil
        }
    }

    /// `isPossible`: the agent's model can be chosen at all.
    mutating func level(of word: String?, in session: SessionID, isPossible: Bool) -> LevelChoice {
        guard isPossible else { return .unchanged }
        return change(session) { $0.choice(of: word) }
    }

    mutating func answered(_ choice: LevelChoice, _ answer: LevelAnswer, in session: SessionID) -> String? {
        change(session) { $0.answered(choice, answer) }
    }

    private mutating func change<Answer>(_ session: SessionID, _ change: (inout ChatLevel) -> Answer) -> Answer {
        var chat = chats[session] ?? Chat()
        let before = chat.level.chosen
        defer {
            if chat.level.chosen != before { unkept.append(session) }
            keep(chat, of: session)
        }
        return change(&chat.level)
    }

    /// The relay's word outside of messages (relay.md#others).
    mutating func said(_ model: String?, in session: SessionID) {
        var chat = chats[session] ?? Chat()
        guard chat.chosen.said != model else { return }
        chat.chosen.said = model
        unkept.append(session)
        keep(chat, of: session)
    }

    func saidModel(of session: SessionID) -> String? { chats[session]?.chosen.said }

    /// The chat is gone for good.
    mutating func forget(_ session: SessionID) {
        if chats.removeValue(forKey: session).map({ $0.kept != ChosenModel() }) == true { unkept.append(session) }
    }

    mutating func restore(_ chosen: ChosenModel, of session: SessionID) { chats[session] = Chat(chosen) }

    /// A change that could not be written holds, and is written with the next chance.
    mutating func wasNotWritten(_ session: SessionID) { if !unkept.contains(session) { unkept.append(session) } }

    /// Choices to write before the message that made them leaves.
    mutating func takeUnkept() -> [(session: SessionID, chosen: ChosenModel?)] {
        defer { unkept = [] }
        return unkept.map { session in
            let kept = chats[session]?.kept
            return (session, kept == ChosenModel() ? nil : kept)
        }
    }

    /// A choice is known for as long as its chat; refusals of many chats are not.
    private mutating func keep(_ chat: Chat, of session: SessionID) {
        if chats.count >= Self.limit, chats[session] == nil {
            chats = chats.filter { $0.value.kept != ChosenModel() }
        }
        chats[session] = chat == Chat() ? nil : chat
    }
}
