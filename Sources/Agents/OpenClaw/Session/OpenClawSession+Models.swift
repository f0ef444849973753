package import AgentKit
import JSONReading
package import Vocabulary

// The model and the level of a session (openclaw.md#others, `sessions.patch` and `models.list`), and the end of a chat.
extension OpenClawSession {
    /// Sets the model. Any answer releases the message: a model that cannot be set holds none up.
    mutating func choose(_ choice: ModelChoice, for run: RunID, in session: AgentSession, at now: Instant) {
        var params = JSONObjectWriter()
        params.string("key", session.text)
        switch choice {
        case .unchanged: return
        case .own: params.value("model", JSONText(unchecked: "null"))
        case .named(let model): params.string("model", model)
        }
        ask(.model(run, choice), "sessions.patch", params.finish(), at: now)
    }

    mutating func modelAnswered(_ run: RunID, _ choice: ModelChoice, _ error: Refusal?, at now: Instant) {
        let answer: ModelAnswer =
            switch error {
            case nil: .set(before: nil)
            case let error? where error.isRetryable: .unsettled(message: words(of: error))
            case let error?: .refused(message: words(of: error))
            }
        settle(choice, for: run, answer, at: now)
    }

    /// The gateway may still set the model: the next message with a choice asks again.
    mutating func modelUnanswered(_ run: RunID, _ choice: ModelChoice, at now: Instant) {
        settle(choice, for: run, .unsettled(message: "the gateway did not answer in time"), at: now)
    }

    private mutating func settle(_ choice: ModelChoice, for run: RunID, _ answer: ModelAnswer, at now: Instant) {
        guard let known = runs[run] else { return }
        runs.models.answered(choice, for: run, in: known.session, isSet: answer == .set(before: nil))
        runs.levels.modelChanged(in: known.session)
        observed([.modelAnswered(run, choice, answer)])
        handOver(run, at: now)
    }

    /// Sets the level, on the same terms as the model.
    mutating func choose(
        _ choice: LevelChoice, _ word: String?, for run: RunID, in session: AgentSession, at now: Instant
    ) {
        var params = JSONObjectWriter()
        params.string("key", session.text)
        if let word {
            params.string("thinkingLevel", word)
        } else {
            params.value("thinkingLevel", JSONText(unchecked: "null"))
        }
        ask(.level(run, choice, word: word), "sessions.patch", params.finish(), at: now)
    }

    mutating func levelAnswered(
        _ run: RunID, _ choice: LevelChoice, _ word: String?, _ error: Refusal?, at now: Instant
    ) {
        guard let error else {
            var instead: String?
            if case .level(let level) = choice, let word,
                ThoughtWords.word(for: level, among: [word])?.isLower == true
            {
                instead = word
            }
            return settle(choice, for: run, .set(before: nil, instead: instead), at: now)
        }
        if error.isRetryable { return settle(choice, for: run, .unsettled(message: words(of: error)), at: now) }
        // The model lacks this level: try the next word.
        if error.missingScope == nil, runs.levels.lacks(run) { return handOver(run, at: now) }
        settle(choice, for: run, .refused(message: words(of: error)), at: now)
    }

    mutating func levelUnanswered(_ run: RunID, _ choice: LevelChoice, at now: Instant) {
        settle(choice, for: run, .unsettled(message: "the gateway did not answer in time"), at: now)
    }

    private mutating func settle(_ choice: LevelChoice, for run: RunID, _ answer: LevelAnswer, at now: Instant) {
        guard let known = runs[run] else { return }
        let isSet = if case .set = answer { true } else { false }
        runs.levels.isSettled(choice, for: run, in: known.session, isSet: isSet)
        observed([.levelAnswered(run, choice, answer)])
        handOver(run, at: now)
    }

    /// Another client may have changed the model: the next message that names ours sets it again.
    mutating func noticeModel(_ event: FrameNode?, _ payload: FrameNode?) {
        guard event?.holds("sessions.changed") == true, payload?["reason"]?.holds("patch") == true,
            let key = payload?["sessionKey"]?.string
        else { return }
        let row = payload?["session"]?.isObject == true ? payload?["session"] : payload
        if let level = row?["thinkingLevel"] {
            runs.levels.noticed(level.string, in: sessionNames.ours(for: AgentSession(key)))
        }
        guard let model = row?["model"]?.string else { return }
        let provider = row?["modelProvider"]?.string
        runs.models.changed(
            in: sessionNames.ours(for: AgentSession(key)), to: [model] + (provider.map { ["\($0)/\(model)"] } ?? []))
    }

    // MARK: Questions of the phone

    package mutating func query(_ query: AgentQuery, as id: QueryID, at now: Instant) {
        guard isLive else { return refuse(id, "the gateway cannot be reached at the moment") }
        switch query {
        case .models: ask(.models(id), "models.list", Array("{}".utf8), at: now)
        case .schedule(let verb, let parameters): schedule(verb, parameters, as: id, at: now)
        }
    }

    mutating func refuse(_ query: QueryID, _ message: String) {
        orders.append(.replied(query, .refused(message: message)))
    }

    /// Refuses the phone's request that was lost with its socket. All other requests are repeated or looked up.
    mutating func refuseLost(_ request: GatewayRequest) {
        switch request {
        case .models(let query), .schedule(let query, _): refuse(query, "the connection to the gateway was lost")
        case .subscribe, .approvals, .send, .abort, .resolve, .history, .prompt, .wait, .lastWord, .row, .model, .level:
            break
        }
    }

    mutating func modelsAnswered(_ query: QueryID, _ payload: FrameNode?, _ error: Refusal?) {
        if let error { return refuse(query, words(of: error)) }
        guard let models = payload?["models"], models.isArray else { return refuse(query, "the gateway sent no list") }
        orders.append(.replied(query, .models(models.elements.compactMap { Self.model($0) })))
    }

    func words(of error: Refusal) -> String { error.missingScope.map { scopeRemedy([$0]) } ?? error.message }

    private static func model(_ node: FrameNode) -> AgentModel? {
        guard let id = node["id"]?.string, ModelChoice.isName(id) else { return nil }
        var model = AgentModel(id: id, name: node["name"]?.string ?? id, provider: node["provider"]?.string)
        model.alias = node["alias"]?.string
        model.contextWindow = node["contextWindow"]?.integer(in: .counts)
        model.reasoning = node["reasoning"]?.flag
        model.input = (node["input"]?.elements ?? []).prefix(8).compactMap(\.string)
        return model
    }

    // MARK: The end of a chat

    /// The gateway keeps the session, which its owner may continue; its frames are unsubscribed once its runs have ended.
    mutating func release(_ session: AgentSession, at now: Instant) {
        guard !runs.sessions.contains(session) else { return runs.isToBeLeft(session) }
        runs.isWanted(session)
        guard life.withLive({ $0.leaves(session) }) == true else { return }
        var params = JSONObjectWriter()
        params.string("key", session.text)
        ask(.subscribe, "sessions.messages.unsubscribe", params.finish(), at: now)
    }
}
