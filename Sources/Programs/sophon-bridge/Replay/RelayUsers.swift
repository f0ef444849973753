import BridgeCore
import BridgeService
import Commands
import Locking
import RelayProtocol
import RelayRules
import Simulator
import Transport
import Vocabulary

/// The person in front of the simulator in this process.
struct SimulatorUser: ReplayUser {
    let simulator: RelaySimulator

    func writes(_ text: String, in session: SessionID?) -> (SessionID, InteractionID?, MessageID) {
        let sent = simulator.userSends(text: text, session: session?.text)
        return (SessionID(sent.session), InteractionID(sent.interaction), MessageID(sent.message))
    }

    func decides(_ approval: ApprovalID, _ decision: ApprovalDecision) -> Bool {
        simulator.decide(approval: approval.text, decision: decision.rawValue)
    }

    /// Passes decisions back to the bridge as updates of the relay.
    func forwardDecisions(to runner: BridgeRunner) {
        simulator.onUpdate { [simulator] pending in
            simulator.acknowledge(upTo: pending.id)
            guard
                case .approval(let id, let decision, let details)? = RelayUpdate.read(pending.frame, at: .zero)?.payload
            else { return }
            runner.tell { bridge, now in
                bridge.decided(id, decision, scope: details.scope, reason: details.reason, at: now)
            }
        }
    }
}

/// A remote relay has no user in front of it: each session of the recording becomes a chat that the bridge opens itself.
struct RemoteUser: ReplayUser {
    let http: any HTTPClient
    let address: String
    let token: String

    func writes(_ text: String, in session: SessionID?) throws -> (SessionID, InteractionID?, MessageID) {
        if let session { return (session, nil, MessageID("")) }
        let call = RelayCall.newSession(source: "replay")
        let request = HTTPRequest(
            method: "POST", url: address + RelayEncoder.path(of: call),
            headers: [HTTPHeader("Authorization", "Bearer \(token)"), HTTPHeader("Content-Type", "application/json")],
            body: RelayEncoder.body(of: call))
        let answer = Locked<RelayAnswer?>(nil)
        http.send(request) { result in
            let read = RelayDecoder.answer(to: result, expecting: .session, wall: SystemClock().wallMilliseconds)
            answer.withLock { $0 = read }
        }
        _ = Pace.wait(atMost: .seconds(15)) { answer.withLock { $0 != nil } }
        switch answer.withLock({ $0?.outcome }) {
        case .delivered(let receipt):
            guard let session = receipt.session else { break }
            return (session, nil, MessageID(""))
        case .refused(let refusal):
            let isToken = refusal.status == 401 || refusal.status == 403
            throw CommandFailure(
                code: isToken ? .tokenRefused : .relayUnreachable,
                message: isToken
                    ? "the relay refused the token (\(refusal.status)); check --token or SOPHON_BOT_TOKEN"
                    : "the relay answered \(refusal.status) \(refusal.message)")
        case .unknown(let reason):
            throw CommandFailure(code: .relayUnreachable, message: "no chat could be opened at \(address): \(reason)")
        case nil: break
        }
        throw CommandFailure(code: .relayUnreachable, message: "\(address) did not answer in 15 seconds")
    }

    func decides(_ approval: ApprovalID, _ decision: ApprovalDecision) -> Bool { false }
}
