import JSONReading
import Vocabulary

/// One request of a Stop besides the interrupt of its turn.
enum CodexCleanUp: Hashable {
    /// Interrupts a sub-agent's turn by its id.
    case interrupt(child: String, turn: String)
    /// Finds and ends the open turn of a sub-agent's thread.
    case turns(child: String)
    /// Lists left-over commands of a stopped turn, in its thread or a sub-agent's. `calls` is nil for all commands of the thread.
    case terminals(thread: String, calls: Set<String>?)
    case terminate(thread: String, process: String)

    /// `attempt`: 1 is the first.
    func order(attempt: Int) -> CodexChat.Order {
        let (method, params) =
            switch self {
            case .interrupt(let child, let turn): ("turn/interrupt", CodexFrames.interrupt(child, turn))
            case .turns(let child): ("thread/turns/list", CodexFrames.turns(of: child, isWhole: true))
            case .terminals(let thread, _): ("thread/backgroundTerminals/list", CodexFrames.thread(thread))
            case .terminate(let thread, let process):
                ("thread/backgroundTerminals/terminate", CodexFrames.terminate(thread, process))
            }
        return .request(.cleanUp(self, attempt: attempt), method, params)
    }

    /// The sub-agent, if the request ends all its work rather than named calls.
    var child: String? {
        switch self {
        case .turns(let child), .terminals(let child, nil): child
        case .interrupt, .terminals, .terminate: nil
        }
    }

    var record: [UInt8] {
        var record = JSONObjectWriter()
        switch self {
        case .interrupt(let child, let turn):
            record.string("child", child)
            record.string("turn", turn)
        case .turns(let child): record.string("child", child)
        case .terminals(let thread, let calls):
            record.string("thread", thread)
            let items = calls?.sorted().map { call in
                var item = JSONObjectWriter()
                item.string("call", call)
                return item.finish()
            }
            if let items { record.objects("calls", items) }
        case .terminate(let thread, let process):
            record.string("thread", thread)
            record.string("process", process)
        }
        return record.finish()
    }

    init?(_ record: FrameNode) {
        if record["process"] != nil { return nil }
        if let thread = record["thread"]?.string {
            let calls = record["calls"].map { calls in Set(calls.elements.compactMap { $0["call"]?.string }) }
            self = .terminals(thread: thread, calls: calls)
        } else if let child = record["child"]?.string {
            self = record["turn"]?.string.map { .interrupt(child: child, turn: $0) } ?? .turns(child: child)
        } else {
            return nil
        }
    }
}

/// Requests of Stops that Codex has not confirmed: an overloaded server takes nothing, some requests get no answer
/// (codex.md#framing), and a lost connection loses the answers. Each is retried with growing pauses, `tries` times on one
/// connection, and again by the next process, which reads the record.
///
/// Invariants: a recorded request names its turn or its commands, or concerns a sub-agent that the stopped turn began. It is
/// retried only within `life`, and not once another turn has begun.
struct CodexCleanUps {
    static let tries = 5
    /// Counted from the Stop: a person may have given the sub-agent other work since.
    static let life = Duration.seconds(3_600)
    private static let recordLimit = 64

    private struct Open {
        let cleanUp: CodexCleanUp
        var attempt: Int
        /// Next attempt, or nil while an answer is pending.
        var due: Instant?
    }

    private var open: [Open] = []
    /// Requests that are open themselves or through a follow-up, and those recorded, or nil if unknown.
    private var begun: [CodexCleanUp] = []
    private var written: [CodexCleanUp]? = []
    /// Wall clock of the first request.
    private var since: Int64?
    /// Sub-agents in requests of an earlier process.
    private var earlier: Set<String> = []

    var isEmpty: Bool { open.isEmpty }
    var nextDue: Instant? { open.compactMap(\.due).min() }

    /// Timeout of an attempt's answer.
    static func limit(of attempt: Int) -> Duration {
        BackOff(first: CodexChat.interruptLimit, longest: CodexChat.answerLimit).pause(after: attempt)
    }
    /// Pause between a refusal and the next attempt.
    static func pause(behind attempt: Int) -> Duration { backOff.pause(after: attempt) }

    private static let backOff = BackOff(first: CodexTurn.lookAgain, longest: CodexTurn.lookAgain * 16)

    /// `isKept`: the next process may make the request too.
    mutating func isAsked(_ cleanUp: CodexCleanUp, attempt: Int, isKept: Bool) {
        put(cleanUp, attempt, due: nil)
        if isKept, !begun.contains(cleanUp), begun.count < Self.recordLimit { begun.append(cleanUp) }
    }

    mutating func waits(_ cleanUp: CodexCleanUp, attempt: Int, until due: Instant) { put(cleanUp, attempt, due: due) }

    mutating func giveUp() { open = [] }

    mutating func isDone(_ cleanUp: CodexCleanUp) { open.removeAll { $0.cleanUp == cleanUp } }

    /// Requests that are due, each with the number of its next attempt.
    mutating func takeDue(at now: Instant) -> [(cleanUp: CodexCleanUp, attempt: Int)] {
        let due = open.filter { $0.due.map { $0 <= now } ?? false }
        for known in due { isDone(known.cleanUp) }
        return due.map { ($0.cleanUp, $0.attempt + 1) }
    }

    /// No answer will come. Process ids may differ on the next connection, so the commands are listed anew.
    mutating func linkLost() {
        var left: [CodexCleanUp] = []
        for cleanUp in open.map(\.cleanUp) {
            if case .terminate(let thread, _) = cleanUp {
                left += begun.filter { if case .terminals(thread, _) = $0 { true } else { false } }
            } else {
                left.append(cleanUp)
            }
        }
        open = []
        for cleanUp in left { put(cleanUp, 1, due: .zero) }
    }

    private mutating func put(_ cleanUp: CodexCleanUp, _ attempt: Int, due: Instant?) {
        isDone(cleanUp)
        open.append(Open(cleanUp: cleanUp, attempt: attempt, due: due))
    }

    // MARK: Another process

    /// A sub-agent whose work an earlier process was to end.
    func isEarlier(_ child: String) -> Bool { earlier.contains(child) }

    mutating func restore(_ fact: [UInt8], _ parser: FrameParser, wall: Int64) {
        // A record that is not read whole is rewritten or removed.
        written = nil
        fact.withUnsafeBytes { bytes in
            guard let root = parser.parse(bytes, capacity: bytes.count),
                let since = root["at"]?.integer(in: .counts).map(Int64.init),
                (0...Self.life.nanoseconds / 1_000_000).contains(wall - since)
            else { return }
            self.since = since
            for record in root["left"]?.elements ?? [] {
                guard let cleanUp = CodexCleanUp(record) else { continue }
                put(cleanUp, 1, due: .zero)
                begun.append(cleanUp)
                if let child = cleanUp.child { earlier.insert(child) }
            }
        }
    }

    /// Nil if the record is current. The inner value is nil if nothing is left, which removes the record.
    mutating func takeRecord(wall: Int64) -> [UInt8]?? {
        if open.isEmpty { (begun, since, earlier) = ([], nil, []) }
        guard begun != written else { return nil }
        written = begun
        guard !begun.isEmpty else { return .some(nil) }
        since = since ?? wall
        var record = JSONObjectWriter()
        record.integer("at", since.map { Int($0) })
        record.objects("left", begun.map(\.record))
        return record.finish()
    }
}
