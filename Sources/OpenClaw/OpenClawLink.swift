package import AgentKit
package import BridgeModel
package import Links
import Locking

/// The link to an OpenClaw gateway: its session machine on a socket, and its secrets in their files.
package final class OpenClawLink: AgentLink {
    private let runner: LinkRunner<OpenClawSession>
    /// For the runner's own orders, which come before it has a name.
    private let itself: Locked<LinkRunner<OpenClawSession>?>
    private let clock: any Clock
    private let readAnew: @Sendable () -> OpenClawSettings?

    /// `save` keeps a token that the gateway gave this device. `renew` reads token and key again from their files, since a
    /// person may have mended them there; nil: they cannot be read.
    package init(
        _ settings: OpenClawSettings, edges: LinkEdges,
        save: @escaping @Sendable (OpenClawSession.DeviceToken) -> Void,
        renew: @escaping @Sendable () -> OpenClawSettings? = { nil },
        tell: @escaping @Sendable (AgentLinkEvent) -> Void
    ) {
        clock = edges.clock
        readAnew = renew
        let itself = Locked<LinkRunner<OpenClawSession>?>(nil)
        let runner = LinkRunner(OpenClawSession(settings), edges: edges) { [weak itself] order in
            switch order {
            case .observed(let observations): tell(.observed(observations))
            case .saveDeviceToken(let token): save(token)
            case .note(let note):
                tell(AgentLinkEvent(note))
                guard note.mayBeMendedInFiles, let new = renew() else { return }
                itself?.withLock { $0 }?.tell { session, now in session.use(new, at: now) }
            case .dial, .send, .close: break
            }
        }
        self.runner = runner
        self.itself = itself
        itself.withLock { $0 = runner }
    }

    package func adopt(_ turn: EarlierTurn) {
        let wall = clock.wallMilliseconds
        runner.tell { session, now in
            func sent(at moment: Instant) -> Int64 { wall - (now - moment).nanoseconds / 1_000_000 }
            for run in turn.runs {
                session.adopt(
                    run.id, in: turn.session, text: run.text, stage: turn.isAccepted ? .accepted : .handedOver,
                    isStopped: turn.isStopping, approvals: turn.detached,
                    sentAtMilliseconds: sent(at: turn.receivedAt), at: now,
                    wallMilliseconds: wall)
            }
            for decided in turn.decisions {
                session.adopt(
                    decided.decision, scope: decided.scope, of: decided.approval, subject: decided.subject,
                    sentAtMilliseconds: sent(at: decided.decidedAt ?? now), expiresAt: decided.expiresAt, at: now,
                    wallMilliseconds: wall)
            }
        }
    }

    package func start() { runner.tell { session, now in session.start(at: now) } }

    package func command(_ command: AgentCommand) {
        let wall = clock.wallMilliseconds
        runner.tell { session, now in session.command(command, at: now, wallMilliseconds: wall) }
    }

    package func slept() { runner.slept() }

    package func renew() {
        guard let new = readAnew() else { return }
        runner.tell { session, now in session.use(new, at: now) }
    }

    package func shutDown() { runner.tell { session, now in session.shutDown(at: now) } }
    package var isClosed: Bool { runner.isClosed }
    package func stop() { runner.stop() }
    package func holdReading(_ isHeld: Bool) { runner.holdReading(isHeld) }
    package var heldBytes: Int { runner.heldBytes }
}

extension OpenClawSession.Note {
    /// The cause of a refusal may be in a file that a person has changed meanwhile.
    fileprivate var mayBeMendedInFiles: Bool {
        guard case .waiting(_, _, let trouble?) = self else { return false }
        return switch trouble.kind {
        case .credential, .pairing, .device: true
        case .version, .passing: false
        }
    }
}

extension AgentLinkEvent {
    fileprivate init(_ note: OpenClawSession.Note) {
        switch note {
        case .connected(let version, _, let scopes): self = .connected(version: version, scopes: scopes)
        case .waiting(let reason, let retryAt, let trouble):
            self = .waiting(
                reason: reason, retryAt: retryAt,
                remedy: trouble.map { LinkRemedy($0.remedy, exitCode: $0.kind == .passing ? nil : $0.exitCode) })
        case .missingScopes(let scopes, let remedy):
            self = .remedy("The gateway did not grant \(scopes.joined(separator: ", ")). \(remedy)")
        case .unknown(let tally): self = .unknown(tally)
        case .framesLost(let count): self = .note("the gateway dropped \(count) frames")
        case .requestFailed(let method, let code): self = .note("\(method) failed: \(code)")
        case .attachmentsLeftOut(_, let count): self = .note("\(count) attachments were left out")
        }
    }
}
