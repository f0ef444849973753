import AgentKit
import JSONReading
import Vocabulary

/// The model of a chat's session at the server, and the choice of the next prompt (oppi.md#client--server-frames, `set_model`).
struct OppiModel: Hashable {
    /// The model in the server's last state: `provider/id`.
    var current: String?
    /// The prompt for which a model is being set.
    fileprivate var choosing: RunID?
    /// The prompt whose choice was answered.
    fileprivate var chosen: RunID?
    /// Sockets lost while a model was being set, for one prompt.
    fileprivate var losses = 0
    fileprivate static let lossLimit = 3
    var level = OppiLevel()

    mutating func socketLost() {
        level.socketLost()
        if choosing != nil { losses += 1 }
        (choosing, chosen) = (nil, nil)
    }
}

extension OppiChat {
    /// Sets the model once for each prompt that wants another than the session has; any answer releases the prompt.
    mutating func choose(
        _ choice: ModelChoice, for run: RunID, in place: OppiPlace, at now: Instant
    ) -> (orders: [Order], mayGo: Bool) {
        if model.chosen == run { return ([], true) }
        if model.choosing != nil { return ([], false) }
        let wanted: String
        switch choice {
        case .unchanged: return ([], true)
        case .own(nil):
            return (modelSettled(choice, of: run, .refused(message: "Oppi does not say which model was its own")), true)
        case .own(let name?), .named(let name): wanted = name
        }
        if model.current == wanted { return (modelSettled(choice, of: run, .set(before: nil)), true) }
        guard let slash = wanted.firstIndex(of: "/"), slash != wanted.startIndex else {
            return (modelSettled(choice, of: run, .refused(message: "Oppi names its models as provider/model")), true)
        }
        guard model.losses < OppiModel.lossLimit else {
            return (modelSettled(choice, of: run, .unsettled(message: "the connection was lost each time")), true)
        }
        model.choosing = run
        let id = requests.add(.model(run, choice), for: Self.commandLimit, at: now)
        let frame = OppiFrames.setModel(
            String(wanted[..<slash]), String(wanted[wanted.index(after: slash)...]), of: place.native, id)
        return ([.send(frame)], false)
    }

    mutating func modelAnswered(_ run: RunID, _ choice: ModelChoice, isDone: Bool, _ error: String) -> [Order] {
        guard isDone else { return modelSettled(choice, of: run, .refused(message: error)) }
        let before = model.current
        model.level.current = nil
        switch choice {
        case .own(let name?), .named(let name): model.current = name
        case .unchanged, .own(nil): break
        }
        return modelSettled(choice, of: run, .set(before: before))
    }

    mutating func modelUnanswered(_ run: RunID, _ choice: ModelChoice) -> [Order] {
        modelSettled(choice, of: run, .unsettled(message: "Oppi did not answer"))
    }

    private mutating func modelSettled(_ choice: ModelChoice, of run: RunID, _ answer: ModelAnswer) -> [Order] {
        (model.choosing, model.chosen, model.losses) = (nil, run, 0)
        return [.observed([.modelAnswered(run, choice, answer)])]
    }

    // MARK: The end of the chat

    /// The person archived or deleted the chat. Its session stays at the server, where its owner can continue it.
    mutating func release(isDeleted: Bool, at now: Instant) -> [Order] {
        link.ending = isDeleted ? .forgotten : .left
        let left = link.isUp ? advance(at: now) : leaveIfEnding()
        guard isDeleted, link.ending != nil, turn == nil, waiting.isEmpty, place != nil else { return left }
        // Another client's run alone keeps the chat open, and the next process does not follow that run.
        return left + [.forget]
    }

    /// Closes an ending chat once it has no run, no prompt, and shows no run of another client.
    mutating func leaveIfEnding() -> [Order] {
        guard let ending = link.ending, turn == nil, waiting.isEmpty, !showsOthers else { return [] }
        link.ending = nil
        var orders: [Order] = []
        if hasSocket {
            orders.append(.close(reason: "the chat has ended"))
            leaveSocket()
        }
        way = .absent
        guard ending == .forgotten, place != nil else { return orders }
        (home, decoder, link.earlier) = (.unknown, nil, nil)
        return orders + [.forget]
    }

    /// Without a turn of ours, a run at work is another client's.
    private var showsOthers: Bool { link.others != nil || way == .live && decoder?.isRunning == true }
}
