import Glibc
import OSThreads
import Testing
import Vocabulary
import WireTesting

@testable import Children

@Suite struct ChildEndTests {
    @Test func endOfInputComesFirst() throws {
        let kid = Kid("trap 'echo terminated; exit 1' TERM; while read x; do :; done; echo end of input")
        _ = try kid.spawned()
        kid.link?.end(atOnce: false)
        #expect(try kid.line() == "end of input")
        #expect(try kid.end() == .exited(0))
    }

    @Test func thenSIGTERMToTheWholeGroup() throws {
        let kid = Kid(
            "trap 'wait; echo terminated; exit 5' TERM; sleep 1000 <&- & echo $!; wait",
            life: .withBridge(grace: .milliseconds(20)))
        // The next step would be SIGKILL 20 ms later. Either end is correct, and the group's processes are gone.
        _ = try kid.spawned()
        let inner = try #require(Int32(kid.line()).flatMap { ProcessTable.name(of: $0) })
        kid.link?.end(atOnce: false)
        #expect([.exited(5), .signalled(SIGKILL)].contains(try kid.end()))
        #expect(isGone(inner))
    }

    @Test func aChildThatIgnoresBothIsKilledWithItsGroup() throws {
        let kid = Kid(
            "trap '' TERM; sleep 1000 & echo $!; wait; sleep 1000", life: .withBridge(grace: .milliseconds(20)))
        _ = try kid.spawned()
        let inner = try #require(Int32(kid.line()).flatMap { ProcessTable.name(of: $0) })
        kid.link?.end(atOnce: false)
        #expect(try kid.end() == .signalled(SIGKILL))
        #expect(isGone(inner))
    }

    @Test func atOnceIsSIGKILLAlsoDuringTheGrace() throws {
        let kid = Kid("echo runs; exec sleep 1000", life: .withBridge(grace: .seconds(1_000)))
        _ = try kid.spawned()
        _ = try kid.line()
        kid.link?.end(atOnce: false)
        kid.link?.end(atOnce: true)
        #expect(try kid.end() == .signalled(SIGKILL))
    }

    @Test func lettingGoEndsAChildThatLivesWithTheBridge() throws {
        let kid = Kid("cat")
        _ = try kid.spawned()
        kid.letGo()
        #expect(try kid.end() == .exited(0))
    }

    @Test func aChildThatEndsByItselfFinishesItsTurn() throws {
        let kid = Kid("while read x; do :; done; echo finished", life: .byItself(grace: .zero))
        _ = try kid.spawned()
        kid.letGo()
        #expect(try kid.line() == "finished")
        #expect(try kid.end() == .exited(0))
    }

    /// A grandchild that keeps both pipes open delays nothing. It ends with a child that lives with the bridge.
    @Test(arguments: [ChildPlan.Life.withBridge(grace: .seconds(20)), .byItself(grace: .seconds(20))])
    func aGrandchildThatHoldsThePipesDelaysNothing(life: ChildPlan.Life) throws {
        let kid = Kid("sleep 1000 & echo $!; echo last; exit 3", life: life)
        _ = try kid.spawned()
        let inner = try #require(Int32(kid.line()).flatMap { ProcessTable.name(of: $0) })
        #expect(try kid.line() == "last")
        #expect(try kid.end() == .exited(3))
        if case .byItself = life {
            #expect(ProcessTable.living([inner]) == [inner])
            kill(inner.id, SIGKILL)
        }
        #expect(isGone(inner))
    }

    @Test func aNoisyGrandchildDelaysNothing() throws {
        let kid = Kid(
            "yes $(head -c 60000 /dev/zero | tr '\\0' x) & echo last >&2; exit 3", life: .byItself(grace: .seconds(20)),
            limit: 100)
        let group = try kid.spawned().id
        defer { kill(-group, SIGKILL) }
        #expect(try kid.end() == .exited(3))
    }

    @Test func aServerThatOutlivesTheBridgeIsFoundAndEndedByItsName() throws {
        let folder = try KidFolder()
        let log = folder.path + "/server.log"
        let mark = folder.path + "/has-written"
        #expect(mkfifo(mark, 0o600) == 0)
        let hasWritten = open(mark, O_RDONLY | O_NONBLOCK)
        defer { close(hasWritten) }
        let script =
            "read x; echo \"input $x\"; echo complaint >&2; echo > '\(mark)'; kill -STOP $$; exec sleep 1000"
        let kid = Kid(
            ChildPlan(arguments: ["sh", "-c", script], folder: "/", life: .outlives, pipes: .none(log: log)))
        let name = try kid.spawned()
        // A busy machine could otherwise end the server before it has written anything.
        var written = pollfd(fd: hasWritten, events: Int16(POLLIN), revents: 0)
        #expect(poll(&written, 1, 20_000) == 1)
        kid.letGo()
        #expect(ProcessTable.living([name]) == [name])
        #expect(kid.events.isEmpty)
        let ended = Signal()
        #expect(ProcessTable.end(name, grace: .milliseconds(500)) { ended.raise() })
        #expect(ended.wait())
        #expect(ProcessTable.living([name]).isEmpty)
        guard case .exited(.signalled, "") = try kid.events.next() else { Issue.record("no signal"); return }
        #expect(folder.text("server.log") == "input \ncomplaint\n")
        var about = stat()
        #expect(stat(log, &about) == 0 && about.st_mode & 0o777 == 0o600)
    }
}
