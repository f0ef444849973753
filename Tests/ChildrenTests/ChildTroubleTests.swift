import CPosix
import Glibc
import Locking
import Testing
import Vocabulary
import WireTesting

@testable import Children

@Suite struct ChildTroubleTests {
    private func failure(of command: [String], folder: String = "/") throws -> ChildFailure? {
        try Kid(
            ChildPlan(
                arguments: command, folder: folder, life: .withBridge(grace: .seconds(20)), pipes: .lines(limit: 100))
        ).failure()
    }

    @Test func whatCannotRunIsSaidAtOnce() throws {
        let folder = try KidFolder()
        let plain = folder.file("plain", "#!/bin/sh\n", mode: 0o600)
        let lost = folder.file("lost", "#!/no/such/interpreter\n", mode: 0o700)
        let binary = folder.file("binary", "\u{7F}nonsense", mode: 0o700)
        #expect(try failure(of: ["no-such-command-of-ours"])?.code == .notFound)
        #expect(try failure(of: ["/no/such/program"])?.code == .notFound)
        #expect(try failure(of: [plain])?.code == .notExecutable)
        #expect(try failure(of: [lost])?.code == .notExecutable)
        #expect(try failure(of: [binary])?.code == .notExecutable)
        #expect(try failure(of: ["sh"], folder: "/no/such/folder")?.code == .noFolder)
        #expect(try failure(of: [])?.code == .badPlan)
        #expect(try failure(of: ["sh", "a\0b"])?.code == .badPlan)
        #expect(try failure(of: ["sh", String(repeating: "x", count: 3 << 20)])?.code == .badPlan)
    }

    /// Not even if `PATH` allows it: in a workspace, that would run a program of the workspace.
    @Test func aNameIsNotLookedForInTheFolder() throws {
        let folder = try KidFolder()
        _ = folder.file("tool-of-the-workspace", "#!/bin/sh\n", mode: 0o700)
        let kid = Kid(
            ChildPlan(
                arguments: ["tool-of-the-workspace"], environment: ChildEnvironment(adding: ["PATH": ".::/usr/bin"]),
                folder: folder.path, life: .withBridge(grace: .seconds(20)), pipes: .lines(limit: 100)))
        #expect(try kid.failure()?.code == .notFound)
    }

    @Test(arguments: 0..<5) func withoutDescriptorsTheRemedyIsNamed(left: Int) throws {
        let made = Locked(0)
        let plumbing = Plumbing { ends in
            made.withLock { made in
                made += 1
                return made > left ? EMFILE : sb_pipe(ends)
            }
        }
        let plan = ChildPlan(
            arguments: ["sh"], folder: "/", life: .withBridge(grace: .seconds(20)), pipes: .lines(limit: 100))
        let failure = try Kid(plan, runner: SystemChildren(plumbing: plumbing)).failure()
        #expect(failure?.code == .noDescriptor)
        #expect(failure?.message.contains("LimitNOFILE=") == true)
    }

    @Test func aLogThatCannotBeOpenedIsAFailure() throws {
        let kid = Kid(
            ChildPlan(arguments: ["sh"], folder: "/", life: .outlives, pipes: .none(log: "/no/such/folder/log")))
        #expect(try kid.failure()?.code == .other)
    }

    @Test func aPipeInTheLogsPlaceThatNobodyReadsIsAFailure() throws {
        let folder = try KidFolder()
        let log = folder.path + "/server.log"
        #expect(mkfifo(log, 0o600) == 0)
        let kid = Kid(ChildPlan(arguments: ["sh"], folder: "/", life: .outlives, pipes: .none(log: log)))
        #expect(try kid.failure()?.code == .other)
    }

    @Test func oneThatExitsAtOnceIsToldWithItsLastWords() throws {
        let kid = Kid("echo 'no model configured' >&2; exit 7")
        _ = try kid.spawned()
        #expect(
            try kid.rest() == [
                .complained("no model configured"), .exited(.exited(7), lastWords: "no model configured\n"),
            ])
    }

    @Test func oneThatIsKilledIsToldWithTheSignal() throws {
        let kid = Kid("kill -SEGV $$")
        #expect(try kid.end() == .signalled(SIGSEGV))
    }

    @Test func aHundredMegabytesOnOneLineAreSkippedAndCounted() throws {
        let kid = Kid("echo before; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo after")
        _ = try kid.spawned()
        #expect(try kid.line() == "before")
        #expect(try kid.events.next() == .skipped(bytes: 100_000_000))
        #expect(try kid.line() == "after")
        #expect(try kid.end() == .exited(0))
    }

    @Test func noiseBetweenRecordsIsReadAsLines() throws {
        let kid = Kid("head -c 3000000 /dev/urandom; echo; echo '{\"a\":1}'")
        _ = try kid.spawned()
        let all = try kid.rest()
        #expect(all.dropLast().last == .line(Array("{\"a\":1}".utf8)))
        #expect(all.last == .exited(.exited(0), lastWords: ""))
    }

    @Test func ofAFloodOfComplaintsTheEndIsKept() throws {
        let kid = Kid("head -c 10000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo 'it was: \u{FC}' >&2; exit 1")
        _ = try kid.spawned()
        let all = try kid.rest()
        #expect(all.prefix(2) == [.complained("(a line of 10000000 bytes)"), .complained("it was: \u{FC}")])
        guard case .exited(.exited(1), let words) = all.last else { Issue.record("no end"); return }
        #expect(words.utf8.count == LastWords.limit && words.hasSuffix("xx\nit was: \u{FC}\n"))
    }

    @Test func aChildThatNeverReadsBlocksNoCaller() throws {
        let kid = Kid("exec sleep 1000", sendLimit: 1_000_000)
        _ = try kid.spawned()
        let piece = [UInt8](repeating: 97, count: 100_000)
        var taken = 0
        while kid.link?.send(piece) == true { taken += 1 }
        // The queue, plus the part that fits into the pipe.
        #expect((10...11).contains(taken))
        kid.link?.end(atOnce: true)
        #expect(try kid.end() == .signalled(SIGKILL))
        #expect(kid.link?.send([1]) == false)
    }

    @Test func aChildThatClosedItsInputIsSentNothingMore() throws {
        let kid = Kid("exec <&-; echo closed; sleep 1000 >&2", life: .withBridge(grace: .milliseconds(1)))
        _ = try kid.spawned()
        #expect(try kid.line() == "closed")
        // The write that discovers it is lost. Nothing ends the process, and the child lives on.
        kid.link?.send([97, 10], telling: 1)
        kid.link?.end(atOnce: false)
        // SIGTERM ends the child, or SIGKILL a millisecond later.
        let end = try kid.rest()
        #expect(
            end == [.exited(.signalled(SIGTERM), lastWords: "")] || end == [.exited(.signalled(SIGKILL), lastWords: "")]
        )
    }
}
