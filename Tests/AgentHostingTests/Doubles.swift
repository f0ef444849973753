import AgentHosting
import AgentKit
import Locking
import Vocabulary
import Worlds

/// A machine's events and orders, touched only on the test's thread.
final class Script: @unchecked Sendable {
    var told: [String] = []
    var next: [AgentOrder] = []
    /// Orders that follow an event, by its words.
    var answers: [String: [AgentOrder]] = [:]
    var deadline: Instant?
    var readingDeadline: Instant?
    /// The reading clock of the newest event that carries one.
    var read: Instant?
    /// The deadline stays after it has passed.
    var keepsDeadline = false
    /// Bytes of the ended works.
    var pieces: [String] = []
    /// Last words of the child that ended last.
    var lastWords: String?
}

/// A machine that orders what the test scripted, and records its events.
struct Scripted: ~Copyable, AgentMachine {
    typealias Settings = String

    let script: Script

    var nextDeadline: Instant? { script.deadline }
    var nextReadingDeadline: Instant? { script.readingDeadline }

    private func hear(_ words: String) -> [AgentOrder] {
        script.told.append(words)
        defer { script.next = [] }
        return script.next + (script.answers[words] ?? [])
    }

    mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] {
        hear("begin \(past.facts.map(\.name)) \(past.processes.map(\.id))")
    }
    mutating func check(_ now: Occasion) -> [AgentOrder] { hear("check") }
    mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] { hear("command") }
    mutating func query(_ query: AgentQuery, as id: QueryID, _ now: Occasion) -> [AgentOrder] {
        hear("query \(id.number)")
    }
    mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder]
    ) { orders += hear("\(channel.number): \(String(decoding: frame.prefix(20), as: UTF8.self))") }
    mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] {
        if case .exited(_, let lastWords) = event { script.lastWords = lastWords }
        return hear("\(channel.number) \(Self.words(event))")
    }
    mutating func finished(_ work: WorkID, _ result: WorkResult, _ now: Occasion) -> [AgentOrder] {
        if case .read(let bytes, _) = result { script.pieces.append(String(decoding: bytes, as: UTF8.self)) }
        return switch result {
        case .failed(let failure): hear("work \(work.number) failed: \(failure.code)")
        default: hear("work \(work.number)")
        }
    }
    mutating func timePassed(_ now: Occasion) -> [AgentOrder] {
        if !script.keepsDeadline { script.deadline = nil }
        return hear("time")
    }
    mutating func slept(_ now: Occasion) -> [AgentOrder] {
        script.read = now.read
        return hear("slept")
    }
    mutating func use(_ settings: String, _ now: Occasion) -> [AgentOrder] { hear("use \(settings)") }
    mutating func shutDown(_ now: Occasion) -> [AgentOrder] { hear("shutDown") }

    private static func words(_ event: ChannelEvent) -> String {
        switch event {
        case .spawned(let name): "spawned \(name.id)"
        case .closed(let code, _): "closed \(code)"
        case .exited(.exited(let code), _): "exited \(code)"
        case .waits(let running, let chats): "waits \(running) \(chats.map(\.session.text))"
        default: "\(event)"
        }
    }
}

final class Sockets: WebSocketClient, @unchecked Sendable {
    final class Link: WebSocketLink, @unchecked Sendable {
        var log: [String] = []
        func send(text: [UInt8]) { log.append("send " + String(decoding: text, as: UTF8.self)) }
        func send(binary: [UInt8]) {}
        func ping() {}
        func close(code: Int, reason: String) { log.append("close \(code)") }
        func cut() { log.append("cut") }
        func pauseReading() { log.append("pause") }
        func resumeReading() { log.append("resume") }
    }

    private(set) var links: [Link] = []
    private(set) var requests: [WebSocketRequest] = []
    private(set) var handlers: [@Sendable (WebSocketEvent) -> Void] = []
    /// Event that happens before `open` returns.
    var atOnce: WebSocketEvent?

    func open(
        _ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink {
        links.append(Link())
        requests.append(request)
        handlers.append(handler)
        if let atOnce { handler(atOnce) }
        return links[links.count - 1]
    }
}

final class Programs: ChildRunner, @unchecked Sendable {
    final class Link: ChildLink, @unchecked Sendable {
        var log: [String] = []
        var isFull = false
        func send(_ bytes: [UInt8], telling: Int?) -> Bool {
            guard !isFull else { return false }
            log.append(
                "send \(String(decoding: bytes, as: UTF8.self).debugDescription) \(telling.map(String.init) ?? "-")")
            return true
        }
        func closeInput() { log.append("input") }
        func end(atOnce: Bool) { log.append(atOnce ? "kill" : "end") }
        func pauseReading() { log.append("pause") }
        func resumeReading() { log.append("resume") }
    }

    private(set) var links: [Link] = []
    private(set) var handlers: [@Sendable (ChildEvent) -> Void] = []
    private(set) var released: [Bool] = []

    func start(
        _ plan: ChildPlan, record: (@Sendable (ProcessName, @escaping @Sendable (Bool) -> Void) -> Void)?,
        handler: @escaping @Sendable (ChildEvent) -> Void
    ) -> any ChildLink {
        links.append(Link())
        handlers.append(handler)
        record?(ProcessName(id: Int32(links.count), startTicks: 7)) { [self] in released.append($0) }
        return links[links.count - 1]
    }
}

final class Works: WorkPort, @unchecked Sendable {
    private(set) var open: [@Sendable (WorkResult) -> Void] = []
    /// Locks taken and released, in order.
    private(set) var ordered: [String] = []

    func carryOut(_ work: Work, completion: @escaping @Sendable (WorkResult) -> Void) {
        open.append(completion)
        switch work {
        case .lock(let path): ordered.append("lock \(path)")
        case .unlock(let path): ordered.append("unlock \(path)")
        default: break
        }
    }
}

final class Settings: TurnJournal, @unchecked Sendable {
    private(set) var entries: [JournalEntry] = []
    private(set) var durabilities: [Durability] = []
    var failure: JournalFailure?

    func submit(
        _ entries: [JournalEntry], _ durability: Durability, done: (@Sendable (JournalFailure?) -> Void)?
    ) {
        if failure == nil { self.entries += entries }
        durabilities.append(durability)
        done?(failure)
    }
    func accept(_ message: AcceptedMessage, done: @escaping @Sendable (Result<Acceptance, JournalFailure>) -> Void) {}
    func load() throws(JournalFailure) -> JournalContents { JournalContents() }
    func purge(before wall: Int64) {}
}

/// A machine on its host, with all edges in the test's hands.
final class Stage {
    let sockets = Sockets()
    let programs = Programs()
    let works = Works()
    let journal = Settings()
    let clock = HandClock()
    let events = Locked<[AgentLinkEvent]>([])
    let covered = Locked<[Secret]>([])
    let settings = Locked<String?>(nil)
    let recorded = Locked<[String]>([])
    /// Called while orders are carried out.
    let onEvent = Locked<(@Sendable () -> Void)?>(nil)
    let script = Script()
    let link: any AgentLink
    static let channel = ChannelID(1)
    static let socket = Channel.socket(SocketPlan(url: "ws://127.0.0.1:1"))

    static func child(_ life: ChildPlan.Life = .withBridge(grace: .seconds(1))) -> Channel {
        .child(ChildPlan(arguments: ["toy"], folder: "/", life: life, pipes: .lines(limit: 1_000)))
    }

    init(
        hasJournal: Bool = true, places: ChildPlaces? = nil, isSealed: Bool = false,
        redact: @escaping @Sendable (String) -> String = { $0 }
    ) {
        let (recorded, events, covered, settings, onEvent) = (recorded, events, covered, settings, onEvent)
        var edges = AgentEdges(
            kind: AgentKind(rawValue: "toy"), sockets: sockets, children: programs, work: works,
            journal: hasJournal ? journal : nil, clock: clock, alarm: clock.makeAlarm(), random: SeededSource(1))
        edges.places = places
        edges.redact = redact
        edges.isSealed = { isSealed }
        edges.record = { channel, isIncoming, frame in
            let words = String(decoding: frame.prefix(20), as: UTF8.self)
            recorded.withLock { $0.append("\(channel.number) \(isIncoming ? "in" : "out") \(words)") }
        }
        let outlets = AgentOutlets(
            tell: { event in
                events.withLock { $0.append(event) }
                onEvent.withLock { $0 }?()
            },
            cover: { secret in covered.withLock { $0.append(secret) } })
        link = ConnectionHost(edges, outlets).carry(Scripted(script: script)) { settings.withLock { $0 } }
    }

    var told: [String] { script.told }

    /// The orders follow the next event.
    func order(_ orders: AgentOrder...) {
        script.next = orders
        link.slept()
    }

    static func replies() -> Locked<[AgentReply]> { Locked([]) }
    func answers(_ words: String, _ orders: AgentOrder...) { script.answers[words] = orders }
    func text(_ words: String, on index: Int = 0) { sockets.handlers[index](.text(Array(words.utf8))) }
}
