import Locking
import RelayRules
import Simulator
import WireTesting

/// Time that the test advances. Actions run on the thread that advances it.
final class ManualClock: Sendable {
    private struct State {
        var milliseconds: Int64 = 1_800_000_000_000
        var actions: [(due: Int64, action: @Sendable () -> Void)] = []
    }

    private let state = Locked(State())
    /// Raised for each action that is put off, except the simulator's tick of every second.
    let delayed = Signal()

    var port: SimulatorClock {
        SimulatorClock(
            now: { Moment(milliseconds: self.state.withLock { $0.milliseconds }) },
            after: { milliseconds, action in
                self.state.withLock { $0.actions.append((due: $0.milliseconds + Int64(milliseconds), action: action)) }
                if milliseconds != 1_000 { self.delayed.raise() }
            })
    }

    func advance(milliseconds: Int64) {
        let end = state.withLock { $0.milliseconds } + milliseconds
        while let action = next(until: end) { action() }
        state.withLock { $0.milliseconds = end }
    }

    private func next(until end: Int64) -> (@Sendable () -> Void)? {
        state.withLock { state in
            guard let index = state.actions.indices.min(by: { state.actions[$0].due < state.actions[$1].due }),
                state.actions[index].due <= end
            else { return nil }
            let next = state.actions.remove(at: index)
            state.milliseconds = max(state.milliseconds, next.due)
            return next.action
        }
    }
}

/// A simulator on a free port with a manual clock, and the calls of a bridge, a phone and a tester.
final class Stage: Sendable {
    let clock = ManualClock()
    let simulator: RelaySimulator
    /// The session in which the user writes, made by events 1 and 2, and update 1.
    let session: String

    init(_ change: (inout RelaySimulator.Settings) -> Void = { _ in }) throws {
        var settings = RelaySimulator.Settings()
        change(&settings)
        simulator = RelaySimulator(settings: settings, clock: clock.port)
        session = simulator.userSends(text: "good morning").session
        try simulator.start()
    }

    deinit { simulator.stop() }

    var bridgeHeader: String { "Authorization: Bearer \(simulator.bridgeToken)" }
    var userHeader: String { "Authorization: Bearer \(simulator.userToken)" }

    func wire() throws -> Wire { try Wire(port: simulator.port) }

    func bridge(_ method: String, _ json: String, on wire: Wire? = nil) throws -> Wire.Reply {
        try (try wire ?? self.wire()).exchange(
            "POST", "/v1/bridge/\(method)", headers: [bridgeHeader, "Content-Type: application/json"],
            body: Array(json.utf8))
    }

    func user(_ method: String, _ target: String, _ json: String? = nil) throws -> Wire.Reply {
        try wire().exchange(method, target, headers: [userHeader], body: json.map { Array($0.utf8) })
    }

    /// A phone on the event stream, past the head.
    func phone(after last: String? = nil, query: String = "") throws -> Wire {
        let wire = try wire()
        let resume = last.map { ["Last-Event-ID: \($0)"] } ?? []
        try wire.request("GET", "/v1/me/stream\(query)", headers: [userHeader] + resume)
        guard try wire.head().status == 200 else { throw Wire.Failure.malformed("no event stream") }
        return wire
    }

    @discardableResult
    func say(_ text: String) -> RelaySimulator.UserMessage { simulator.userSends(text: text, session: session) }

    /// The user writes and the bridge opens the placeholder: the names of both.
    func openTurn() throws -> (sent: RelaySimulator.UserMessage, bubble: String) {
        let sent = say("hello")
        let reply = try bridge("sendMessage", placeholder(sent, key: "k-open"))
        return (sent, try value(of: "message_id", in: reply.text))
    }

    func placeholder(_ sent: RelaySimulator.UserMessage, key: String) -> String {
        #"{"session_id":"\#(sent.session)","interaction_id":"\#(sent.interaction)","text":" ","idempotency_key":"\#(key)"}"#
    }

    func delta(_ bubble: String, _ text: String, key: String) -> String {
        #"{"message_id":"\#(bubble)","delta":"\#(text)","idempotency_key":"\#(key)"}"#
    }

    func end(_ bubble: String, _ text: String) -> String {
        #"{"message_id":"\#(bubble)","text":"\#(text)","idempotency_key":"k-end"}"#
    }
}

/// The string value of the first member of a name.
func value(of name: String, in json: String) throws -> String {
    let mark = "\"\(name)\":\""
    guard let start = json.firstRange(of: mark) else { throw Wire.Failure.malformed(json) }
    return String(json[start.upperBound...].prefix { $0 != "\"" })
}
