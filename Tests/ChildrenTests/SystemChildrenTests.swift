import Glibc
import Locking
import OSThreads
import Testing
import Vocabulary
import WireTesting

@testable import Children

@Suite struct SystemChildrenTests {
    @Test func linesGoInAndOut() throws {
        let kid = Kid("cat")
        _ = try kid.spawned()
        #expect(kid.link?.send(Array("{\"a\":\"\u{2028}\"}\r\n\nb\n".utf8), telling: 7) == true)
        #expect(try kid.events.next() == .written(7))
        #expect(try kid.line() == "{\"a\":\"\u{2028}\"}\r")
        #expect(try kid.line() == "")
        #expect(try kid.line() == "b")
        kid.link?.send(Array("no end of line".utf8))
        kid.link?.closeInput()
        #expect(kid.link?.send([10]) == false)
        #expect(try kid.line() == "no end of line")
        #expect(try kid.rest() == [.exited(.exited(0), lastWords: "")])
    }

    @Test func aLineHasRoomForAParserThatReadsBeyondIt() throws {
        let kid = Kid("echo short; head -c 200000 /dev/zero | tr '\\0' x; echo")
        _ = try kid.spawned()
        for count in [5, 200_000] {
            guard case .line(let bytes) = try kid.events.next() else { Issue.record("no line"); return }
            #expect(bytes.count == count && bytes.capacity >= count + 64)
        }
    }

    @Test func theNameIsKnownBeforeTheProgramRuns() throws {
        let names = Queue<(ProcessName, @Sendable (Bool) -> Void)>()
        let events = Queue<ChildEvent>()
        let plan = ChildPlan(
            arguments: ["sh", "-c", "echo runs"], folder: "/", life: .withBridge(grace: .seconds(20)),
            pipes: .lines(limit: 100))
        let link = SystemChildren().start(plan) {
            names.put(($0, $1))
        } handler: {
            events.put($0)
        }
        let (name, release) = try names.next()
        #expect(ProcessTable.living([name]) == [name])
        #expect(events.isEmpty)
        release(true)
        #expect(try events.next() == .spawned(name))
        #expect(try events.next() == .line(Array("runs".utf8)))
        #expect(try events.next() == .exited(.exited(0), lastWords: ""))
        link.closeInput()
    }

    @Test(arguments: [true, false]) func aStartThatIsCalledOffNeverRuns(byRelease: Bool) throws {
        let names = Queue<(ProcessName, @Sendable (Bool) -> Void)>()
        let events = Queue<ChildEvent>()
        let plan = ChildPlan(
            arguments: ["sh", "-c", "echo runs"], folder: "/", life: .byItself(grace: .seconds(20)),
            pipes: .lines(limit: 100))
        let link = SystemChildren().start(plan) {
            names.put(($0, $1))
        } handler: {
            events.put($0)
        }
        let (name, release) = try names.next()
        if byRelease { release(false) } else { link.end(atOnce: false) }
        guard case .failed(let failure) = try events.next() else { Issue.record("it ran"); return }
        #expect(failure.code == .calledOff)
        #expect(ProcessTable.living([name]).isEmpty)
    }

    @Test func aChildInheritsNoDescriptorNoMaskAndNoIgnoredSignal() throws {
        let open = fcntl(2, F_DUPFD, 50)
        defer { close(open) }
        let kid = Kid("[ -e /proc/$$/fd/\(open) ] && echo leaked; exec grep -E 'Sig(Blk|Ign)' /proc/self/status")
        _ = try kid.spawned()
        #expect(try kid.line() == "SigBlk:\t0000000000000000")
        let ignored = try kid.line()
        #expect(ignored == "SigIgn:\t0000000000000000")
    }

    @Test func environmentAndFolderAreAsGiven() throws {
        setenv("SOPHON_CHILD_TEST", "secret", 1)
        let folder = try KidFolder()
        let plan = ChildPlan(
            arguments: ["sh", "-c", "echo \"$PWD ${SOPHON_CHILD_TEST-none} $ADDED\""],
            environment: ChildEnvironment(adding: ["ADDED": "a b"]), folder: folder.path,
            life: .withBridge(grace: .seconds(20)), pipes: .lines(limit: 1_000))
        let kid = Kid(plan)
        _ = try kid.spawned()
        #expect(try kid.line() == "\(folder.path) none a b")
    }

    @Test(arguments: [
        (ChildPlan.Life.withBridge(grace: .seconds(20)), 9, false), (.byItself(grace: .seconds(20)), 0, false),
        (.outlives, 0, true),
    ])
    func groupSessionAndDeathSignalFollowFromTheLife(life: ChildPlan.Life, signal: Int, hasSession: Bool) throws {
        let root = #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let script = """
            import ctypes, os, sys
            value = ctypes.c_int()
            ctypes.CDLL(None).prctl(2, ctypes.byref(value))
            sys.stdout.write(f"{value.value} {os.getpgrp() == os.getpid()} {os.getsid(0) == os.getpid()}\\n")
            """
        let kid = Kid(
            ChildPlan(
                arguments: ["\(root)/.build/python/bin/python", "-c", script], folder: "/", life: life,
                pipes: .lines(limit: 100)))
        _ = try kid.spawned()
        #expect(try kid.line() == "\(signal) True \(hasSession ? "True" : "False")")
    }

    /// The death signal comes when the thread that forked ends, not the process.
    @Test func aChildOutlivesTheThreadThatAskedForIt() throws {
        final class Box: Sendable {
            let kid = Locked<Kid?>(nil)
        }
        let box = Box()
        var thread = pthread_t()
        let start: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { @Sendable pointer in
            guard let pointer else { return nil }
            let box = Unmanaged<Box>.fromOpaque(pointer).takeRetainedValue()
            box.kid.withLock { $0 = Kid("cat") }
            return nil
        }
        #expect(pthread_create(&thread, nil, start, Unmanaged.passRetained(box).toOpaque()) == 0)
        pthread_join(thread, nil)
        let events = box.kid.withLock { $0?.events }
        guard case .spawned? = try events?.next() else { Issue.record("not spawned"); return }
        box.kid.withLock { _ = $0?.link?.send([97, 10]) }
        #expect(try events?.next() == .line([97]))
        box.kid.withLock { $0?.letGo() }
        #expect(try events?.next() == .exited(.exited(0), lastWords: ""))
    }

    @Test func whileReadingIsPausedNoLineComesAndTheEndWaits() throws {
        let kid = Kid("read x; echo one; echo two")
        let name = try kid.spawned()
        kid.link?.pauseReading()
        kid.link?.send([10])
        #expect(isGone(name))
        #expect(kid.events.isEmpty)
        kid.link?.resumeReading()
        #expect(try kid.line() == "one")
        #expect(try kid.line() == "two")
        #expect(try kid.end() == .exited(0))
    }

    @Test(arguments: [true, false]) func aChildThatIsEndedWhileItsReadingIsPausedSaysSo(atOnce: Bool) throws {
        let kid = Kid("echo one; exec sleep 600", life: .withBridge(grace: .milliseconds(100)))
        _ = try kid.spawned()
        kid.link?.pauseReading()
        kid.link?.end(atOnce: atOnce)
        #expect(try kid.end() != nil)
    }

    @Test func manyChildrenLiveSideBySide() throws {
        let kids = (0..<40).map { Kid("read x; echo $x \($0)") }
        for kid in kids { _ = try kid.spawned() }
        for kid in kids { kid.link?.send(Array("hello\n".utf8)) }
        for (number, kid) in kids.enumerated() {
            #expect(try kid.line() == "hello \(number)")
            #expect(try kid.end() == .exited(0))
        }
    }
}
