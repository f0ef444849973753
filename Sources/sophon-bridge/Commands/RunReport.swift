import BridgeCore
import BridgeModel
import BridgeService
import Commands
import Locking

/// What a running bridge tells, as events for programs and as lines for people.
final class RunReport: Sendable {
    private struct State {
        var left: Int
        var lastStop: CommandFailure?
    }

    private let output: Output
    private let state: Locked<State>

    init(output: Output, connections: Int) {
        self.output = output
        state = Locked(State(left: connections))
    }

    /// Why the process ends: no connection is left.
    var lastStop: CommandFailure? { state.withLock { $0.left <= 0 ? $0.lastStop : nil } }

    func tell(_ event: LiveEvent) {
        switch event {
        case .agentConnected(let name, let version, _, let isReconnect):
            output.event(
                isReconnect ? "agent_connected" : "openclaw_connected",
                [("connection", .string(name.text)), ("version", .string(version)), ("reconnect", .flag(isReconnect))])
            output.say("\(name): connected to the agent (\(version))")
        case .agentLost(let name, let reason, let wait):
            output.event("agent_lost", [("connection", .string(name.text)), ("reason", .string(reason))])
            output.say("\(name): the agent is away (\(reason)); next try in \(Self.seconds(wait))")
        case .relayConnected(let name, let installation, let isReconnect):
            output.event(
                "sophon_connected",
                [
                    ("connection", .string(name.text)), ("installation_id", .string(installation ?? "")),
                    ("reconnect", .flag(isReconnect)),
                ])
            output.say("\(name): connected to the relay")
        case .relayLost(let name, let reason, let wait):
            output.event("relay_lost", [("connection", .string(name.text)), ("reason", .string(reason))])
            output.say("\(name): the relay is away (\(reason)); next try in \(Self.seconds(wait))")
        case .ready(let name):
            output.event("ready", [("connection", .string(name.text))])
            output.say("\(name): ready")
        case .turnBegan: break
        case .turnEnded(let name, let turn, let outcome):
            output.event(
                "turn_ended",
                [
                    ("connection", .string(name.text)), ("turn", .string(turn.text)),
                    ("outcome", .string(outcome.rawValue)),
                ])
        case .callFailed(let name, let turn, let post, let refusal, let request):
            output.say(
                "\(name): the relay refused \(post) of \(turn): \(refusal.status) \(refusal.code) \(request?.text ?? "")"
            )
        case .deliveryNote(let name, let note, let turn, _): output.say("\(name): \(turn): \(note)")
        case .turnNote: break
        case .unknownFrames(let name, let link, let tally):
            output.say("\(name): unknown frames of the \(link): \(tally.counts), malformed: \(tally.malformed)")
        case .remedy(let name, let words), .note(let name, let words): output.say("\(name): \(words)")
        case .journalFailed(let name, let failure): output.say("\(name): the journal cannot be written: \(failure)")
        case .restored(let name, let turns): output.say("\(name): goes on with \(turns) turns")
        case .stopped(let name, let link, let message, let remedy, let exitCode):
            output.event(
                "error",
                [
                    ("connection", .string(name.text)), ("code", .number(Int(exitCode))),
                    ("message", .string(message)), ("remedy", .string(remedy)),
                ])
            output.say("\(name): \(message) \(remedy)")
            guard link == "relay" else { return }
            state.withLock { state in
                state.left -= 1
                state.lastStop = CommandFailure(code: ExitCode(rawValue: exitCode) ?? .unexpected, message: message)
            }
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        "\((duration.seconds * 10).rounded() / 10) s"
    }
}

extension JSONText {
    static func flag(_ value: Bool) -> JSONText { JSONText(unchecked: value ? "true" : "false") }
}
