import LocalServer
import Locking
import RelayRules

/// A waiting request of the phone for something that only the bridge has: a file, its models, its routines.
struct WaitingView {
    let request: String
    /// Headers by which the answer names the phone's request.
    let trace: [RawHeader]
    let ticket: ResponseTicket
    let until: Moment
}

extension RelaySimulator {
    /// Our own limit: the documentation names none of the relay (relay.md#relay-to-bridge-rpcs-req_id-frames).
    private static let patienceMilliseconds: Int64 = 15_000

    private static let viewLimit = 256

    /// Holds the request until the bridge answers, or returns nil for another request.
    func remoteView(_ request: LocalRequest) -> LocalAnswer? {
        guard Relay.isForBridge(method: request.method, target: request.target) else { return nil }
        let now = clock.now()
        let raw = Self.raw(request)
        let answer: RemoteViewAnswer? = change { state in
            guard state.waitingViews.count < Self.viewLimit else {
                return .known(
                    .whole(
                        ControlReply.failure(503, "temporarily_unavailable", "Too many wait for the bridge already.")))
            }
            switch state.relay.viewRemote(raw, at: now) {
            case nil: return nil
            case .answered(let response): return .known(.whole(Self.localResponse(response)))
            case .inside(let type, let fields): return .inside(type, fields, state.questionHandler)
            case .asked(let id):
                let ticket = ResponseTicket()
                state.waitingViews.append(
                    WaitingView(
                        request: id, trace: state.relay.traceHeaders(for: raw.headers), ticket: ticket,
                        until: now.advanced(byMilliseconds: Self.patienceMilliseconds)))
                return .known(.deferred(ticket))
            }
        }
        switch answer {
        case nil: return nil
        case .known(let answer): return answer
        case .inside(let type, let fields, let handler):
            let reply = handler.map { Relay.response(to: Array($0(type, fields).utf8)) }
            return .whole(Self.localResponse(reply ?? Relay.noAnswer))
        }
    }
}

private enum RemoteViewAnswer: Sendable {
    case known(LocalAnswer)
    /// Ask the handler outside the lock.
    case inside(String, [UInt8], (@Sendable (String, [UInt8]) -> String)?)
}

extension SimulatorState {
    /// Answers the views whose answer has come, or whose time has passed.
    mutating func answerWaitingViews(at now: Moment) {
        guard !waitingViews.isEmpty else { return }
        waitingViews.removeAll { view in
            guard var answer = relay.remoteAnswer(view.request) ?? (now >= view.until ? Relay.noAnswer : nil) else {
                return false
            }
            answer.headers += view.trace
            view.ticket.answer(.whole(RelaySimulator.localResponse(answer)))
            return true
        }
    }
}
