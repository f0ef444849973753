import AgentKit
import BridgeCore
import Links
import Locking
package import Vocabulary

/// Builds the status of a running bridge from its connections' events, from any thread.
package final class StatusBoard: Sendable {
    private struct State {
        var status: BridgeStatus
        /// Why the keys of a connection cannot be written.
        var keyFaults: [ConnectionName: String] = [:]
    }

    private let state: Locked<State>
    private let clock: any Clock

    package init(version: String, pid: Int32, connections: [Configuration.Connection], clock: any Clock) {
        let wall = clock.wallMilliseconds
        self.clock = clock
        let status = BridgeStatus(
            version: version, pid: pid, started: wall,
            connections: connections.map {
                BridgeStatus.Connection(
                    name: $0.name.text, relayAddress: $0.relay.address.description, agentKind: $0.agent.kind.rawValue,
                    since: wall)
            })
        state = Locked(State(status: status))
    }

    /// The current report. `work` gives a connection's calls in flight.
    package func status(
        work: (ConnectionName) -> BridgeStatus.Work?, sealing: (ConnectionName) -> BridgeStatus.Sealing? = { _ in nil },
        waiting: (ConnectionName) -> BridgeStatus.Waiting? = { _ in nil }
    ) -> BridgeStatus {
        let known = state.withLock { $0 }
        let faults = known.keyFaults
        var status = known.status
        status.ts = clock.wallMilliseconds
        for index in status.connections.indices {
            let name = ConnectionName(status.connections[index].name)
            if let now = work(name) { status.connections[index].work = now }
            if let now = waiting(name) { status.connections[index].take(now) }
            guard var now = sealing(name) else { continue }
            now.filesFault = faults[name]
            status.connections[index].sealing = now
        }
        return status
    }

    /// Sets the remedy for the journal's file, which stays as long as the process lives.
    package func tell(journalRemedy: String?) { state.withLock { $0.status.journalRemedy = journalRemedy } }

    /// Sets the warning about the journal's file system.
    package func tell(fileSystem: String) { state.withLock { $0.status.fileSystem = fileSystem } }

    package func tell(_ event: LiveEvent) {
        let wall = clock.wallMilliseconds
        state.withLock { state in
            guard let name = event.connection else { return }
            if case .journalFailed(_, let failure) = event { state.status.journalFault = "\(failure)" }
            if case .journalWorks = event { state.status.journalFault = nil }
            if case .keyFiles(_, let news) = event { state.keyFaults[name] = news.fault }
            guard let index = state.status.connections.firstIndex(where: { $0.name == name.text }) else { return }
            state.status.connections[index].take(event, at: wall)
        }
    }
}

extension LiveEvent {
    fileprivate var connection: ConnectionName? {
        switch self {
        case .agentConnected(let name, _, _, _), .agentLost(let name, _, _, _), .relayConnected(let name, _, _),
            .relayLost(let name, _, _, _), .ready(let name), .turnBegan(let name, _, _), .turnEnded(let name, _, _),
            .callFailed(let name, _, _, _, _), .deliveryNote(let name, _, _, _), .turnNote(let name, _, _),
            .stuck(let name, _),
            .askUnanswered(let name, _, _), .anotherBridge(let name, _, _),
            .unknownFrames(let name, _, _), .remedy(let name, _, _), .note(let name, _), .keys(let name, _),
            .keyFiles(let name, _), .interference(let name, _),
            .journalFailed(let name, _),
            .journalWorks(let name),
            .stopped(let name, _, _, _), .restored(let name, _), .mended(let name),
            .memory(let name, _, _), .notice(let name, _):
            name
        }
    }
}

extension BridgeStatus.Connection {
    fileprivate mutating func take(_ event: LiveEvent, at wall: Int64) {
        switch event {
        case .agentConnected(_, let version, let scopes, _):
            agent.link.rise(at: wall)
            (agent.version, agent.scopes) = (version, scopes)
        case .agentLost(_, let reason, let wait, let remedy): agent.link.fall(reason, wait, remedy, at: wall)
        case .relayConnected(_, let installation, _):
            relay.rise(at: wall)
            self.installation = installation ?? self.installation
        case .relayLost(_, let reason, let wait, let remedy): relay.fall(reason, wait, remedy, at: wall)
        case .stopped(_, let message, let remedy, _):
            lastError = BridgeStatus.Trouble(at: wall, message: message)
            relay.stop(message, remedy, at: wall)
        case .mended: relay.begin(at: wall)
        case .remedy(_, .relay, let words): relay.remedy = words
        case .remedy(_, .agent, let words): agent.link.remedy = words
        case .remedy(_, nil, let words): lastError = BridgeStatus.Trouble(at: wall, message: words)
        case .interference(_, let answer): interference = answer.map { "\($0)" }
        case .callFailed(_, _, let post, let refusal, _):
            lastError = BridgeStatus.Trouble(
                at: wall, message: "the relay refused \(post): \(refusal.status) \(refusal.code)")
        case .journalFailed(_, let failure):
            lastError = BridgeStatus.Trouble(at: wall, message: "the journal cannot be written: \(failure)")
        case .keyFiles(_, .failed(let words)):
            lastError = BridgeStatus.Trouble(at: wall, message: "the keys cannot be written: \(words)")
        case .keys(_, let news):
            guard let remedy = news.remedy else { return }
            lastError = BridgeStatus.Trouble(at: wall, message: "\(news.words); \(remedy)")
        case .unknownFrames(_, let link, let tally):
            unknown = unknown.filter { !$0.key.hasPrefix("\(link): ") }
            for (name, count) in tally.counts { unknown["\(link): \(name)"] = count }
            if tally.malformed > 0 { unknown["\(link): malformed"] = tally.malformed }
        case .ready, .turnBegan, .turnEnded, .deliveryNote, .turnNote, .anotherBridge, .askUnanswered, .stuck, .note,
            .restored, .journalWorks, .memory, .keyFiles, .notice:
            return
        }
    }
}

extension BridgeStatus.Link {
    fileprivate mutating func rise(at wall: Int64) {
        self = BridgeStatus.Link(since: wall)
        state = .up
    }

    fileprivate mutating func fall(_ reason: String, _ wait: Duration, _ remedy: LinkRemedy?, at wall: Int64) {
        // Keep the start of the outage, however often the link was retried, and the newest remedy.
        if state == .up || state == .stopped { since = wall }
        state = .waiting
        self.reason = reason
        self.remedy = remedy?.words
        retryAt = wall + wait.nanoseconds / 1_000_000
    }

    fileprivate mutating func begin(at wall: Int64) { self = BridgeStatus.Link(since: wall) }

    fileprivate mutating func stop(_ reason: String, _ remedy: String, at wall: Int64) {
        (state, since, retryAt) = (.stopped, wall, nil)
        (self.reason, self.remedy) = (reason, remedy)
    }
}

extension KeyWriter.News {
    fileprivate var fault: String? { if case .failed(let words) = self { words } else { nil } }
}
