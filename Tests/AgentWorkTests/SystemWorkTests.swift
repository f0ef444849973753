import AgentKit
import AgentWork
import Children
import FoundationEssentials
import Glibc
import Testing
import Vocabulary
import WireTesting

@Suite("Works of machines on the real outside")
final class SystemWorkTests {
    private let folder: String
    private let work: SystemWork

    init() throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "works-\(UUID())").path()
        folder =
            try #require(realpath(FileManager.default.temporaryDirectory.path(), nil).map { String(cString: $0) })
            + "/" + (place.split(separator: "/").last ?? "works")
        try FileManager.default.createDirectory(atPath: folder + "/workspace", withIntermediateDirectories: true)
        work = SystemWork(
            children: SystemChildren(), secretsFolder: folder + "/secrets", writableFolders: [folder + "/workspace"])
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func result(of order: Work, by other: SystemWork? = nil) throws -> String {
        let results = Queue<String>()
        (other ?? work).carryOut(order) { results.put(Self.words($0)) }
        return try results.next()
    }

    private static func words(_ result: WorkResult) -> String {
        switch result {
        case .answered(let response): "answered \(response.status)"
        case .ran(let end, let output, _): "ran \(end) \(String(decoding: output, as: UTF8.self).debugDescription)"
        case .read(let bytes, let size): "read \(String(decoding: bytes, as: UTF8.self)) of \(size)"
        case .found(let paths): "found \(paths.map { $0.split(separator: "/").last ?? "" })"
        case .alive(let names): "alive \(names.count)"
        case .secret(let secret): "secret \(secret?.text ?? "-")"
        case .done: "done"
        case .failed(let failure): "failed \(failure.code)"
        }
    }

    // MARK: Files

    @Test("a file is written whole and 0600, and read from anywhere in it")
    func files() throws {
        let path = folder + "/workspace/a.txt"
        #expect(try result(of: .write(path: path, Array("hello".utf8))) == "done")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try result(of: .read(path: path, from: 0, limit: 100)) == "read hello of 5")
        #expect(try result(of: .read(path: path, from: 3, limit: 1)) == "read l of 5")
        #expect(try result(of: .read(path: path, from: 9, limit: 100)) == "read  of 5")
        #expect(try result(of: .read(path: path, from: .max, limit: .max)) == "read  of 5")
        #expect(try result(of: .read(path: path, from: -5, limit: 100)) == "failed forbidden")
    }

    @Test("what is no file is not read, and never waited for")
    func noFile() throws {
        #expect(try result(of: .read(path: folder + "/none", from: 0, limit: 1)) == "failed absent")
        #expect(try result(of: .read(path: folder, from: 0, limit: 1)) == "failed forbidden")
        mkfifo(folder + "/pipe", 0o600)
        #expect(try result(of: .read(path: folder + "/pipe", from: 0, limit: 1)) == "failed forbidden")
    }

    @Test("nothing is written outside the folders, whatever the path looks like")
    func outside() throws {
        symlink(folder, folder + "/workspace/out")
        for path in [
            folder + "/b.txt", folder + "/workspace/../b.txt", folder + "/workspace/out/b.txt",
            folder + "/workspace/..",
            folder + "/workspace2/b.txt", "/etc/works-of-machines",
        ] {
            let words = try result(of: .write(path: path, [65]))
            #expect(words == "failed forbidden" || words == "failed absent", "\(path): \(words)")
        }
        #expect(access(folder + "/b.txt", F_OK) != 0)
        // A link at the path itself is replaced, not followed.
        symlink(folder + "/target", folder + "/workspace/link")
        #expect(try result(of: .write(path: folder + "/workspace/link", [65])) == "done")
        #expect(access(folder + "/target", F_OK) != 0)
    }

    @Test("paths are found by stars alone, sorted and no more than asked for")
    func find() throws {
        for name in ["b1", "a1", "c[2]", "c2"] { _ = try result(of: .write(path: folder + "/workspace/\(name)", [])) }
        #expect(try result(of: .find(pattern: folder + "/*/*1", limit: 9)) == #"found ["a1", "b1"]"#)
        #expect(try result(of: .find(pattern: folder + "/workspace/*", limit: 1)) == #"found ["a1"]"#)
        #expect(try result(of: .find(pattern: folder + "/workspace/c[2]", limit: 9)) == #"found ["c[2]"]"#)
        #expect(try result(of: .find(pattern: folder + "/none/*", limit: 9)) == "found []")
        #expect(try result(of: .find(pattern: "*", limit: 9)) == "failed forbidden")
    }

    @Test("a lock is held by one alone, until it is let go of")
    func locks() throws {
        let path = folder + "/workspace/start.lock"
        let other = SystemWork(children: SystemChildren(), secretsFolder: nil, writableFolders: [])
        #expect(try result(of: .lock(path: path)) == "done")
        #expect(try result(of: .lock(path: path), by: other) == "failed full")
        #expect(try result(of: .lock(path: path)) == "failed full")
        #expect(try result(of: .unlock(path: path)) == "done")
        #expect(try result(of: .lock(path: path), by: other) == "done")
        #expect(try result(of: .lock(path: path)) == "failed full")
        #expect(try result(of: .unlock(path: path)) == "done")
        #expect(try result(of: .lock(path: path)) == "failed full")
        #expect(try result(of: .lock(path: folder + "/none/start.lock")) == "failed other")
    }

    @Test("a secret is a private file of its own, replaced whole and deleted")
    func secrets() throws {
        #expect(try result(of: .secret(name: "token.json")) == "secret -")
        #expect(try result(of: .keepSecret(name: "token.json", Secret("a"))) == "done")
        #expect(try result(of: .keepSecret(name: "token.json", Secret("b"))) == "done")
        #expect(try result(of: .secret(name: "token.json")) == "secret b")
        var status = stat()
        #expect(stat(folder + "/secrets/token.json", &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try result(of: .keepSecret(name: "token.json", nil)) == "done")
        #expect(try result(of: .secret(name: "token.json")) == "secret -")
        for name in ["", ".", "..", "../a", "a/b", ".hidden"] {
            #expect(try result(of: .keepSecret(name: name, Secret("x"))) == "failed forbidden")
            #expect(try result(of: .secret(name: name)) == "failed forbidden")
        }
        let nowhere = SystemWork(children: SystemChildren(), secretsFolder: nil, writableFolders: [])
        let results = Queue<String>()
        nowhere.carryOut(.secret(name: "a")) { results.put(Self.words($0)) }
        #expect(try results.next() == "failed forbidden")
    }

    // MARK: Programs and processes

    private func run(_ script: String, input: String = "", limit: Int = 1_000, deadline: Duration = .seconds(15)) throws
        -> String
    {
        let plan = ChildPlan(
            arguments: ["/bin/sh", "-c", script], folder: "/", life: .withBridge(grace: .seconds(1)),
            pipes: .lines(limit: 10))
        return try result(of: .run(plan, input: Array(input.utf8), outputLimit: limit, deadline: deadline))
    }

    @Test("a program runs to its end, with its input and its output")
    func program() throws {
        #expect(try run("echo one; echo two; exit 3") == #"ran exited(3) "one\ntwo\n""#)
        #expect(try run("read a; echo $a; read b || echo end", input: "x\n") == #"ran exited(0) "x\nend\n""#)
        #expect(try run("kill -9 $$") == #"ran signalled(9) """#)
    }

    @Test("one that writes too much or takes too long is ended")
    func programLimits() throws {
        #expect(try run("while :; do echo aaaaaaaaaa; done") == "failed tooLarge")
        #expect(try run("exec sleep 600", deadline: .milliseconds(50)) == "failed timedOut")
        let plan = ChildPlan(arguments: ["no-such-program"], folder: "/", life: .outlives, pipes: .lines(limit: 1))
        #expect(try result(of: .run(plan, input: [], outputLimit: 1, deadline: .seconds(5))) == "failed absent")
    }

    @Test("processes are looked at and ended by their names")
    func processes() throws {
        let events = Queue<ChildEvent>()
        let plan = ChildPlan(
            arguments: ["/bin/sleep", "600"], folder: "/", life: .withBridge(grace: .seconds(1)),
            pipes: .lines(limit: 9))
        let link = SystemChildren().start(plan) { events.put($0) }
        guard case .spawned(let name) = try events.next() else {
            Issue.record("it did not start")
            return
        }
        let stranger = ProcessName(id: name.id, startTicks: name.startTicks &+ 1)
        #expect(try result(of: .look(at: [name, stranger])) == "alive 1")
        #expect(try result(of: .end(name, grace: .seconds(10))) == "done")
        #expect(try events.next() == .exited(.signalled(SIGTERM), lastWords: ""))
        #expect(try result(of: .look(at: [name])) == "alive 0")
        withExtendedLifetime(link) {}
    }

    // MARK: HTTP

    @Test("an HTTP request fails by its code, and says whether it may have landed")
    func http() throws {
        let request = HTTPRequest(method: "GET", url: "http://127.0.0.1:1/x")
        #expect(try result(of: .http(request, Trust())) == "failed unreachable")
        let pinned = HTTPRequest(method: "GET", url: "https://127.0.0.1:1/x")
        #expect(try result(of: .http(pinned, Trust(.leaf([UInt8](repeating: 1, count: 32))))) == "failed unreachable")
        let odd = HTTPRequest(method: "GET", url: "gopher://127.0.0.1:1/x")
        #expect(try result(of: .http(odd, Trust())) == "failed other")
    }

    @Test("facts are the host's")
    func facts() throws { #expect(try result(of: .keep([])) == "failed forbidden") }
}
