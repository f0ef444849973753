package import AgentKit
import BridgeCore
import Locking
import Recording
import Vocabulary

/// A recording played on virtual time against a relay that accepts every call at once: the calls are the same every time, and can be
/// compared with a golden file (DESIGN.md#recording).
package enum VirtualReplay {
    package struct Result: Sendable {
        /// One line for each call: the time in milliseconds, the method, the body.
        package var lines: [String]
        package var summary: ReplaySummary
    }

    package static func play(
        file: String, as named: (any AgentPlugin)? = nil, of agents: AgentRegistry
    ) throws -> Result {
        let clock = VirtualClock()
        let relay = InstantRelay(clock: clock)
        let log = ReplayLog()
        let runner = BridgeRunner(
            settings: BridgeSettings(), relay: RelayAddress(baseURL: "", token: ""),
            edges: BridgeRunner.Edges(
                http: relay, clock: clock, alarm: clock, random: FixedRandom()),
            observe: { log.observe($0) })
        let agent = try named ?? agents.recognised(in: file)
        let reader = try RecordingReader(file: file)
        let replay = Replay(runner: runner, log: log, agent: agent, name: file, user: relay, clock: clock)
        try replay.play(reader) { milliseconds in
            clock.move(to: .zero + .milliseconds(milliseconds))
            return true
        }
        // Open turns have deadlines of their own, the last of them the relay's window.
        for _ in 0..<10_000 where runner.ask({ $0.openTurns }) > 0 {
            guard let next = clock.nextAlarm else { break }
            clock.move(to: next)
        }
        let summary = runner.ask { (tally: $0.tally, open: $0.openTurns) }
        return Result(
            lines: relay.lines, summary: log.result(tally: summary.tally, openTurns: summary.open, seconds: 0))
    }
}

/// A manual clock that rings its alarms as it advances.
private final class VirtualClock: Clock, Alarm {
    private struct State {
        var now = Instant.zero
        var alarm: (moment: Instant, ring: @Sendable () -> Void)?
    }

    private let state = Locked(State())

    var now: Instant { state.withLock { $0.now } }
    var wallMilliseconds: Int64 { 1_770_000_000_000 + (now - Instant.zero).nanoseconds / 1_000_000 }
    var nextAlarm: Instant? { state.withLock { $0.alarm?.moment } }

    func set(_ moment: Instant?, ring: @escaping @Sendable () -> Void) {
        state.withLock { $0.alarm = moment.map { ($0, ring) } }
    }

    func stop() { state.withLock { $0.alarm = nil } }

    func move(to moment: Instant) {
        while true {
            let ring: (@Sendable () -> Void)? = state.withLock { state in
                guard let alarm = state.alarm, alarm.moment <= moment else {
                    state.now = max(state.now, moment)
                    return nil
                }
                state.now = max(state.now, alarm.moment)
                state.alarm = nil
                return alarm.ring
            }
            guard let ring else { return }
            ring()
        }
    }
}

/// Accepts every call at once and writes it down.
private final class InstantRelay: HTTPClient, ReplayUser {
    private struct State {
        var lines: [String] = []
        var messages = 0
        var sessions = 0
    }

    private let state = Locked(State())
    private let clock: VirtualClock

    init(clock: VirtualClock) { self.clock = clock }

    var lines: [String] { state.withLock { $0.lines } }

    func send(_ request: HTTPRequest, completion: @escaping @Sendable (Result<HTTPResponse, HTTPFailure>) -> Void) {
        let method = request.url.split(separator: "/").last.map(String.init) ?? ""
        let milliseconds = (clock.now - Instant.zero).nanoseconds / 1_000_000
        let message = state.withLock { state in
            state.messages += method == "sendMessage" ? 1 : 0
            state.lines.append("\(milliseconds) \(method) \(String(decoding: request.body, as: UTF8.self))")
            return state.messages
        }
        let body = #"{"ok":true,"result":{"message_id":"msg_\#(message)"}}"#
        completion(.success(HTTPResponse(status: 200, body: Array(body.utf8))))
    }

    func writes(_ text: String, in session: SessionID?) -> (SessionID, InteractionID?, MessageID) {
        state.withLock { state in
            if session == nil { state.sessions += 1 }
            state.messages += 1
            let session = session ?? SessionID("ses_\(state.sessions)")
            return (session, InteractionID("int_\(state.messages)"), MessageID("msg_\(state.messages)"))
        }
    }

    func decides(_ approval: ApprovalID, _ decision: ApprovalDecision) -> Bool { false }
}

private struct FixedRandom: RandomSource {
    func next() -> UInt64 { 0x5DEE_CE66_D123_4567 }
}
