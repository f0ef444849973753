package import AgentProtocols
package import BridgeCore
package import BridgeModel

/// What a connection needs of an agent, whatever its bus.
package protocol AgentLink: Sendable {
    /// What an earlier process had handed over. Before `start`.
    func adopt(_ record: TurnRecord)
    func start()
    func command(_ command: AgentCommand)
    /// Says goodbye; commands that come later are not carried out.
    func shutDown()
    var isClosed: Bool { get }
    func stop()
}

/// What an agent's link tells of itself.
package enum AgentLinkEvent: Sendable {
    case observed([Observation])
    case connected(version: String, scopes: [String]?)
    case waiting(reason: String, retryAt: Instant)
    /// What a person can do, while the bridge goes on trying.
    case remedy(String)
    case unknown(UnknownTally)
    case note(String)
    /// Only a person can help.
    case stopped(message: String, remedy: String, exitCode: Int32)
}

/// The link to an OpenClaw gateway: its session machine on a socket, and its secrets in their files.
package final class OpenClawLink: AgentLink {
    private let runner: LinkRunner<OpenClawSession>
    private let clock: any Clock

    /// `save` keeps a token that the gateway gave this device.
    package init(
        _ settings: OpenClawSettings, edges: LinkEdges,
        save: @escaping @Sendable (OpenClawSession.DeviceToken) -> Void,
        tell: @escaping @Sendable (AgentLinkEvent) -> Void
    ) {
        clock = edges.clock
        runner = LinkRunner(OpenClawSession(settings), edges: edges) { order in
            switch order {
            case .observed(let observations): tell(.observed(observations))
            case .saveDeviceToken(let token): save(token)
            case .note(let note): tell(AgentLinkEvent(note))
            case .stop(let stop):
                tell(.stopped(message: stop.message, remedy: stop.remedy, exitCode: stop.exitCode))
            case .dial, .send, .close: break
            }
        }
    }

    package func adopt(_ record: TurnRecord) {
        let forwarded = record.forwarded
        let opening = record.opening
        let wall = clock.wallMilliseconds
        runner.tell { session, now in
            let sentAt = wall - (now - opening.receivedAt).nanoseconds / 1_000_000
            for run in forwarded.runs {
                session.adopt(
                    run, in: opening.agentSession, text: run == opening.run ? opening.message?.text : nil,
                    stage: forwarded.isAccepted ? .accepted : .handedOver, sentAtMilliseconds: sentAt, at: now,
                    wallMilliseconds: wall)
            }
            for decided in forwarded.decisions {
                session.adopt(
                    decided.decision, of: decided.approval, subject: decided.subject, sentAtMilliseconds: sentAt,
                    at: now, wallMilliseconds: wall)
            }
        }
    }

    package func start() { runner.tell { session, now in session.start(at: now) } }

    package func command(_ command: AgentCommand) {
        let wall = clock.wallMilliseconds
        runner.tell { session, now in session.command(command, at: now, wallMilliseconds: wall) }
    }

    package func shutDown() { runner.tell { session, now in session.shutDown(at: now) } }
    package var isClosed: Bool { runner.isClosed }
    package func stop() { runner.stop() }
}

extension AgentLinkEvent {
    fileprivate init(_ note: OpenClawSession.Note) {
        switch note {
        case .connected(let version, _, let scopes): self = .connected(version: version, scopes: scopes)
        case .waiting(let reason, let retryAt): self = .waiting(reason: reason, retryAt: retryAt)
        case .remedy(let remedy): self = .remedy(remedy)
        case .missingScopes(let scopes, let remedy):
            self = .remedy("The gateway did not grant \(scopes.joined(separator: ", ")). \(remedy)")
        case .unknown(let tally): self = .unknown(tally)
        case .framesLost(let count): self = .note("the gateway dropped \(count) frames")
        case .requestFailed(let method, let code): self = .note("\(method) failed: \(code)")
        case .attachmentsLeftOut(_, let count): self = .note("\(count) attachments were left out")
        }
    }
}
