import BridgeModel
import BridgeService
import BridgeTesting
import Links
import Locking
import Testing

/// A socket that remembers what was asked of it, and the handler that hears what happens on it.
private final class WatchedSockets: WebSocketClient, @unchecked Sendable {
    final class Link: WebSocketLink, @unchecked Sendable {
        var isPaused = false
        func send(text: [UInt8]) {}
        func send(binary: [UInt8]) {}
        func ping() {}
        func close(code: Int, reason: String) {}
        func cut() {}
        func pauseReading() { isPaused = true }
        func resumeReading() { isPaused = false }
    }

    private(set) var links: [Link] = []
    private(set) var handler: (@Sendable (WebSocketEvent) -> Void)?

    func open(
        _ request: WebSocketRequest, handler: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketLink {
        let link = Link()
        links.append(link)
        self.handler = handler
        return link
    }
}

/// One machine that is live at once, and records its events.
private struct Listener: ~Copyable, SessionMachine {
    enum Order: Sendable { case dial, heard(Int) }

    var orders: [Order] = []
    var pauses: [Bool] = []
    var isLive = false
    var nextDeadline: Instant? { nil }
    var mayPauseReading: Bool { isLive }

    static func socketOrder(_ order: Order) -> SocketOrder? {
        if case .dial = order { .dial(url: "ws://127.0.0.1:1", headers: []) } else { nil }
    }

    mutating func takeOrders() -> [Order] {
        defer { orders = [] }
        return orders
    }
    mutating func start(at now: Instant) { orders.append(.dial) }
    mutating func shutDown(at now: Instant) {}
    mutating func opened(at now: Instant) { isLive = true }
    mutating func heard(at now: Instant) {}
    mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, at now: Instant, using random: inout some RandomNumberGenerator
    ) { orders.append(.heard(frame.count)) }
    mutating func closed(
        code: Int, reason: String, at now: Instant, using random: inout some RandomNumberGenerator
    ) { isLive = false }
    mutating func refused(
        status: Int, body: [UInt8], at now: Instant, using random: inout some RandomNumberGenerator
    ) {}
    mutating func failed(message: String, at now: Instant, using random: inout some RandomNumberGenerator) {}
    mutating func slept(at now: Instant, using random: inout some RandomNumberGenerator) {}
    mutating func timePassed(
        at now: Instant, wallMilliseconds: Int64, using random: inout some RandomNumberGenerator
    ) {}
    mutating func readingPaused(at now: Instant) { pauses.append(true) }
    mutating func readingResumed(at now: Instant) { pauses.append(false) }
}

@Suite("A link that is read no faster than it is carried out")
struct LinkRunnerTests {
    private static func runner(
        _ sockets: WatchedSockets, handle: @escaping @Sendable (Listener.Order) -> Void
    ) -> LinkRunner<Listener> {
        let runner = LinkRunner(
            Listener(),
            edges: LinkEdges(sockets: sockets, clock: HandClock(), alarm: HandAlarm(), random: SeededSource(1)),
            handle: handle)
        runner.tell { machine, now in machine.start(at: now) }
        return runner
    }

    @Test("its owner may stop the reading, and let it go on")
    func held() {
        let sockets = WatchedSockets()
        let runner = Self.runner(sockets) { _ in }
        runner.holdReading(true)
        // The handshake is read regardless.
        #expect(sockets.links.map(\.isPaused) == [false])
        sockets.handler?(.opened([]))
        #expect(sockets.links.map(\.isPaused) == [true])
        runner.holdReading(false)
        #expect(sockets.links.map(\.isPaused) == [false])
        #expect(runner.ask { $0.pauses } == [true, false])
        runner.stop()
    }

    @Test("frames that wait for another thread stop the reading until half of them are carried out")
    func behind() {
        let sockets = WatchedSockets()
        let seen = Locked<[Int]>([])
        let runner = Self.runner(sockets) { order in
            guard case .heard(let count) = order else { return }
            let isFirst = seen.withLock { seen in
                seen.append(count)
                return seen.count == 1
            }
            guard isFirst else { return }
            // This thread is performing: new orders are queued.
            for _ in 0..<5 { sockets.handler?(.text([UInt8](repeating: 32, count: 1 << 20))) }
            #expect(sockets.links.first?.isPaused == true)
        }
        sockets.handler?(.opened([]))
        sockets.handler?(.text([32]))
        #expect(seen.withLock { $0.count } == 6)
        #expect(sockets.links.first?.isPaused == false)
        #expect(runner.heldBytes == 0)
        #expect(runner.ask { $0.pauses } == [true, false])
        runner.stop()
    }
}
