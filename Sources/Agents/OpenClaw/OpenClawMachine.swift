package import AgentKit
import Links
package import Vocabulary

/// OpenClaw's session as a machine of the host: one channel, and a private file for its device's tokens.
///
/// - The session decides. This type translates its orders, keeps its credentials and rereads them.
/// - The cause of a refusal may lie in a file that a person has mended meanwhile: after each
///   such refusal the settings are reread (`.readSettings`), before the next try.
/// - Under `check` nothing is stored and only findings are reported; the first verdict ends it, or 15 s.
package struct OpenClawMachine: ~Copyable, AgentMachine {
    package typealias Settings = OpenClawSettings

    static let channel = ChannelID(1)

    private var session: OpenClawSession
    private let trust: Trust
    private var tokens = TokenErrand()
    private var loads = FileLoads()
    private var mayPause = false
    private var check: GatewayCheck?

    package init(_ settings: OpenClawSettings, authorityFile: String? = nil, listener: ListenerTrust = .own) {
        session = OpenClawSession(settings)
        trust = Trust(authorityFile.map { .authority(file: $0) } ?? .system, listener: listener)
    }

    /// The machine of `doctor`: `check` holds the findings that precede the gateway's verdict.
    package init(
        _ settings: OpenClawSettings, authorityFile: String? = nil, listener: ListenerTrust = .own,
        _ check: GatewayCheck
    ) {
        self.init(settings, authorityFile: authorityFile, listener: listener)
        self.check = check
    }

    package var nextDeadline: Instant? {
        [session.nextDeadline, loads.nextDeadline, check?.deadline].compactMap(\.self).min()
    }
    package var nextReadingDeadline: Instant? { session.nextReadingDeadline }

    // MARK: The course

    package mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] {
        session.unread = now.unread
        for turn in past.turns { adopt(turn, now) }
        session.start(at: now.now)
        return orders(now)
    }

    private mutating func adopt(_ turn: EarlierTurn, _ now: Occasion) {
        func sent(at moment: Instant) -> Int64 {
            now.wallMilliseconds - (now.now - moment).nanoseconds / 1_000_000
        }
        for run in turn.runs {
            session.adopt(
                run.id, in: turn.session, text: run.text, hadFiles: run.hadFiles,
                stage: turn.isAccepted ? .accepted : .handedOver,
                isStopped: turn.isStopping, stopReach: turn.stopReach, model: run.model, level: run.level,
                approvals: turn.detached,
                asks: turn.asks.filter { !$0.isOver }.map(\.approval),
                sentAtMilliseconds: sent(at: turn.receivedAt),
                at: now.now, wallMilliseconds: now.wallMilliseconds)
        }
        for decided in turn.decisions {
            session.adopt(
                decided.decision, scope: decided.scope, of: decided.approval, subject: decided.subject,
                sentAtMilliseconds: sent(at: decided.decidedAt ?? now.now), expiresAt: decided.expiresAt,
                fingerprint: decided.fingerprint,
                at: now.now, wallMilliseconds: now.wallMilliseconds)
        }
    }

    package mutating func check(_ now: Occasion) -> [AgentOrder] {
        session.unread = now.unread
        guard let first = check?.begin(at: now.now) else { return [.done] }
        session.start(at: now.now)
        return first.map { .finding($0) } + orders(now)
    }

    package mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] {
        session.unread = now.unread
        session.command(command, at: now.now, wallMilliseconds: now.wallMilliseconds)
        return orders(now)
    }

    package mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder] {
        session.unread = now.unread
        session.query(query, as: id, at: now.now)
        return orders(now)
    }

    package mutating func use(_ settings: OpenClawSettings, _ now: Occasion) -> [AgentOrder] {
        session.unread = now.unread
        session.use(settings, at: now.now)
        return settings.secrets.map { .cover($0) } + orders(now)
    }

    package mutating func shutDown(_ now: Occasion) -> [AgentOrder] {
        session.unread = now.unread
        session.shutDown(at: now.now)
        return orders(now)
    }

    // MARK: The channel

    package mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder]
    ) {
        session.unread = now.unread
        var random = SeededGenerator(seed: now.random)
        session.received(frame, capacity: capacity, at: now.now, using: &random)
        translate(now, into: &orders)
    }

    package mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] {
        session.unread = now.unread
        var random = SeededGenerator(seed: now.random)
        switch event {
        case .opened: session.opened(at: now.now)
        case .refused(let status, let body):
            session.refused(status: status, body: body, at: now.now, using: &random)
        case .failed(let message, .foreignListener) where check != nil:
            if let findings = check?.foreignListener(message) { return conclude(findings, now) }
        case .failed(let message, _): session.failed(message: message, at: now.now, using: &random)
        case .closed(let code, let reason): session.closed(code: code, reason: reason, at: now.now, using: &random)
        // A gateway proves by its ticks that it lives.
        case .heard, .spawned, .skipped, .exited, .waits, .wanted: break
        }
        return orders(now)
    }

    // MARK: Time

    package mutating func timePassed(_ now: Occasion) -> [AgentOrder] {
        session.unread = now.unread
        var random = SeededGenerator(seed: now.random)
        session.timePassed(at: now.now, wallMilliseconds: now.wallMilliseconds, using: &random)
        if let finding = check?.timePassed(at: now.now) { return conclude(finding, now) }
        return loads.timePassed(at: now.now) + orders(now)
    }

    package mutating func slept(_ now: Occasion) -> [AgentOrder] {
        session.unread = now.unread
        var random = SeededGenerator(seed: now.random)
        session.slept(at: now.now, using: &random)
        return orders(now)
    }

    // MARK: Work

    package mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder] {
        session.unread = now.unread
        switch loads.finished(work, result, at: now.now) {
        case .foreign: return tokens.finished(result, wallMilliseconds: now.wallMilliseconds)
        case .more(let orders): return orders
        case .loaded(let loaded):
            session.loaded(loaded, at: now.now)
            return orders(now)
        case .unreadable(let run, let sentence):
            session.unreadable(run, sentence, at: now.now)
            return orders(now)
        }
    }

    // MARK: Orders

    private mutating func orders(_ now: Occasion) -> [AgentOrder] {
        var orders: [AgentOrder] = []
        translate(now, into: &orders)
        return orders
    }

    private mutating func translate(_ now: Occasion, into orders: inout [AgentOrder]) {
        for order in session.takeOrders() {
            if check == nil {
                translate(order, into: &orders)
            } else if let connection = Self.channelOrder(order, trust) {
                orders.append(connection)
            } else if let findings = check?.hear(order) {
                orders += conclude(findings, now)
            }
        }
        guard session.mayPauseReading != mayPause else { return }
        mayPause.toggle()
        orders.append(.mayPause(Self.channel, mayPause))
    }

    private mutating func conclude(_ findings: [DoctorFinding], _ now: Occasion) -> [AgentOrder] {
        session.shutDown(at: now.now)
        let farewell = session.takeOrders().compactMap { Self.channelOrder($0, trust) }
        return findings.map { .finding($0) } + farewell + [.done]
    }

    private static func channelOrder(_ order: OpenClawSession.Order, _ trust: Trust) -> AgentOrder? {
        switch order {
        case .dial(let url, let headers):
            var plan = SocketPlan(url: url)
            plan.headers = headers
            plan.trust = trust
            return .open(channel, .socket(plan))
        case .send(let frame): return .send(channel, frame)
        case .close(let code, let reason): return .close(channel, .socket(code: code, reason: reason))
        case .observed, .replied, .load, .dropLoad, .saveDeviceToken, .note: return nil
        }
    }

    private mutating func translate(_ order: OpenClawSession.Order, into orders: inout [AgentOrder]) {
        switch order {
        case .dial, .send, .close: if let order = Self.channelOrder(order, trust) { orders.append(order) }
        case .observed(let observations): orders.append(.observed(observations))
        case .replied(let query, let reply): orders.append(.replied(query, reply))
        case .load(let run, let files): orders += loads.begin(run, files)
        case .dropLoad(let run): loads.drop(run)
        case .saveDeviceToken(let token): orders += [.cover(Secret(token.token))] + tokens.keep(token)
        case .note(let note):
            orders.append(AgentOrder(note))
            if note.mayBeMendedInFiles { orders.append(.readSettings) }
        }
    }
}

extension OpenClawSession.Note {
    /// Whether a person may mend the cause of this refusal in a file.
    fileprivate var mayBeMendedInFiles: Bool {
        guard case .waiting(_, _, let trouble?) = self else { return false }
        return switch trouble.kind {
        case .credential, .pairing, .device: true
        case .version, .passing: false
        }
    }
}

extension AgentOrder {
    fileprivate init(_ note: OpenClawSession.Note) {
        switch note {
        case .connected(let version, _, let scopes): self = .state(.up(version: version, scopes: scopes))
        case .waiting(let reason, let retryAt, let trouble):
            self = .state(
                .waiting(
                    reason: reason, retryAt: retryAt,
                    remedy: trouble.map { LinkRemedy($0.remedy, exitCode: $0.kind == .passing ? nil : $0.exitCode) }))
        case .missingScopes(let scopes, let remedy):
            self = .note(.remedy("The gateway did not grant \(scopes.joined(separator: ", ")). \(remedy)"))
        case .unknown(let tally): self = .note(.unknown(tally))
        case .framesLost(let count): self = .note(.words("the gateway dropped \(count) frames"))
        case .requestFailed(let method, let code): self = .note(.words("\(method) failed: \(code)"))
        }
    }
}
