import Glibc
import LocalServer
import Locking
import Testing
import WireTesting

@Suite struct EventStreamTests {
    private static let head = LocalResponse(status: 200, headers: [LocalHeader("Content-Type", "text/event-stream")])

    /// A server that hands out each of its streams in the order of the requests.
    private func withStreams(
        limit: Int = 1 << 20, whenEnded: @escaping @Sendable () -> Void = {},
        _ body: (LocalServer, _ streams: () -> [EventStream]) throws -> Void
    ) throws {
        let streams = Locked<[EventStream]>([])
        try withServer(handler: { _ in
            let stream = EventStream(limit: limit, whenEnded: whenEnded)
            streams.withLock { $0.append(stream) }
            return .stream(Self.head, stream)
        }) { server in try body(server) { streams.withLock { $0 } } }
    }

    @Test func whatIsPushedArrivesInOrderAndAtOnce() throws {
        try withStreams { server, streams in
            let wire = try Wire(port: server.port)
            try wire.request("GET", "/")
            #expect(try wire.head().headers["content-type"] == "text/event-stream")
            let stream = try #require(streams().first)
            for number in 0..<200 {
                #expect(stream.push(Array("event \(number);".utf8)))
                #expect(try wire.text(through: ";").hasSuffix("event \(number);"))
            }
        }
    }

    @Test func whatWasPushedBeforeTheAnswerComesFirst() throws {
        try withServer(handler: { _ in
            let stream = EventStream()
            stream.push(Array("first;".utf8))
            stream.push(Array("second;".utf8))
            stream.finish()
            return .stream(Self.head, stream)
        }) { server in
            let wire = try Wire(port: server.port)
            try wire.request("GET", "/")
            _ = try wire.head()
            #expect(try wire.text(through: "0\r\n\r\n").contains("first;second;"))
            try wire.request("GET", "/")
            #expect(try wire.head().status == 200, "the connection can be used again")
        }
    }

    @Test func aFinishedStreamTakesNoMore() throws {
        let stream = EventStream()
        stream.finish()
        #expect(!stream.push([1]))
        #expect(!stream.isOpen)
    }

    @Test func aReaderThatDoesNotReadIsCutAtTheBoundAndDelaysNobody() throws {
        let ended = Signal()
        try withStreams(limit: 100_000, whenEnded: { ended.raise() }) { server, streams in
            let lazy = try Wire(port: server.port, receiveBuffer: 4_096)
            try lazy.request("GET", "/")
            _ = try lazy.head()
            let lively = try Wire(port: server.port)
            try lively.request("GET", "/")
            _ = try lively.head()
            let both = streams()

            let block = [UInt8](repeating: 65, count: 50_000) + Array(";".utf8)
            var pushed = 0
            while both[0].push(block) {
                pushed += 1
                #expect(both[1].push(block))
                _ = try lively.text(through: ";")
                try #require(pushed < 10_000, "the queue has a bound")
            }
            #expect(ended.wait(), "the cut reader's connection is closed without its help")
            #expect(both[1].push(Array("still here;".utf8)))
            #expect(try lively.text(through: "here;").hasSuffix("still here;"))
            #expect(lazy.end().failure != .timedOut)
        }
    }

    @Test func aReaderThatLeavesIsNoticedByPushing() throws {
        let ended = Signal()
        try withStreams(limit: 1 << 30, whenEnded: { ended.raise() }) { server, streams in
            try {
                let wire = try Wire(port: server.port)
                try wire.request("GET", "/")
                _ = try wire.head()
            }()
            let stream = try #require(streams().first)
            while stream.push([65]) { sched_yield() }
            #expect(ended.wait())
        }
    }

    @Test func threeHundredReadersGetEverythingWhileRequestsGoOn() throws {
        let isStream: @Sendable (LocalRequest) -> Bool = { $0.target == "/stream" }
        let streams = Locked<[EventStream]>([])
        try withServer(handler: { request in
            guard isStream(request) else { return .whole(.text(200, "ok")) }
            let stream = EventStream()
            streams.withLock { $0.append(stream) }
            return .stream(Self.head, stream)
        }) { server in
            let readers = try (0..<300).map { _ in try Wire(port: server.port) }
            for reader in readers { try reader.request("GET", "/stream") }
            for reader in readers { _ = try reader.head() }
            let other = try Wire(port: server.port)
            for number in 0..<10 {
                for stream in streams.withLock({ $0 }) { #expect(stream.push(Array("event \(number);".utf8))) }
                #expect(try other.exchange("GET", "/").status == 200)
            }
            for reader in readers { #expect(try reader.text(through: "event 9;").contains("event 0;")) }
        }
    }

    @Test func stoppingEndsReadersThatHang() throws {
        let ended = Signal()
        let server = try LocalServer(listen: "127.0.0.1:0") { request in
            let stream = EventStream(whenEnded: { ended.raise() })
            stream.push(Array(request.target.utf8))
            return .stream(Self.head, stream)
        }
        try server.start()
        let readers = try (0..<50).map { _ in try Wire(port: server.port) }
        for (number, reader) in readers.enumerated() { try reader.request("GET", "/\(number);") }
        for (number, reader) in readers.enumerated() { _ = try reader.text(through: "/\(number);") }
        server.stop()
        #expect(ended.wait(times: 50))
        for reader in readers { #expect(reader.end().failure != .timedOut) }
    }

    @Test func pushesFromManyThreadsWhileReadersComeAndGo() async throws {
        let streams = Locked<[EventStream]>([])
        let server = try LocalServer(listen: "127.0.0.1:0") { _ in
            let stream = EventStream(limit: 10_000)
            streams.withLock { $0.append(stream) }
            return .stream(Self.head, stream)
        }
        try server.start()
        await withTaskGroup { group in
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<3_000 {
                        for stream in streams.withLock({ $0.suffix(20) }) { stream.push([65, 66, 67]) }
                    }
                }
            }
            group.addTask {
                for _ in 0..<200 {
                    guard let wire = try? Wire(port: server.port) else { continue }
                    try? wire.request("GET", "/")
                    #expect(((try? wire.head())?.status ?? 0) == 200)
                }
            }
        }
        server.stop()
        #expect(streams.withLock { $0.count } == 200)
        #expect(streams.withLock { $0.filter(\.isOpen).count } == 0)
    }
}
