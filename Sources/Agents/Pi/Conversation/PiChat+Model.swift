import AgentKit
import JSONReading
import Vocabulary

// The model of a prompt (pi.md#commands-stdin, `set_model`), and the end of a chat.
extension PiChat {
    /// A process is asked once for each prompt that wants another model than it has; its answer, whatever it is, lets the prompt go.
    mutating func choose(
        _ choice: ModelChoice, for run: RunID, at now: Instant
    ) -> (orders: [Order], mayGo: Bool) {
        if home.isSettled(run) { return ([], true) }
        if home.choosing != nil { return ([], false) }
        let wanted: String
        switch choice {
        case .unchanged: return ([], true)
        case .own(nil): return (refused(choice, of: run, "pi does not say which model was its own"), true)
        case .own(let model?), .named(let model): wanted = model
        }
        if home.model == wanted { return (settled(choice, of: run, .set(before: nil)), true) }
        guard let name = PiModel(wanted) else {
            return (refused(choice, of: run, "pi names its models as provider/model"), true)
        }
        home.asks(for: run)
        let id = requests.add(.model(run, choice, wanted), for: Self.answerLimit, at: now)
        return ([.write(PiFrames.setModel(name, id))], false)
    }

    mutating func modelAnswered(_ root: FrameNode, _ run: RunID, _ choice: ModelChoice, _ wanted: String) -> [Order] {
        guard root["success"]?.flag == true else {
            return refused(choice, of: run, root["error"]?.string ?? "no reason given")
        }
        let before = home.model
        home.model = PiModel.name(root["data"]) ?? wanted
        home.levels.modelChanged()
        return settled(choice, of: run, .set(before: before))
    }

    mutating func refused(_ choice: ModelChoice, of run: RunID, _ reason: String) -> [Order] {
        settled(choice, of: run, .refused(message: reason))
    }

    private mutating func settled(_ choice: ModelChoice, of run: RunID, _ answer: ModelAnswer) -> [Order] {
        home.settled(run)
        return [.observed([.modelAnswered(run, choice, answer)])]
    }

    /// Its model is not known any more; one that ends over a model again and again is not asked for it for ever.
    mutating func processEnded() -> [Order] {
        guard let run = home.processEnded() else { return [] }
        let choice = errands.lazy.compactMap { errand -> ModelChoice? in
            guard case .prompt(run, let prompt) = errand else { return nil }
            return prompt.model
        }.first
        guard let choice else { return [] }
        return [.observed([.modelAnswered(run, choice, .refused(message: "pi ended when it was asked for it"))])]
    }

    // MARK: The end of the chat

    mutating func release(isDeleted: Bool, at now: Instant) -> [Order] {
        (home.isLeft, home.isForgotten) = (true, isDeleted)
        return advance(at: now)
    }

    mutating func leaveIfLeft(at now: Instant) -> [Order] {
        guard home.isLeft, !isWanted, decoder.isIdle else { return [] }
        return leave(at: now)
    }

    mutating func forgetIfLeft() -> [Order] {
        home.isLeft = false
        guard home.isForgotten else { return [] }
        home.isForgotten = false
        guard home.file != nil else { return [] }
        home.forgetFile()
        return [.forget]
    }
}

/// A model as pi's commands name it.
struct PiModel: Hashable {
    let provider: String
    let id: String

    /// Of `provider/id`; the id may have more of these.
    init?(_ name: String) {
        guard let slash = name.firstIndex(of: "/"), slash != name.startIndex else { return nil }
        provider = String(name[..<slash])
        id = String(name[name.index(after: slash)...])
        if id.isEmpty { return nil }
    }

    static func name(_ model: FrameNode?) -> String? {
        guard let provider = model?["provider"]?.string, let id = model?["id"]?.string else { return nil }
        return "\(provider)/\(id)"
    }

    /// The answer to `get_available_models`.
    static func list(_ root: FrameNode) -> AgentReply {
        guard root["success"]?.flag == true else { return .refused(message: root["error"]?.string ?? "") }
        return .models((root["data"]?["models"]?.elements ?? []).compactMap { read($0) })
    }

    private static func read(_ node: FrameNode) -> AgentModel? {
        guard let name = name(node), ModelChoice.isName(name) else { return nil }
        var model = AgentModel(
            id: name, name: node["name"]?.string ?? node["id"]?.string ?? name, provider: node["provider"]?.string)
        model.contextWindow = node["contextWindow"]?.integer(in: .counts)
        model.reasoning = node["reasoning"]?.flag
        model.input = (node["input"]?.elements ?? []).prefix(8).compactMap(\.string)
        return model
    }
}
