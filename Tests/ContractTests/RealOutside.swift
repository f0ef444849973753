import AgentHosting
import AgentKit
import AgentWork
import BridgeService
import Children
import Locking
import Transport
import Vocabulary
import WireTesting

/// An agent's machine on its host, with real sockets, programs, works and time.
final class RealOutside: Sendable {
    static let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
    static let python = root + "/.build/python/bin/python"

    let events = Queue<AgentLinkEvent>()
    let journal = KeptSettings()
    let link: any AgentLink

    init(_ plugin: any AgentPlugin, configuration: String, facts: [Fact] = []) throws {
        let children = SystemChildren()
        let work = SystemWork(children: children, secretsFolder: nil, writableFolders: [])
        let edges = AgentEdges(
            kind: plugin.kind, sockets: CurlWebSocketClient(), children: children, work: work, journal: journal,
            clock: SystemClock(), alarm: try SystemAlarm(), random: SystemRandom())
        let host = ConnectionHost(edges, AgentOutlets(tell: { [events] in events.put($0) }))
        link = PluggedAgent(plugin, configuration).reading.open(host)
        var past = AgentPast()
        past.facts = facts
        link.begin(past)
    }

    func send(_ text: String, run: String, session: String = "s") {
        let message = UserMessage(
            id: MessageID("m-\(run)"), session: SessionID(session), interaction: InteractionID("i-\(run)"), text: text)
        link.command(
            .send(turn: TurnID("t"), session: AgentSession(session), run: RunID(run), message: message))
    }

    /// The first coming observation that `take` accepts.
    func next<Found>(_ take: (Observation) -> Found?) throws -> Found {
        while true {
            guard case .observed(let observations) = try events.next() else { continue }
            for observation in observations { if let found = take(observation) { return found } }
        }
    }

    /// Text of the next run that ends, or the reason of its failure.
    func end() throws -> String {
        try next { observation in
            guard case .signal(let signal) = observation else { return nil }
            switch signal.event {
            case .finished(let end): return end.text
            case .failed(let failure): return "failed: \(failure.message)"
            default: return nil
            }
        }
    }

    /// Shuts the machine down. False if something is still open after ten seconds.
    func closes() throws -> Bool {
        link.shutDown()
        let (clock, alarm, looks) = (SystemClock(), try SystemAlarm(), Signal())
        let end = clock.now + .seconds(10)
        while !link.isClosed, clock.now < end {
            alarm.set(clock.now + .milliseconds(5)) { looks.raise() }
            _ = looks.wait()
        }
        alarm.stop()
        defer { link.stop() }
        return link.isClosed
    }
}

/// Settings of a journal in memory.
final class KeptSettings: TurnJournal {
    private let kept = Locked<[String: [UInt8]]>([:])

    var settings: [String: [UInt8]] { kept.withLock { $0 } }
    var facts: [Fact] { settings.map { Fact($0.key, $0.value) } }

    func submit(
        _ entries: [JournalEntry], _ durability: Durability, done: (@Sendable (JournalFailure?) -> Void)?
    ) {
        kept.withLock { kept in
            for case .setting(let name, let value) in entries { kept[name] = value }
        }
        done?(nil)
    }
    func accept(_ message: AcceptedMessage, done: @escaping @Sendable (Result<Acceptance, JournalFailure>) -> Void) {}
    func load() throws(JournalFailure) -> JournalContents { JournalContents() }
    func purge(before wall: Int64) {}
}
