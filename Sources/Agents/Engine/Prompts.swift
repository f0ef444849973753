import AgentKit
import Vocabulary

/// Messages of one chat on their way to its child.
///
/// A message is *held* until `ConversationRules.mayBegin`, and then the `turn`. A steering one goes into the run as `words`, and is
/// held again if the run ends without it.
struct Prompts {
    struct Held: Hashable {
        let run: RunID
        var prompt: PicturePrompt
        /// Working folder, or nil for the chat's.
        var folder: String?
        var losses = 0
        /// An earlier child or an earlier process of the bridge had the prompt: it comes first.
        var isAgain = false
        /// A child has had it as words in its run.
        var wasSaid = false
    }

    private(set) var held: [Held] = []
    var turn: ChildTurn?
    /// Words said into the run, which has not taken them yet.
    var words: Held?
    /// Prompts that may be looked up until their run ends, with the parts that another child would need.
    private(set) var sought: [RunID: Remembered] = [:]

    struct Remembered: Hashable {
        var sought: Sought
        /// The prompt of an earlier process of the bridge, or nil if it cannot be written again.
        var prompt: PicturePrompt?
        var folder: String?
        var isStopped = false
        /// The person was told that the run is under way, so its end is reported as a run's.
        var isSaidToRun = false
        var losses = 0
    }

    func isHeld(_ run: RunID) -> Bool { held.contains { $0.run == run } }

    /// Bytes of prompts that wait or may be looked up.
    var heldBytes: Int {
        let pictures = held.reduce(turn?.prompt?.heldBytes ?? 0) { $0 + $1.prompt.heldBytes }
        return sought.values.reduce(pictures) { $0 + ($1.sought.text?.utf8.count ?? 0) + HeldBytes.entryCost }
    }

    mutating func remember(_ remembered: Remembered) { sought[remembered.sought.run] = remembered }
    mutating func forget(_ run: RunID) { sought[run] = nil }

    /// Holds a prompt. A steering one goes before those that do not steer.
    mutating func hold(_ run: RunID, _ prompt: PicturePrompt, in folder: String?) {
        let behind = held.lastIndex { $0.prompt.steers || $0.isAgain }
        held.insert(Held(run: run, prompt: prompt, folder: folder), at: prompt.steers ? (behind ?? -1) + 1 : held.count)
    }

    mutating func holdAgain(_ run: RunID, _ prompt: PicturePrompt, in folder: String?, losses: Int) {
        let behind = held.lastIndex { $0.isAgain }
        held.insert(
            Held(run: run, prompt: prompt, folder: folder, losses: losses, isAgain: true), at: (behind ?? -1) + 1)
    }

    mutating func changeSought(_ run: RunID, _ change: (inout Remembered) -> Void) {
        guard var known = sought[run] else { return }
        change(&known)
        sought[run] = known
    }

    /// Words of a refusal that no run took become the next prompt.
    mutating func holdFirst(_ words: Held) {
        held.insert(words, at: 0)
        held[0].wasSaid = true
    }

    mutating func change(_ run: RunID, _ change: (inout PicturePrompt) -> [MissingFile]) -> [MissingFile]? {
        guard let index = held.firstIndex(where: { $0.run == run }) else { return nil }
        return change(&held[index].prompt)
    }

    subscript(held run: RunID) -> PicturePrompt? { held.first { $0.run == run }?.prompt }

    /// False if the prompt was not held.
    mutating func drop(_ run: RunID) -> Bool {
        let wasHeld = isHeld(run)
        held.removeAll { $0.run == run }
        if wasHeld { sought[run] = nil }
        return wasHeld
    }

    mutating func takeFirst() -> Held? { held.isEmpty ? nil : held.removeFirst() }
    mutating func takeAll() -> [Held] {
        defer { held = [] }
        for one in held { sought[one.run] = nil }
        return held
    }
}

/// Model and level of the next prompt. The child hears each once a prompt, and its answer releases the prompt.
struct Choosing {
    enum Kind: Hashable { case model, level }

    /// Children that die over one choice before it is given up.
    private static let deaths = 2

    private var settled: [Kind: RunID] = [:]
    private var died: (run: RunID, kind: Kind, count: Int)?

    func isSettled(_ kind: Kind, of run: RunID) -> Bool { settled[kind] == run }
    mutating func settles(_ kind: Kind, of run: RunID) {
        settled[kind] = run
        if died?.run == run, died?.kind == kind { died = nil }
    }

    /// Another child has a model of its own. True if two children died over the choice of `walk`, which is given up.
    mutating func childDied(over walk: ChildWalk.Kind?) -> Bool {
        settled = [:]
        let asked: (RunID, Kind)? =
            switch walk {
            case .model(let run, _): (run, .model)
            case .level(let run, _): (run, .level)
            case .reach, .greet, .join, .find, .list, nil: nil
            }
        guard let (run, kind) = asked else {
            died = nil
            return false
        }
        let count = died?.run == run && died?.kind == kind ? (died?.count ?? 0) + 1 : 1
        died = (run, kind, count)
        guard count >= Self.deaths else { return false }
        settles(kind, of: run)
        return true
    }
}
