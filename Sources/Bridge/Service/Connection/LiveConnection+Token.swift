import AgentKit
import BridgeCore
import Links
import Locking
import RelayProtocol
package import Vocabulary

/// Token of a connection, and its successor.
///
/// - Another token of the same installation takes over socket, calls and buckets at once.
/// - Before a token of another installation takes over, open turns end with the old one, within `Farewell.limit`: the new one can say nothing
/// of them. What the old token can no longer end closes as dead letters.
struct TokenState: Sendable {
    struct Farewell: Sendable {
        static let limit = Duration.seconds(10)

        var next: Secret
        var ends: Instant
        /// True once the turns know of the farewell. An end that is delivered earlier must not switch the token: the remaining steps of the
        /// farewell would stop the new token's link and calls.
        var hasBegun = false
    }

    /// Nil if the connection has no token.
    var token: Secret?
    /// Installation of the turns that an earlier process left, or nil if it stored none.
    var restored: Substring?
    var farewell: Farewell?
    /// The relay accepts nothing more from this token.
    var isStopped = false

    enum Step {
        case none, move, leave
        /// Switch tokens and give up open turns: no token remains that could end them.
        case abandon
    }

    /// Chooses how to switch. `hasOpenTurns` is true if an immediate switch would lose something.
    mutating func use(_ new: Secret, hasOpenTurns: Bool, at now: Instant) -> Step {
        if farewell != nil {
            // The newest token wins; the farewell in progress continues.
            farewell?.next = new
            return .none
        }
        guard new != token else { return .none }
        let home = token?.installation ?? restored
        guard hasOpenTurns, let home, home != new.installation else { return .move }
        guard token != nil else { return .abandon }
        farewell = Farewell(next: new, ends: now + Farewell.limit)
        return .leave
    }
}

/// Whether an installation can still show what was begun for it.
enum Belonging {
    case stays
    /// The old token serves a moment longer: what begins now ends at once.
    case isLeft
    case left
}

extension Secret {
    /// Part of a relay's token before the colon (relay.md#bridge-token).
    var installation: Substring { text.prefix { $0 != ":" } }
}

extension LiveConnection {
    /// Switches to another token.
    package func use(_ new: Secret) {
        let step = step(to: new)
        switch step {
        case .none: break
        case .move: move(to: new)
        case .abandon:
            runner?.tell { bridge, now in bridge.abandonsTurns(at: now) }
            move(to: new)
        case .leave:
            relay?.tell { link, now in link.shutDown(at: now) }
            condition.withLock { $0.relayIsUp = false }
            tell(.note(name, "the token is of another installation; what is open ends with the old one first"))
            runner?.tell { bridge, now in bridge.leavesInstallation(at: now) }
            token.withLock { $0.farewell?.hasBegun = true }
            endFarewell()
        }
    }

    /// Takes the lock of the runner before the token's, as observations of the agent do: a run is mirrored under both.
    private func step(to new: Secret) -> TokenState.Step {
        let isAccepting = condition.withLock { !$0.arriving.accepting.isEmpty }
        guard let runner else { return token.withLock { $0.use(new, hasOpenTurns: isAccepting, at: clock.now) } }
        return runner.ask { bridge in
            let hasOpenTurns = isAccepting || bridge.openTurns > 0
            return token.withLock { $0.use(new, hasOpenTurns: hasOpenTurns, at: clock.now) }
        }
    }

    /// A message that is being stored counts as open until its turn has begun.
    private var hasOpenTurns: Bool {
        condition.withLock { !$0.arriving.accepting.isEmpty } || ask { $0.openTurns > 0 } ?? false
    }

    /// Installation of the token that calls use.
    var installation: Substring? { token.withLock { $0.token?.installation } }

    /// State of the installation that something was begun for.
    func belonging(to installation: Substring?) -> Belonging {
        token.withLock { state in
            guard state.token?.installation == installation else { return .left }
            return state.farewell == nil ? .stays : .isLeft
        }
    }

    /// Ends the farewell once no turn is open, or its time has passed.
    func endFarewell() {
        let begun = token.withLock { state in state.farewell.flatMap { $0.hasBegun ? $0.ends : nil } }
        guard let ends = begun, !condition.withLock({ $0.isClosing }) else { return }
        if hasOpenTurns {
            guard clock.now >= ends else { return }
            runner?.tell { bridge, now in bridge.abandonsTurns(at: now) }
        }
        guard let next = token.withLock({ state in state.farewell.take()?.next }) else { return }
        move(to: next)
    }

    private func move(to new: Secret) {
        let (old, wasStopped) = token.withLock { state in
            defer { (state.token, state.isStopped) = (new, false) }
            return (state.token?.installation ?? state.restored, state.isStopped)
        }
        if let old, old != new.installation { forgetChats() }
        if old != new.installation { keepInstallation() }
        // Report this before the link can come up: the status keeps the newest event.
        if wasStopped { tell(.mended(name)) }
        runner?.use(token: new)
        keys?.moved(to: new.namedInstallation)
        relay?.tell { link, now in link.use(new, at: now) }
        runner?.tell { bridge, now in bridge.relayResumes(at: now) }
    }

    /// Forgets the chats of the old installation: the new one does not have them, and must not get files that were offered to the old one.
    /// `settings` come from a journal of which nothing was restored.
    private func forgetChats(_ settings: [String: [UInt8]] = [:]) {
        files?.viewer?.forgetAll()
        var entries = mirroring.withLock { $0.forgetChats() }.flatMap { Self.forgetting($0) }
        runner?.tell { bridge, _ in
            let known = bridge.forgetsChats()
            entries += known.homes.map { HomeRecord.entry(of: $0, nil) }
            entries += known.models.map { ModelRecord.entry(of: $0, nil) }
        }
        let left = settings.keys.filter { HomeRecord.isRecord($0) || ModelRecord.isRecord($0) }.sorted()
        entries += left.map { .setting(name: $0, value: nil) }
        if !entries.isEmpty { journal.submit(entries, .written, done: nil) }
    }

    // MARK: Over a restart

    private static let installationSetting = "installation"

    /// Stores the installation, after the former one's turns have closed. A token that names no installation tells nothing, and none is stored.
    private func keepInstallation() {
        guard let token = token.withLock({ $0.token }), token.text.contains(":") else { return }
        let entry = JournalEntry.setting(
            name: Self.installationSetting, value: Array(token.installation.utf8))
        journal.submit([entry], .synced, done: nil)
    }

    /// True if the installation changed while no process ran.
    func takeUpInstallation(_ settings: [String: [UInt8]]) -> Bool {
        let restored = settings[Self.installationSetting].map { Substring(decoding: $0, as: UTF8.self) }
        let current = token.withLock { state in
            state.restored = restored
            // A token without a colon names no installation.
            return state.token.flatMap { $0.text.contains(":") ? $0.installation : nil }
        }
        guard let current, current != restored else { return false }
        return restored != nil
    }

    /// Closes turns that an earlier process left open in another installation: this token can say nothing of them.
    func abandon(_ restoring: JournalRestoring, _ settings: [String: [UInt8]]) {
        let others = restoring.openings.map(\.id) + restoring.unreadable.map(\.id)
        runner?.tell { bridge, now in
            for turn in restoring.turns {
                bridge.restore(turn.record, deltas: turn.deltas, keptAt: turn.keptAt, at: now)
            }
            bridge.abandonsTurns(at: now)
            for turn in others { bridge.neverBegins(turn) }
        }
        forgetChats(settings)
        let count = others.count + restoring.turns.count
        guard count > 0 else { return }
        tell(
            .note(
                name,
                "the token is of another installation than when the bridge last ran; \(count) open turns of that one are closed "
                    + "without their ends"))
    }

    /// Called once the turns of an earlier process are restored or closed.
    func installationIsTakenUp() {
        let isNews = token.withLock { state in state.token.map { $0.installation != state.restored } ?? false }
        if isNews { keepInstallation() }
    }

    // MARK: Other settings

    /// Tells the agent's link that its credentials may have changed.
    package func renewAgent() { agent?.renew() }

    /// Applies other limits; the memory is shared by so many connections.
    package func use(_ limits: Configuration.Limits, connections: Int) {
        runner?.use(callLimit: limits.relayCall)
        gate.withLock { $0.limit = limits.memory(of: connections) }
        runner?.tell { bridge, now in
            bridge.use(
                connections: limits.relayConnections, heldBytes: limits.heldBytes(of: connections), at: now)
            bridge.use(quiet: limits.silence.quiet, stuck: limits.silence.stuck, at: now)
        }
    }

    /// The relay accepts nothing more from this token: only a person can help.
    func stopped(_ message: String, _ remedy: String, _ exitCode: ExitCode) {
        let isNews = token.withLock { state in
            // During a farewell the refusal is expected.
            guard !state.isStopped, state.farewell == nil else { return false }
            state.isStopped = true
            return true
        }
        guard isNews else { return }
        condition.withLock { $0.relayIsUp = false }
        runner?.tell { bridge, _ in bridge.relayStops(.invalidToken) }
        relay?.tell { link, now in link.shutDown(at: now) }
        tell(.stopped(name, message: message, remedy: remedy, exitCode: exitCode))
    }
}
