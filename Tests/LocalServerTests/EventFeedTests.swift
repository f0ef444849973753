import Glibc
import LocalServer
import Locking
import Testing
import WireTesting

/// One stream of bytes for many readers.
@Suite struct EventFeedTests {
    private static let head = LocalResponse(status: 200, headers: [LocalHeader("Content-Type", "text/event-stream")])

    private func withFeed(
        limit: Int = 1 << 20, pauseMilliseconds: Int = 1, backlog: [[UInt8]] = [],
        whenEnded: @escaping @Sendable () -> Void = {}, _ body: (LocalServer, EventFeed) throws -> Void
    ) throws {
        let feed = EventFeed(limit: limit, pauseMilliseconds: pauseMilliseconds)
        try withServer(handler: { _ in .feed(Self.head, feed.open(backlog: backlog, whenEnded: whenEnded)) }) {
            server in try body(server, feed)
        }
    }

    private func reader(_ server: LocalServer, receiveBuffer: Int32? = nil) throws -> Wire {
        let wire = try Wire(port: server.port, receiveBuffer: receiveBuffer)
        try wire.request("GET", "/")
        #expect(try wire.head().status == 200)
        return wire
    }

    @Test func everyReaderGetsItsBacklogAndThenAllThatIsAppendedInOrder() throws {
        try withFeed(backlog: [Array("one;".utf8), Array("two;".utf8)]) { server, feed in
            let readers = try (0..<50).map { _ in try reader(server) }
            for number in 0..<500 { feed.append(Array("event \(number);".utf8)) }
            for reader in readers {
                let text = try reader.text(through: "event 499;").split(separator: "\r\n").filter { $0.contains(";") }
                let all = text.joined().split(separator: ";")
                #expect(all == ["one", "two"] + (0..<500).map { "event \($0)" })
            }
        }
    }

    @Test func aLateReaderGetsOnlyWhatComesAfterIt() throws {
        try withFeed { server, feed in
            feed.append(Array("before;".utf8))
            let first = try reader(server)
            feed.append(Array("between;".utf8))
            #expect(try first.text(through: "between;").contains("before") == false)
            let second = try reader(server)
            feed.append(Array("after;".utf8))
            #expect(try second.text(through: "after;").contains("between") == false)
        }
    }

    @Test func whatAllHaveTakenIsForgotten() throws {
        try withFeed { server, feed in
            feed.append([UInt8](repeating: 65, count: 100_000))
            #expect(feed.keptBytes == 0, "nobody reads")
            let wire = try reader(server)
            for number in 0..<100 {
                feed.append([UInt8](repeating: 65, count: 50_000) + Array("end \(number);".utf8))
                _ = try wire.text(through: "end \(number);")
            }
            #expect(feed.keptBytes < 250_000)
        }
    }

    @Test func manyReadersThatDoNotReadShareOneBoundAndDelayNobody() throws {
        let ended = Signal()
        try withFeed(limit: 1_000_000, whenEnded: { ended.raise() }) { server, feed in
            let lazy = try (0..<40).map { _ in try reader(server, receiveBuffer: 4_096) }
            let lively = try reader(server)
            var number = 0
            while feed.readerCount > 1, number < 10_000 {
                feed.append([UInt8](repeating: 65, count: 20_000) + Array("end \(number);".utf8))
                _ = try lively.text(through: "end \(number);")
                #expect(feed.keptBytes <= 1_100_000)
                number += 1
            }
            #expect(ended.wait(times: 40), "their connections are closed without their help")
            feed.append(Array("still here;".utf8))
            #expect(try lively.text(through: "here;").hasSuffix("still here;"))
            for wire in lazy { #expect(wire.end().failure != .timedOut) }
        }
    }

    @Test func readersThatComeAndGoWhileMuchIsAppended() async throws {
        let ended = Locked(0)
        let feed = EventFeed(limit: 200_000, pauseMilliseconds: 1)
        let server = try LocalServer(listen: "127.0.0.1:0") { _ in
            .feed(Self.head, feed.open(backlog: [Array("hello;".utf8)], whenEnded: { ended.withLock { $0 += 1 } }))
        }
        try server.start()
        await withTaskGroup { group in
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<5_000 { feed.append([UInt8](repeating: 66, count: 300)) }
                }
            }
            for _ in 0..<2 {
                group.addTask {
                    for _ in 0..<100 {
                        guard let wire = try? Wire(port: server.port) else { continue }
                        try? wire.request("GET", "/")
                        _ = try? wire.text(through: "hello;")
                    }
                }
            }
        }
        server.stop()
        #expect(ended.withLock { $0 } == 200)
        #expect(feed.readerCount == 0)
        #expect(feed.keptBytes == 0)
    }

    @Test func cuttingAllEndsThem() throws {
        try withFeed { server, feed in
            let readers = try (0..<10).map { _ in try reader(server) }
            feed.cutAll()
            for reader in readers { #expect(reader.end().failure != .timedOut) }
            #expect(feed.readerCount == 0)
        }
    }
}
