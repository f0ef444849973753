import Glibc
import Testing
import Vocabulary
import WireTesting

@testable import Children

@Suite struct ProcessTableTests {
    @Test func aNameIsTheIdAndTheStart() throws {
        let own = try #require(ProcessTable.name(of: getpid()))
        var other = own
        other.startTicks += 1
        #expect(ProcessTable.living([own, other]) == [own])
        #expect(ProcessTable.name(of: 0x3FFF_FFFF) == nil)
    }

    @Test func theProgramsNameMayLookLikeFields() throws {
        let tail = "S 42 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 98765 0 0\n"
        let status = try #require(ProcessStatus(Array("7 (a) Z 9 9 (b) \(tail)".utf8)[...]))
        #expect(status.parent == 42 && status.startTicks == 98_765 && !status.isDead)
        #expect(ProcessStatus(Array("7 (a) S 1".utf8)[...]) == nil)
        #expect(ProcessStatus(Array("nonsense".utf8)[...]) == nil)
    }

    /// Includes a descendant in a session of its own, which no signal to the group reaches.
    @Test func descendantsEndWithTheirAncestor() throws {
        let kid = Kid(
            "trap '' TERM; setsid sh -c 'echo $$; sleep 1000 & wait' & wait; wait", life: .byItself(grace: .zero))
        let name = try kid.spawned()
        let inner = try #require(Int32(kid.line()).flatMap { ProcessTable.name(of: $0) })
        #expect(ProcessTable.descendants(of: name).contains(inner))
        let ended = Signal()
        #expect(ProcessTable.end(name, grace: .milliseconds(100)) { ended.raise() })
        #expect(ended.wait())
        #expect(ProcessTable.living([name, inner]).isEmpty)
        guard case .exited = try kid.events.next() else { Issue.record("no end"); return }
    }

    @Test func endingWhatIsGoneIsDoneAtOnce() throws {
        let kid = Kid("exit 0")
        let name = try kid.spawned()
        #expect(try kid.end() == .exited(0))
        let ended = Signal()
        #expect(ProcessTable.end(name, grace: .seconds(1_000)) { ended.raise() })
        #expect(ended.wait())
    }
}
