package import Vocabulary

/// An Oppi server on virtual time, written from oppi.md without code of the bridge. A session has one run at a time,
/// which continues with or without followers; a session's trace is its state on the disk.
package final class ScriptedOppi: ScriptedAgent {
    package enum Dialect: String, Sendable, CaseIterable { case seed, head }

    /// How one server differs from another.
    package struct Habits: Sendable {
        package var dialect = Dialect.seed
        /// Entries of a session's ring, an environment setting of the server (oppi.md#envelope-and-sequence-numbers).
        package var ring = 500
        /// Share of deltas dropped for a slow reader, in the seed dialect only (oppi.md#keepalive-pressure-timers).
        package var drops = 0.0
        /// Time that an agent takes to start.
        package var startup = Duration.zero
        /// `tool_start` frames sent while the arguments are written. Only the head dialect sends more than one
        /// (oppi.md#tool-calls).
        package var fragments = 1
        /// Share of asks that are dialogs of an extension instead of permissions, in the head dialect only.
        package var choices = 0.0
        /// Lead of the server's clock.
        package var clockOffset = Duration.zero
        /// Nil if permissions never expire.
        package var approvalTimeout: Duration? = .seconds(120)
        /// Share of permissions that another device of the owner answers.
        package var elsewhere = 0.0
        /// The trace of a new session reaches the disk only with its first answer.
        package var isLate = false
        /// Share of stops that a run ignores (oppi.md#stopping).
        package var ignoresStops = 0.0
        /// Share of frames with a frame before them that concerns no run.
        package var noise = 0.0
        /// Share of runs that begin only once the agent is ready, and the time that takes.
        package var lateBeginnings = 0.0
        package var lateness = Duration.zero
        /// Limit of active sessions, while one of them could make room (oppi.md#session-limits).
        package var places = 20
        /// Tricks to draw from for each ask. If empty, asks are as the agent makes them.
        package var tricks: [OppiTrick] = []

        package init() {}

        package static func drawn(using random: inout SeededGenerator) -> Habits {
            var habits = Habits()
            habits.dialect = random.pick(Dialect.allCases)
            habits.ring = random.pick([500, 500, 500, 60, 12])
            habits.startup = .milliseconds(random.pick([0, 50, 800, 3_000]))
            habits.clockOffset = .seconds(random.pick([0, 0, 90, -90]))
            habits.approvalTimeout = random.pick([.seconds(120), .seconds(120), .seconds(3), nil])
            habits.elsewhere = random.pick([0, 0, 0, 0.3])
            habits.isLate = random.happens(0.5)
            habits.ignoresStops = random.pick([0, 0, 0, 0.3])
            habits.noise = random.pick([0, 0, 0.1])
            if habits.dialect == .seed {
                habits.drops = random.pick([0, 0, 0.2, 0.7])
            } else {
                habits.fragments = random.pick([1, 2, 4, 4, 4, 520])
                habits.choices = random.pick([0, 0.5, 1])
            }
            // A separate generator, so the draws above stay as they were.
            var later = SeededGenerator(seed: random.next() ^ 0x6C61_7465)
            habits.lateBeginnings = later.pick([0, 0.3, 0.6, 0.6])
            habits.lateness = .milliseconds(later.pick([1_500, 6_000, 14_000, 28_000]))
            habits.places = later.pick([1, 2, 3, 20])
            return habits
        }
    }

    struct Line {
        var line: DoubleLine
        /// Subscriptions by session. True for level `full`. An entry outlives the session's activation
        /// (oppi.md#level-rules).
        var levels: [String: Bool] = [:]
        /// Frames of the client that wait. The server handles one after another.
        var inbox: ArraySlice<GatewayValue> = []
        var isWorking = false
        /// When the newest subscriptions arrived.
        var subscribed: [Instant] = []
    }

    package var scripts: [String: GatewayScript] = [:]
    package internal(set) var asked: [AgentAsked] = []
    package internal(set) var decided: [AgentDecided] = []
    package internal(set) var executed: [AgentExecuted] = []
    package internal(set) var attached: [GatewayFiles] = []
    /// Whole prompts, with the bridge's notes, by the person's words.
    var wholePrompts: [String: String] = [:]
    package internal(set) var breaches: [String] = []
    package internal(set) var questions: Set<String> = []
    package let tally = HabitTally()
    package internal(set) var lost: Set<String> = []
    package internal(set) var unwritten: Set<String> = []
    package internal(set) var stubborn: Set<String> = []
    var ends: [String: Instant] = [:]
    var lines: [Int: Line] = [:]
    /// Existing sessions, oldest first.
    var sessions: [OppiSession] = []
    var permissions: [String: OppiPermission] = [:]
    var sessionCount = 0
    var runCount = 0
    var streamSequence = 0
    var startedAt = Instant.zero
    /// Until then something in front of the server answers REST calls.
    var pagesUntil = Instant.zero
    let time: VirtualTime
    let habits: Habits
    var random: SeededGenerator

    package init(_ time: VirtualTime, _ habits: Habits = Habits(), seed: UInt64 = 1) {
        self.time = time
        self.habits = habits
        random = SeededGenerator(seed: seed)
    }

    package static let token = "sk_one"

    var isSeed: Bool { habits.dialect == .seed }
    package var isBusy: Bool { sessions.contains { $0.activation?.run != nil } }
    package func isAtWork(since then: Instant) -> Bool { sessions.contains { $0.activation?.run?.hasBegun == true } }
    package var hasHoles: Bool { habits.drops > 0 }
    /// Prompts whose whole answer is in a trace.
    package var finished: Set<String> { Set(ends.keys) }
    package func endedAt(_ prompt: String) -> Instant? { ends[prompt] }
    package func isLost(_ prompt: String) -> Bool { lost.contains(prompt) }
    package func isUnwritten(_ prompt: String) -> Bool { unwritten.contains(prompt) }
    package func ignoresStop(_ prompt: String) -> Bool { stubborn.contains(prompt) }

    var wallMilliseconds: Int64 { time.wallMilliseconds + habits.clockOffset.nanoseconds / 1_000_000 }

    func session(_ id: String?) -> OppiSession? { sessions.first { $0.id == id } }

    // MARK: Sockets

    package func opened(_ line: DoubleLine) -> Bool {
        guard line.arguments.first?.hasSuffix("/stream") == true else {
            breaches.append("a socket to \(line.arguments)")
            return false
        }
        lines[line.number] = Line(line: line)
        say(["type": "stream_connected", "userName": "potting-shed"], on: line.number)
        return true
    }

    package func ended(_ line: DoubleLine) {
        lines[line.number] = nil
        for session in sessions { session.activation?.followers[line.number] = nil }
    }

    package func received(_ bytes: [UInt8], on line: DoubleLine) {
        guard lines[line.number] != nil else { return }
        guard let frame = GatewayValue.parse(bytes), frame["type"]?.string != nil else {
            return breaches.append("no frame: \(String(decoding: bytes, as: UTF8.self))")
        }
        lines[line.number]?.inbox.append(frame)
        work(line.number)
    }

    /// Handles the next frame of this socket. Later frames wait until it is done (oppi.md#opening-a-connection).
    private func work(_ number: Int) {
        guard lines[number]?.isWorking == false, let frame = lines[number]?.inbox.popFirst() else { return }
        lines[number]?.isWorking = true
        take(frame, on: number) { [self] in
            lines[number]?.isWorking = false
            work(number)
        }
    }

    private func take(_ frame: GatewayValue, on number: Int, done: @escaping () -> Void) {
        let type = frame["type"]?.string ?? ""
        switch type {
        case "subscribe": return subscribe(frame, on: number, done: done)
        case "unsubscribe":
            let id = frame["sessionId"]?.string ?? ""
            lines[number]?.levels[id] = nil
            session(id)?.activation?.followers[number] = nil
            result(frame, data: ["sessionId": "\(id)"], on: number)
        case "permission_response": answerPermission(frame, on: number)
        case "prompt", "steer", "follow_up", "stop", "abort", "abort_retry", "get_state", "extension_ui_response",
            "get_queue", "set_queue", "stop_session":
            command(type, frame, on: number)
        default: breaches.append("frame \(type)")
        }
        done()
    }

    // MARK: Frames

    func say(_ frame: GatewayValue, on number: Int) {
        lines[number]?.line.say(String(decoding: frame.bytes, as: UTF8.self))
    }

    func result(_ frame: GatewayValue, data: GatewayValue? = nil, error: String? = nil, on number: Int) {
        guard let request = frame["requestId"] else { return }
        let command = frame["type"]?.string ?? ""
        let answer: GatewayValue = [
            "type": isSeed ? "rpc_result" : "command_result", "command": "\(command)", "requestId": request,
            "success": .flag(error == nil),
        ]
        let session = command == "permission_response" ? nil : frame["sessionId"]
        say(
            answer.with("data", data).with("error", error.map { .text($0) }).with("sessionId", session), on: number)
    }

    func complain(_ error: String, of session: String? = nil, code: String? = nil, on number: Int) {
        let frame: GatewayValue = ["type": "error", "error": "\(error)"]
        say(
            frame.with("code", code.map { .text($0) }).with("sessionId", session.map { .text($0) }), on: number)
    }

    /// Permission frames go to every socket (oppi.md#permissions).
    func sayToAll(_ frame: GatewayValue) {
        streamSequence += 1
        let numbered = frame.with("streamSeq", .integer(streamSequence))
        for number in lines.keys.sorted() { say(numbered, on: number) }
    }
}
