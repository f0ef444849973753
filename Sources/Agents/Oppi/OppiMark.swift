import AgentKit
import Vocabulary

/// Length and hash of a message that was written into a run, short enough for a fact. They recognise the message's row in
/// the history, with the lines that agents append (`PromptText`). A command may be there in any words.
struct OppiMark: Hashable {
    static let command = OppiMark(text: "/")

    /// Letters, digits and `-`, or a slash.
    let text: String

    private init(text: String) { self.text = text }

    init(of words: String) {
        self = words.hasPrefix("/") ? .command : OppiMark(text: Self.text(of: words.trimmed))
    }

    /// Nil if the fact is no mark.
    init?(fact: Substring) {
        guard !fact.isEmpty, fact.utf8.count <= 64 else { return nil }
        text = String(fact)
    }

    private static func text(of words: some StringProtocol) -> String {
        "\(words.utf8.count)-\(StableHash.text(ofBytes: words.utf8, length: 12))"
    }

    func fits(_ said: some StringProtocol) -> Bool {
        if self == .command { return true }
        guard let length = Int(text.prefix { $0 != "-" }) else { return false }
        let whole = said.trimmed
        let words = String(decoding: whole.utf8.prefix(length), as: UTF8.self)
        return Self.text(of: words) == text && PromptText.isPrompt(whole, words)
    }
}

/// Messages of ours that were written into runs, the newest last.
struct OppiSteers: Hashable {
    private struct Steer: Hashable {
        var run: RunID
        var into: RunID
        var mark: OppiMark
    }

    private static let limit = 16
    private var list: [Steer] = []

    func marks(in run: RunID) -> [OppiMark] { list.filter { $0.into == run }.map(\.mark) }

    mutating func add(_ run: RunID, _ text: String, into target: RunID) {
        guard !list.contains(where: { $0.run == run }) else { return }
        list.append(Steer(run: run, into: target, mark: OppiMark(of: text)))
        if list.count > Self.limit { list.removeFirst() }
    }

    /// Marks from an earlier process.
    mutating func add(_ marks: [OppiMark], into target: RunID) {
        for (index, mark) in marks.enumerated() {
            list.append(Steer(run: RunID("\(target)+\(index)"), into: target, mark: mark))
        }
    }

    /// The message was not written into a run after all.
    mutating func remove(_ run: RunID) { list.removeAll { $0.run == run } }

    /// Moves messages that no loop took up into this run.
    mutating func move(_ unheard: [RunID], to target: RunID) {
        for index in list.indices where unheard.contains(list[index].run) { list[index].into = target }
    }
}
