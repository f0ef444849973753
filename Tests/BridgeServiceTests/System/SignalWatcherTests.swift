import BridgeService
import Glibc
import Locking
import Testing

@Suite("Signals")
struct SignalWatcherTests {
    /// A stream of caught signals, with `left` at its end.
    private enum Seen: Hashable { case caught(SignalWatcher.Caught), left }

    @Test("hang-ups are told each time, the first stop is told, and the second ends the process at once")
    func stops() async throws {
        // Blocked here as well: a signal that arrives before the watcher's thread waits must stay pending.
        SignalWatcher.block()
        let (seen, tell) = AsyncStream.makeStream(of: Seen.self)
        let watcher = try SignalWatcher(
            leave: {
                tell.yield(.left)
                tell.finish()
            },
            handler: { tell.yield(.caught($0)) })
        var next = seen.makeAsyncIterator()
        for (signal, expected) in [
            (SIGHUP, Seen.caught(.hangUp)), (SIGHUP, .caught(.hangUp)), (SIGTERM, .caught(.stop)),
            (SIGHUP, .caught(.hangUp)), (SIGINT, .left),
        ] {
            watcher.send(signal)
            #expect(await next.next() == expected)
        }
    }
}
